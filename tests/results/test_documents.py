"""The pages beside the code: every file that they link exists, and the recipes agree."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_every_linked_file_exists():
    pages = [ROOT / name for name in ("CHECKLIST.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links and not [x for x in links if "://" not in x and not (ROOT / x).exists()]


def test_the_citation_names_the_study_and_the_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "title", "message", "authors", "license", "version"} <= set(cited)
    (paper,) = cited["references"]
    assert paper["year"] == 2022 and len(paper["authors"]) == 7
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert cited["version"] == version.group(1)


def test_the_workflow_and_the_image_use_pythons_and_targets_that_exist():
    flow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    assert flow["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.13"]
    image, makefile = (ROOT / "Dockerfile").read_text(), (ROOT / "Makefile").read_text()
    steps = str(flow) + image
    for target in set(re.findall(r"(?:RUN |&& |'|\")make ([\w./]+)", steps)):
        assert re.search(rf"^[^\n#]*{re.escape(target)}\b[^\n]*:", makefile, re.M), target
    assert "FROM python:3.11" in image
