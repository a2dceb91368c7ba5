"""From nothing to figures at one profile: runs, then notebooks (papermill), section by section.

Skips what is done and goes on after a kill; the same file runs on a cluster through Snakemake's
executor plugins. Runs are not declared as outputs, since Snakemake deletes the outputs of a job
that it starts again: a marker stands for the runs of a batch, and is dropped when one is gone.
A batch is a section, but where runs take seconds: there a process of its own for every section
would take as long as the runs, and all are one batch.
"""

from pathlib import Path

from mocose_lib.config import choose
from mocose_lib.sections import GRIDS
from mocose_lib.profiles import PROFILES
from mocose_lib.run import is_done

PROFILE = config.get("profile", "quick")
choose(PROFILES, PROFILE, "profile")
NOTEBOOKS = sorted(path.stem for path in Path("notebooks").glob("[0-9]*.ipynb"))
SECTIONS = {name: grid for name, grid in GRIDS.items() if grid.notebook in NOTEBOOKS}
BATCHES = {"all": list(SECTIONS)} if PROFILE in ("smoke", "quick") else {s: [s] for s in SECTIONS}
DONE = f"data/cache/done/{PROFILE}"

for batch, names in BATCHES.items():
    if not all(is_done(run, PROFILE) for name in names for run in SECTIONS[name].configs(PROFILE)):
        Path(f"{DONE}/{batch}").unlink(missing_ok=True)


def runs_of(wildcards):
    needed = {name for name, grid in SECTIONS.items() if grid.notebook == wildcards.notebook}
    return [f"{DONE}/{batch}" for batch, names in BATCHES.items() if needed.intersection(names)]


localrules: all

rule all:
    input: expand(f"data/executed/{PROFILE}/{{notebook}}.ipynb", notebook=NOTEBOOKS)

rule runs:
    output: touch(f"{DONE}/{{batch}}")
    threads: workflow.cores
    params: sections=lambda wildcards: BATCHES[wildcards.batch]
    shell: "mocose grid {params.sections} --profile {PROFILE} --workers {threads}"

rule notebook:
    input:
        source=ancient("notebooks/{notebook}.ipynb"),
        runs=runs_of,
    output: f"data/executed/{PROFILE}/{{notebook}}.ipynb"
    log: f"data/cache/logs/{PROFILE}/{{notebook}}.log"
    shell:
        "papermill {input.source} {output}.part.ipynb -k python3 --no-progress-bar"
        " -p profile {PROFILE} > {log} 2>&1 && mv {output}.part.ipynb {output}"
        " || {{ tail -n 25 {log}; exit 1; }}"
