"""The command line: `mocose run | grid | results | replay | pretrain | report | bench | notebooks`."""

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from mocose_study.config import Config, InputError, choose
from mocose_study.config.profiles import PRETRAINING, configure

log = logging.getLogger("mocose")


@dataclass
class Options:
    """Where and how a command runs; nothing here can change a result."""

    profile: str = "quick"
    """One of smoke, quick, tiny, mini, base, large, roberta-base."""
    data: str | None = None
    """Folder with the real data; MOCOSE_DATA does the same."""
    workers: int | None = None
    """Processes side by side, 0: in this one; default: MOCOSE_WORKERS, or one a core, on a GPU one."""


def run_command(arguments: list[str]) -> None:
    """mocose run [--profile P] [--preset P] [any field of Config]: one run, then its scores."""

    @dataclass
    class Choice(Options):
        preset: str = "study"
        """One of study, as_described, as_published."""

    choice, rest = tyro.cli(Choice, args=arguments, return_unknown_args=True, add_help=False)
    use_data(choice.data)
    if "--help" in rest or "-h" in rest:
        print("First: --profile, --preset, --data. Then any field of Config, shown with its default:")
    # the profile and preset give the defaults that single fields then change
    default = configure(choice.profile, choice.preset)
    config = tyro.cli(Config, args=rest, default=default, prog="mocose run")
    from mocose_study.results.tables import read_run
    from mocose_study.runs.run import prepare, run

    prepare([config], bar=True)
    path = run(config, choice.profile, bar=True)
    metrics = read_run(path)["metrics"]
    shown = {k: "undefined" if v is None else f"{v:.2f}" for k, v in metrics.items()}
    print("\n".join(f"{k:24} {v:>9}" for k, v in shown.items() if not k.endswith("mean")))
    print(f"{path}")


def grid_command(arguments: list[str]) -> None:
    """mocose grid SECTION...: all runs of these sections that are still missing; "all" for all."""

    @dataclass
    class Choice(Options):
        sections: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
        seeds: tuple[int, ...] | None = None

    choice = tyro.cli(Choice, args=arguments, prog="mocose grid")
    use_data(choice.data)
    from mocose_study.runs.run import run_grid
    from mocose_study.sections import GRIDS

    names = GRIDS if choice.sections in ((), ("all",)) else choice.sections
    grids = [choose(GRIDS, name, "section") for name in names]
    runs = [run for grid in grids for run in grid.runs(choice.profile, choice.seeds)]
    runs.sort(key=lambda run: run[0].tier)  # the telling points of every section first
    run_grid([config for _, config in runs], choice.profile, choice.workers)


def results_command(arguments: list[str]) -> None:
    """mocose results [SECTION]: mean, 95 % interval and number of seeds of every point."""

    @dataclass
    class Choice(Options):
        sections: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
        markdown: bool = False
        """With a column a task, as in the README."""

    choice = tyro.cli(Choice, args=arguments, prog="mocose results")
    from mocose_study.results.tables import summary, table_of
    from mocose_study.sections import GRIDS

    for name in choice.sections or tuple(GRIDS):
        grid = choose(GRIDS, name, "section")
        if choice.markdown:
            from mocose_study.results.show import scores_markdown

            print(scores_markdown(grid, choice.profile))
            continue
        runs = table_of(grid, choice.profile)
        print(f"{name} ({choice.profile})")
        print(summary(runs, ["label"]).to_string(index=False, float_format="%.2f") if len(runs)
            else "  no runs yet")  # fmt: skip


def replay_command(arguments: list[str]) -> None:
    """mocose replay FILE...: runs of data/runs made once more, and whether their numbers come back."""

    @dataclass
    class Choice:
        files: Annotated[tuple[Path, ...], tyro.conf.Positional]
        data: str | None = None
        """Folder with the real data; MOCOSE_DATA does the same."""

    choice = tyro.cli(Choice, args=arguments, prog="mocose replay")
    use_data(choice.data)
    from mocose_study.runs.replay import readable, replay

    if not choice.files:
        raise InputError("no run file was named; give one or more of data/runs/<profile>/*.json.")
    for path in choice.files:
        readable(path)  # all of them, before the first is trained
    for path in choice.files:
        print(f"{path.stem}: {replay(path, bar=True)}")


def pretrain_command(arguments: list[str]) -> None:
    """mocose pretrain: trains an encoder from scratch into data/encoders/<name>, resumable."""

    @dataclass
    class Choice(Options):
        profile: str = "tiny"
        """One of tiny, tiny-mlm, mini."""
        steps: int | None = None
        folder: Path | None = None
        """Where the encoder goes; default: data/encoders/<profile>."""
        card: bool = False
        """Rewrite its model card alone, with the scores of the runs there are."""

    from dataclasses import replace

    choice = tyro.cli(Choice, args=arguments, prog="mocose pretrain")
    use_data(choice.data)
    from mocose_study.results.card import folder_of, write_card
    from mocose_study.pretraining.pretrain import make_encoder

    config = choose(PRETRAINING, choice.profile, "pre-training profile")
    config = replace(config, steps=choice.steps) if choice.steps else config
    if choice.card:
        write_card(choice.folder or folder_of(config), config)
    else:
        print(str(make_encoder(config, choice.folder)))


def report_command(arguments: list[str]) -> None:
    """mocose report: the executed notebooks of a profile as a site, report/<profile>/index.html."""

    @dataclass
    class Choice:
        profile: str = "quick"
        """One of smoke, quick, tiny, mini, base, large, roberta-base."""

    choice = tyro.cli(Choice, args=arguments, prog="mocose report")
    from DELETED.report import make_report

    print(str(make_report(choice.profile)))


def bench_command(arguments: list[str]) -> None:
    """mocose bench: training and evaluation beside their peers and the machine's floor."""

    @dataclass
    class Choice:
        profile: str = "quick"
        """One of smoke, quick, tiny: how much is measured, and for how long."""
        data: str | None = None
        """Folder with the real data, for the evaluations; MOCOSE_DATA does the same."""
        repeats: int | None = None
        """Rounds in which all that is compared takes turns; default: the profile's."""
        seconds: float | None = None
        """Training of each competitor in each round; default: the profile's."""
        parts: tuple[str, ...] = ()
        """Some of training, breakdown, evaluation, cost, grid, memory, gpu; default: all."""

    choice = tyro.cli(Choice, args=arguments, prog="mocose bench")
    use_data(choice.data)
    from mocose_study.bench import tables
    from mocose_study.bench.run import bench

    path = bench(choice.profile, choice.repeats, choice.seconds, choice.parts)
    shown = tables.ratios(tables.read(path))
    if len(shown):
        print(shown.to_string(index=False, float_format="%.2f", na_rep=""))
    print(f"{path}")


def notebooks_command(arguments: list[str]) -> None:
    """mocose notebooks [NAME...]: the committed notebooks executed anew, in place; for authors."""

    @dataclass
    class Choice:
        names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
        """Beginnings of names, as 04 or 04_ema; default: all."""
        data: str | None = None
        """Folder with the real data; MOCOSE_DATA does the same."""

    choice = tyro.cli(Choice, args=arguments, prog="mocose notebooks")
    use_data(choice.data)
    from DELETED.committed import refresh_all

    refresh_all(choice.names)


def use_data(folder: str | None) -> None:
    if folder:
        os.environ["MOCOSE_DATA"] = folder


COMMANDS = {
    "run": run_command, "grid": grid_command, "results": results_command,
    "replay": replay_command, "pretrain": pretrain_command, "report": report_command,
    "bench": bench_command, "notebooks": notebooks_command,
}  # fmt: skip
USAGE = "usage: mocose COMMAND [options]; mocose COMMAND --help says more\n" + "\n".join(
    f"  {command.__doc__}" for command in COMMANDS.values()
)


def main() -> None:
    """Exit codes: 0 done; 2 bad input, said in one sentence; 130 interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for noisy in ("httpx", "httpcore", "huggingface_hub", "filelock", "datasets", "fsspec"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    command, *arguments = sys.argv[1:] or ["--help"]
    if command in ("-h", "--help"):
        print(USAGE)
        return
    try:
        choose(COMMANDS, command, "command")(arguments)
    except InputError as wrong:
        sys.stderr.write(f"mocose: {wrong}\n")
        sys.exit(2)
    except OSError as wrong:  # a full disk, a folder without write permission
        sys.stderr.write(f"mocose: {wrong.strerror or wrong}: {wrong.filename or 'while writing'}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("mocose: interrupted; the same command goes on from here\n")
        sys.exit(130)
