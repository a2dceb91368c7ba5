"""From nothing to figures at one profile: runs, then notebooks (papermill), section by section.

Skips what is done and goes on after a kill; the same file runs on a cluster through Snakemake's
executor plugins. Runs are not declared as outputs, since Snakemake deletes the outputs of a job
that it starts again: a marker stands for the runs of a batch, and is dropped when one is gone.
A batch, a job, is as large as its runs are short: all of them where a run takes seconds, since a
process for every section would take as long; a section where a run takes a minute; and where
each wants a GPU, a section's runs of one seed, one after the other.
"""

import os
import signal
from pathlib import Path

from mocose_study.config import PROFILES, choose
from mocose_study.runs.files import is_done
from mocose_study.runs.pool import end_with_parent
from mocose_study.sections import GRIDS

if "MOCOSE_LAUNCHED" in os.environ:  # by runs/study.py, whose end is the end of all
    end_with_parent(lambda: os.killpg(0, signal.SIGKILL))

PROFILE = config.get("profile", "quick")
choose(PROFILES, PROFILE, "profile")
NOTEBOOKS = sorted(path.stem for path in Path("notebooks").glob("[0-9]*.ipynb"))
SECTIONS = {name: grid for name, grid in GRIDS.items() if grid.notebook in NOTEBOOKS}
DONE = f"data/cache/done/{PROFILE}"


def batches():
    """By name: the sections of each batch, and its seeds, None for all."""
    if PROFILE in ("smoke", "quick"):
        return {"all": (list(SECTIONS), None)}
    if PROFILE in ("tiny", "mini"):
        return {name: ([name], None) for name in SECTIONS}
    return {
        f"{name}-{seed}": ([name], [seed])
        for name, grid in SECTIONS.items()
        for seed in sorted({run.seed for run in grid.configs(PROFILE)})
    }


BATCHES = batches()
for batch, (names, seeds) in BATCHES.items():
    runs = [run for name in names for run in SECTIONS[name].configs(PROFILE, seeds)]
    if not all(is_done(run, PROFILE) for run in runs):
        Path(f"{DONE}/{batch}").unlink(missing_ok=True)


def grid_of(wildcards, threads):
    """What `mocose grid` is told of a batch; on a GPU it runs one at a time if not told otherwise."""
    names, seeds = BATCHES[wildcards.batch]
    how = f"--workers {threads}" if seeds is None else f"--seeds {' '.join(map(str, seeds))}"
    return f"{' '.join(names)} --profile {PROFILE} {how}"


def runs_of(wildcards):
    needed = {name for name, grid in SECTIONS.items() if grid.notebook == wildcards.notebook}
    return [f"{DONE}/{batch}" for batch, (names, _) in BATCHES.items() if needed & set(names)]


localrules: all

rule all:
    input: expand(f"data/executed/{PROFILE}/{{notebook}}.ipynb", notebook=NOTEBOOKS)

rule runs:
    output: touch(f"{DONE}/{{batch}}")
    threads: workflow.cores
    params: grid=grid_of
    shell: "mocose grid {params.grid}"

rule notebook:
    input:
        source=ancient("notebooks/{notebook}.ipynb"),
        runs=runs_of,
    output: f"data/executed/{PROFILE}/{{notebook}}.ipynb"
    log: f"data/cache/logs/{PROFILE}/{{notebook}}.log"
    params: part=f"data/cache/logs/{PROFILE}/{{notebook}}.part.ipynb"
    shell:
        "papermill {input.source} {params.part} -k python3 --no-progress-bar"
        " -p profile {PROFILE} > {log} 2>&1 && mv {params.part} {output}"
        " || {{ tail -n 25 {log}; exit 1; }}"
