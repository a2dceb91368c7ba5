"""What users install agrees wherever it is written down."""

import re
import tomllib
from pathlib import Path

import pytest

from mocose_study.config import InputError
from mocose_study.data import corpora, files

ROOT = Path(__file__).resolve().parents[1]
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
    pins = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
    pins = {name_of(name): version for name, version in pins.items()}
    for requirement in required():
        assert name_of(requirement) in pins, f"{requirement} is not in requirements.lock"
        if "==" in requirement:
            assert requirement.endswith("==" + pins[name_of(requirement)])


def test_the_lock_has_a_torch_that_every_index_carries():
    assert re.search(r"^torch==2\.\d+\.\d+$", (ROOT / "requirements.lock").read_text(), re.M)


def test_the_wheel_carries_the_data_that_quick_needs_and_their_licences():
    carried = SETTINGS["tool"]["setuptools"]["data-files"]
    for folder in (
        "open",
        "paper",
        *(
            f"encoders/{p.name}"
            for p in (ROOT / "data/encoders").iterdir()
            if (p / "README.md").exists()
        ),
    ):
        assert carried[f"share/mocose/{folder}"] == [f"data/{folder}/*"]
    assert PROJECT["license-files"] == ["LICENSE", "data/open/ATTRIBUTION.md"]
    named = set(
        re.findall(r"CC BY(?:-SA)? [34]\.0", (ROOT / "data/open/ATTRIBUTION.md").read_text())
    )
    assert {name.replace(" ", "-") for name in named} <= set(PROJECT["license"].split(" AND "))


def test_the_wheel_carries_every_table_beside_the_code():
    patterns = SETTINGS["tool"]["setuptools"]["package-data"]
    carried = [ROOT / package.replace(".", "/") / p for package, ps in patterns.items() for p in ps]
    for package in ("mocose_lib", "mocose_study"):
        for path in (ROOT / package).rglob("*.*"):
            if path.suffix not in (".py", ".pyc"):
                assert any(path.match(str(pattern)) for pattern in carried), path


def test_installed_data_are_found_where_there_is_no_checkout(tmp_path, monkeypatch):
    for name in ("CHECKOUT", "INSTALLED"):
        monkeypatch.setattr(files, name, tmp_path / name)
    monkeypatch.setenv("MOCOSE_STUDY", str(tmp_path / "own"))
    with pytest.raises(InputError, match="let MOCOSE_STUDY name a checkout"):
        corpora.corpus_files("open")
    (tmp_path / "INSTALLED").mkdir()
    (tmp_path / "INSTALLED" / "open").symlink_to(ROOT / "data" / "open")
    assert corpora.corpus_files("open")[0].is_relative_to(tmp_path)
