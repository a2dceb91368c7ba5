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


def write(report: Path) -> Path:
    """suite.csv: command, part, their number, their seconds in all, the longest first.

    A part is all runs of the profile quick, one of its notebooks, or a folder of tests.
    """
    data = study_folder() / "data"
    rows = [("runs", read_run(path)["seconds"]) for path in data.glob("runs/quick/*.json")]
    for path in data.glob("executed/quick/*.ipynb"):
        noted = json.loads(path.read_text(encoding="utf-8"))["metadata"]["papermill"]
        rows.append((path.stem, noted["duration"]))
    study = pd.DataFrame(rows, columns=["part", "seconds"]).assign(command="make study")
    tests = pd.read_xml(report, xpath=".//testcase", parser="etree").assign(command="make test")
    tests["part"] = tests["classname"].str.split(".").str[:2].str.join("/")
    every = pd.concat([study, tests.rename(columns={"time": "seconds"})])
    table = every.groupby(["command", "part"])["seconds"].agg(number="count", seconds="sum")
    table = table.sort_values(["command", "seconds"], ascending=[True, False]).round(1)
    table.to_csv(path := data / "runs" / "bench" / "suite.csv")
    return path


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
