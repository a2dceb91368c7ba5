"""The study on a cluster: `snakemake --executor slurm --jobs 50 --config profile=base`.

A notebook's runs are a job, of the large encoders one a seed. The commands skip what is
done, so a job that is started again goes on. On one machine `make study` does the same.
"""

from mocose_study.config import configure
from mocose_study.data.encoders import PINNED
from mocose_study.runs.study import configs_of, notebooks, sections_of

PROFILE = config.get("profile", "quick")
NOTEBOOKS = notebooks(config.get("notebooks", ""))
LARGE = configure(PROFILE).encoder in PINNED
DONE = f"data/cache/snakemake/{PROFILE}"


def runs_of(wildcards):
    own = [n for n in NOTEBOOKS if sections_of(n) and wildcards.notebook in (n, "all")]
    own = own or [n for n in NOTEBOOKS if sections_of(n)]  # the ledger reads all runs
    seeds = {n: {run.seed for run in configs_of(n, PROFILE)} if LARGE else ["all"] for n in own}
    return [f"{DONE}/{name}-{seed}" for name in own for seed in seeds[name]]


def grid_of(wildcards, threads):
    seeds = f"--seeds {wildcards.seed}" if LARGE else f"--workers {threads}"
    return f"{' '.join(sections_of(wildcards.notebook))} --profile {PROFILE} {seeds}"


localrules: all

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
    shell: "mocose study --profile {PROFILE} --notebooks {wildcards.notebook} --workers 1"
