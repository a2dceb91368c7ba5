"""The study on a cluster: `snakemake --executor slurm --jobs 50 --config profile=base`.

A notebook's runs are a job, of the large encoders one a seed. The commands skip what is
done, so a job that is started again goes on. On one machine `make study` does the same.
"""

from mocose_study.config import configure
from mocose_study.data.encoders import PINNED
from mocose_study.runs.study import configs_of, notebooks, sections_of

PROFILE, WANTED = config.get("profile", "quick"), config.get("notebooks", "")
NOTEBOOKS = notebooks(f"{WANTED:02}" if isinstance(WANTED, int) else WANTED)
LARGE = configure(PROFILE).encoder in PINNED
DONE = f"data/cache/snakemake/{PROFILE}"
SEEDS = {
    name: sorted({run.seed for run in configs_of(name, PROFILE)}) if LARGE else ["all"]
    for name in NOTEBOOKS
    if sections_of(name)
}


def runs_of(wildcards):
    own = [wildcards.notebook] if wildcards.notebook in SEEDS else SEEDS  # or the ledger
    return [f"{DONE}/{name}-{seed}" for name in own for seed in SEEDS[name]]


def grid_of(wildcards, threads):
    seeds = f"--seeds {wildcards.seed}" if LARGE else f"--workers {threads}"
    return f"{' '.join(sections_of(wildcards.notebook))} --profile {PROFILE} {seeds}"


localrules: all

wildcard_constraints:
    notebook=r"\w+"

rule all:
    input: expand(f"{DONE}/{{notebook}}", notebook=NOTEBOOKS)

rule runs:
    output: touch(f"{DONE}/{{notebook}}-{{seed}}")
    threads: workflow.cores
    params: grid=grid_of
    shell: "mocose grid {params.grid}"

rule notebook:
    input: runs_of
    output: touch(f"{DONE}/{{notebook}}")
    shell:
        "mocose study --profile {PROFILE} --notebooks {wildcards.notebook} --workers 1"
