"""The jobs that `make study` would start: as large as the runs of a profile are short."""

import subprocess
import sys

from texts import ROOT

from mocose_study.sections import GRIDS


def commands(profile, *flags):
    """The `mocose grid` commands of a dry run from nothing."""
    dry = "--dry-run --nolock --forceall --printshellcmds --cores 8 --config".split()
    command = [sys.executable, "-m", "snakemake", *dry, f"profile={profile}", *flags]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    lines = (found.stdout + found.stderr).splitlines()
    return sorted(filter(None, (line.partition("mocose grid ")[2] for line in lines)))


def test_runs_of_a_minute_are_a_job_a_section_on_the_cores_it_is_given():
    expected = sorted(f"{name} --profile tiny --workers 2" for name in GRIDS)
    assert commands("tiny", "--set-threads", "runs=2") == expected


def test_runs_that_want_a_gpu_are_a_job_a_section_and_seed():
    expected = [
        f"{name} --profile base --seeds {seed}"
        for name, grid in GRIDS.items()
        for seed in {config.seed for config in grid.configs("base")}
    ]
    assert commands("base") == sorted(expected)
