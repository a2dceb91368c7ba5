"""What users install agrees wherever it is written down."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


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
