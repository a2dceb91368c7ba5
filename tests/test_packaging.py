"""What users install agrees wherever it is written down."""

import re
import tomllib

import pytest
import yaml
from texts import ROOT

from mocose_study.config import InputError
from mocose_study.data import corpora, files

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
REQUIRED = {*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]}


def name_of(requirement: str) -> str:
    return re.split(r"[<>=]", requirement)[0].lower().replace("_", "-")


def test_environment_yml_names_the_same_packages_and_versions_as_pyproject():
    text = (ROOT / "environment.yml").read_text()
    assert {*re.findall(r"^      - ([a-z].*)$", text, re.M)} == REQUIRED
    assert f"- python{PROJECT['requires-python']}" in text


def test_the_lock_pins_every_required_package():
    text = (ROOT / "requirements.lock").read_text()
    assert re.search(r"^torch==2\.\d+\.\d+$", text, re.M)  # which every index carries
    pins = {name_of(line): line.split("==")[1] for line in text.split()}
    for requirement in REQUIRED:
        assert name_of(requirement) in pins, requirement
        if "==" in requirement:
            assert requirement.endswith("==" + pins[name_of(requirement)])


def test_the_wheel_carries_the_data_that_quick_needs_and_their_licences():
    carried = SETTINGS["tool"]["setuptools"]["data-files"]
    encoders = [path.parent.name for path in ROOT.glob("data/encoders/*/README.md")]
    for folder in ("open", "paper", *(f"encoders/{name}" for name in encoders)):
        assert carried[f"share/mocose/{folder}"] == [f"data/{folder}/*"]
    assert PROJECT["license-files"] == ["LICENSE", "data/open/ATTRIBUTION.md"]
    attribution = (ROOT / "data/open/ATTRIBUTION.md").read_text()
    named = re.findall(r"CC BY(?:-SA)? [34]\.0", attribution)
    assert {x.replace(" ", "-") for x in named} <= {*PROJECT["license"].split(" AND ")}


def test_the_wheel_carries_every_table_beside_the_code():
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]
    carried = []
    for package, listed in patterns.items():
        carried += [str(ROOT / package.replace(".", "/") / each) for each in listed]
    for path in (*ROOT.glob("mocose_lib/**/*.*"), *ROOT.glob("mocose_study/**/*.*")):
        if path.suffix not in (".py", ".pyc"):
            assert any(map(path.match, carried)), path


@pytest.mark.parametrize("place", range(3), ids=["--target", "environment", "--user"])
def test_data_that_pip_installed_are_found(tmp_path, monkeypatch, place):
    prefixes = [tmp_path / str(i) for i, _ in enumerate(files.PREFIXES)]
    for name, value in {"CHECKOUT": prefixes[0], "PREFIXES": prefixes}.items():
        monkeypatch.setattr(files, name, value)
    monkeypatch.setenv("MOCOSE_STUDY", str(tmp_path / "own"))
    with pytest.raises(InputError, match=r"wikipedia\.txt\.xz is missing"):
        corpora.corpus_files("open")
    (shared := prefixes[place] / "share" / "mocose").mkdir(parents=True)
    (shared / "open").symlink_to(ROOT / "data" / "open")
    assert corpora.corpus_files("open")[0].is_relative_to(tmp_path)


def test_the_workflow_and_the_image_use_pythons_and_targets_that_exist():
    flow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    assert flow["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    image = (ROOT / "Dockerfile").read_text()
    makefile = (ROOT / "Makefile").read_text().replace("$(VENV)", ".venv")
    steps = str(flow) + image
    for target in set(re.findall(r"(?:RUN |&& |'|\")make ([\w./]+)", steps)):
        there = re.search(rf"^[^\n#]*{re.escape(target)}\b[^\n]*:", makefile, re.M)
        assert there, target
    assert "FROM python:3.11" in image
