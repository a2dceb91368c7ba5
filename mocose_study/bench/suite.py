"""Where the time of `make study` and `make test` goes: data/runs/bench/suite.csv, for 90_speed.

    make clean-quick study
    PYTEST_ADDOPTS=--junitxml=data/cache/tests.xml make test
    python -m mocose_study.bench.suite data/cache/tests.xml

Runs and executed notebooks have noted their own seconds, and pytest's report has those of every
test. Processes work side by side, so that a sum is longer than the wait for it.
"""

import json
import sys
from pathlib import Path

import pandas as pd

from mocose_study.data.files import study_folder
from mocose_study.runs.files import read_run


def study() -> pd.DataFrame:
    """part, seconds of every run and every notebook of the profile quick."""
    data = study_folder() / "data"
    runs = [("runs", read_run(p)["seconds"]) for p in (data / "runs" / "quick").glob("*.json")]
    for path in (data / "executed" / "quick").glob("*.ipynb"):
        noted = json.loads(path.read_text(encoding="utf-8"))["metadata"]["papermill"]
        runs.append((path.stem, noted["duration"]))
    return pd.DataFrame(runs, columns=["part", "seconds"])


def tests(report: Path) -> pd.DataFrame:
    """part, seconds of every test; the part is its folder, or its notebook."""
    cases = pd.read_xml(report, xpath=".//testcase", parser="etree")
    part = cases["classname"].str.split(".").str[:2].str.join("/")
    return pd.DataFrame({"part": part, "seconds": cases["time"]})


def write(report: Path) -> Path:
    """suite.csv: command, part, their number, their seconds in all, the longest first."""
    every = pd.concat({"make study": study(), "make test": tests(report)}, names=["command"])
    table = every.groupby(["command", "part"])["seconds"].agg(number="count", seconds="sum")
    table = table.sort_values(["command", "seconds"], ascending=[True, False]).round(1)
    path = study_folder() / "data" / "runs" / "bench" / "suite.csv"
    table.to_csv(path)
    return path


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
