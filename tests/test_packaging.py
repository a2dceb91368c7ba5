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


def required() -> set[str]:
    return set(PROJECT["dependencies"]) | set(PROJECT["optional-dependencies"]["test"])


def name_of(requirement: str) -> str:
    return re.split(r"[<>=]", requirement)[0].lower().replace("_", "-")


def test_environment_yml_names_the_same_packages_and_versions_as_pyproject():
    text = (ROOT / "environment.yml").read_text()
    listed = set(re.findall(r"^      - ([a-z].*)$", text, re.M))
    assert listed == required()
    assert f"- python{PROJECT['requires-python']}" in text


def test_the_lock_pins_every_required_package():
    pins = dict(
        line.split("==") for line in (ROOT / "requirements.lock").read_text().split()
    )
    pins = {name_of(name): version for name, version in pins.items()}
    for requirement in required():
        assert name_of(requirement) in pins, (
            f"{requirement} is not in requirements.lock"
        )
        if "==" in requirement:
            assert requirement.endswith("==" + pins[name_of(requirement)])


def test_the_lock_has_a_torch_that_every_index_carries():
    assert re.search(
        r"^torch==2\.\d+\.\d+$", (ROOT / "requirements.lock").read_text(), re.M
    )


def test_the_wheel_carries_the_data_that_quick_needs_and_their_licences():
    carried = SETTINGS["tool"]["setuptools"]["data-files"]
    encoders = [path.parent.name for path in ROOT.glob("data/encoders/*/README.md")]
    for folder in ("open", "paper", *(f"encoders/{name}" for name in encoders)):
        assert carried[f"share/mocose/{folder}"] == [f"data/{folder}/*"]
    assert PROJECT["license-files"] == ["LICENSE", "data/open/ATTRIBUTION.md"]
    attribution = (ROOT / "data/open/ATTRIBUTION.md").read_text()
    named = {
        name.replace(" ", "-")
        for name in re.findall(r"CC BY(?:-SA)? [34]\.0", attribution)
    }
    assert named <= set(PROJECT["license"].split(" AND "))


def test_the_wheel_carries_every_table_beside_the_code():
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]
    carried = [
        ROOT / package.replace(".", "/") / p
        for package, ps in patterns.items()
        for p in ps
    ]
    for package in ("mocose_lib", "mocose_study"):
        for path in (ROOT / package).rglob("*.*"):
            if path.suffix not in (".py", ".pyc"):
                assert any(path.match(str(pattern)) for pattern in carried), path


def test_installed_data_are_found_where_there_is_no_checkout(tmp_path, monkeypatch):
    for name in ("CHECKOUT", "INSTALLED"):
        monkeypatch.setattr(files, name, tmp_path / name)
    monkeypatch.setenv("MOCOSE_STUDY", str(tmp_path / "own"))
    with pytest.raises(InputError, match="wikipedia.txt.xz is missing"):
        corpora.corpus_files("open")
    (tmp_path / "INSTALLED").mkdir()
    (tmp_path / "INSTALLED" / "open").symlink_to(ROOT / "data" / "open")
    assert corpora.corpus_files("open")[0].is_relative_to(tmp_path)


def test_the_citation_names_the_study_and_the_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "title", "message", "authors", "license", "version"} <= set(
        cited
    )
    (paper,) = cited["references"]
    assert paper["year"] == 2022 and len(paper["authors"]) == 7
    assert cited["version"] == PROJECT["version"]


def test_the_workflow_and_the_image_use_pythons_and_targets_that_exist():
    flow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    assert flow["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    image = (ROOT / "Dockerfile").read_text()
    makefile = (ROOT / "Makefile").read_text().replace("$(VENV)", ".venv")
    steps = str(flow) + image
    for target in set(re.findall(r"(?:RUN |&& |'|\")make ([\w./]+)", steps)):
        assert re.search(rf"^[^\n#]*{re.escape(target)}\b[^\n]*:", makefile, re.M), (
            target
        )
    assert "FROM python:3.11" in image
