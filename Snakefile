"""From nothing to figures at one profile: runs, then notebooks (papermill).

Skips what is done and goes on after a kill; the same file runs on a cluster through
Snakemake's executor plugins. Only markers are outputs, since Snakemake deletes the
outputs of a job that it starts again; `runs/plan.py` drops those that hold no more.
"""

from mocose_study.config import PROFILES, choose
from mocose_study.runs.plan import Plan, notebooks

PROFILE = config.get("profile", "quick")
choose(PROFILES, PROFILE, "profile")
NOTEBOOKS = config["notebooks"].split(",") if "notebooks" in config else notebooks()
PLAN = Plan(PROFILE, NOTEBOOKS)


def grid_of(wildcards, threads):
    """What `mocose grid` is told of a batch; on a GPU it runs one at a time if not told otherwise."""
    names, seeds = PLAN.batches[wildcards.batch]
    how = f"--workers {threads}" if seeds is None else f"--seeds {' '.join(map(str, seeds))}"
    return f"{' '.join(names)} --profile {PROFILE} {how}"


def runs_of(wildcards):
    return expand(f"{PLAN.folder}/runs/{{batch}}", batch=PLAN.batches_of(wildcards.notebook))


localrules: all

rule all:
    input:
        expand(f"{PLAN.folder}/runs/{{batch}}", batch=PLAN.batches),
        expand(f"{PLAN.folder}/notebooks/{{notebook}}", notebook=NOTEBOOKS),

rule runs:
    output: touch(f"{PLAN.folder}/runs/{{batch}}")
    threads: workflow.cores
    params: grid=grid_of
    shell: "mocose grid {params.grid}"

rule notebook:
    input:
        source="notebooks/{notebook}.ipynb",
        runs=runs_of,
    output: f"{PLAN.folder}/notebooks/{{notebook}}"
    log: f"data/cache/logs/{PROFILE}/{{notebook}}.log"
    params:
        part=f"data/cache/logs/{PROFILE}/{{notebook}}.part.ipynb",
        made=f"data/executed/{PROFILE}/{{notebook}}.ipynb",
        figures=lambda wildcards: f"figures/{PROFILE}/{wildcards.notebook[:2]}_*",
    shell:
        "shopt -s nullglob; mkdir -p $(dirname {params.made}); sums=$(cksum {input.source:q});"
        " papermill {input.source:q} {params.part} -k python3 --no-progress-bar"
        " -p profile {PROFILE} > {log} 2>&1 && mv {params.part} {params.made}"
        " && {{ echo \"$sums\"; cksum {params.made} {params.figures}; }} > {output}.part"
        " && mv {output}.part {output} || {{ tail -n 25 {log}; exit 1; }}"
