"""The study at a profile: the runs of its notebooks, then the notebooks that wait.

A notebook waits where it, its executed copy, a figure of it or a run that it shows is
not as it was when the notebook was last executed. Its marker has their checksums.
"""

import json
import os
import re
from pathlib import Path

from filelock import FileLock, Timeout

from mocose_study.config import Config, InputError, choose, configure
from mocose_study.data import encoders
from mocose_study.data.atomic import write_atomically
from mocose_study.data.files import cache_folder, study_folder
from mocose_study.data.sources import sha256
from mocose_study.fast.processor import default_device, processor
from mocose_study.sections import SECTIONS

from .files import read_whole, run_files
from .pool import end_with, outcomes, worker_count
from .progress import seconds_of, trial
from .run import prepare, run_grid

NAME = re.compile(r"\d\d_\w+", re.ASCII)  # of a section's notebook; copies have others


def study(profile: str, wanted: str = "", workers: int | None = None) -> None:
    """Makes what is missing of the notebooks `wanted`, as "04 20", or of all.

    Raises InputError before any run where data or an encoder is missing, and at the
    end for what has failed.
    """
    if "MAKELEVEL" in os.environ:
        end_with(os.getppid())
    runs = {name: configs_of(name, profile) for name in notebooks(wanted)}
    workers = worker_count(workers)
    paths = run_files((c for own in runs.values() for c in own), profile)
    records = {config: read_whole(path) for config, path in paths.items()}
    prepare([config for config, record in records.items() if not record], bar=True)
    lock = FileLock(cache_folder() / "study.lock")
    try:
        alone = lock.acquire(timeout=0)
    except Timeout:
        print("another study is at work in this folder; waiting for it", flush=True)
        alone = lock.acquire()
    with alone:
        print(plan(profile, records, workers), flush=True)
        failures = []
        try:
            run_grid(records, profile, workers)
        except InputError as failed:
            failures.append(str(failed))
        done = {config for config, path in paths.items() if path.exists()}
        jobs = ((name, profile) for name, own in runs.items() if done.issuperset(own))
        waiting = [job for job in jobs if not is_as_made(*job)]
        for (name, _), _, error in outcomes(execute, waiting, workers):
            print(f"{name}: {error or 'executed'}", flush=True)
            failures += [str(error)] if error else []
    if failures:
        raise InputError(failures[0])


def notebooks(wanted: str = "") -> list[str]:
    """Notebooks of sections, by number or name; all without `wanted`.

    Says which other notebooks are left out. Raises InputError where there are none.
    """
    there = sorted(p.stem for p in (study_folder() / "notebooks").glob("[0-9]*.ipynb"))
    if not there:
        raise InputError(f"{study_folder()} has no notebooks; call it in a checkout.")
    known: dict[str, list[str]] = {}
    for name in there:
        if NAME.fullmatch(name):
            known.setdefault(name[:2], []).append(name)
            known[name] = [name]
        else:
            print(f"{name!r} is left out, since it is no section's notebook")
    chosen = (choose(known, word, "notebook") for word in wanted.split() or known)
    return sorted({name for names in chosen for name in names})


def sections_of(notebook: str) -> list[str]:
    return [name for name, section in SECTIONS.items() if section.notebook == notebook]


def configs_of(notebook: str, profile: str) -> list[Config]:
    """The runs of a notebook's sections, each once."""
    own = (SECTIONS[name].configs(profile) for name in sections_of(notebook))
    return list(dict.fromkeys(config for configs in own for config in configs))


def plan(profile: str, records: dict[Config, dict | None], workers: int) -> str:
    """What there is to do, and the hours it will take, estimated from finished runs.

    Without any the estimate comes from a trial of some seconds. Runs of the hub's large
    encoders follow one another on one GPU.
    """
    missing = [config for config, record in records.items() if not record]
    text = f"{profile}: {len(missing)} of {len(records)} runs to make"
    if not missing:
        return text
    slowest = max(missing, key=lambda config: config.method == "mocose")
    known = [record for record in records.values() if record] or trial(slowest)
    large = configure(profile).encoder in encoders.PINNED
    side = 1 if large else min(workers or 1, len(missing))
    seconds = seconds_of(missing, known)
    hours = "hours unknown" if seconds is None else f"{seconds / 3600 / side:.1f} h"
    return f"{text}, {hours} on {processor(default_device())}"


def files_of(notebook: str, profile: str) -> dict[str, str]:
    """Checksums of a notebook's source, executed copy, figures and runs.

    Its runs are those of its sections and of others that it names. One without
    sections, such as the ledger, has the runs of all.
    """
    own, folder = sections_of(notebook), study_folder()
    source, made, _ = places(notebook, profile)
    text = source.read_text(encoding="utf-8")
    shown = [x for x in SECTIONS if not own or x in own or f'"{x}\\"' in text]
    runs = run_files((c for x in shown for c in SECTIONS[x].configs(profile)), profile)
    figures = sorted(folder.glob(f"figures/{profile}/{notebook[:2]}_*"))
    there = filter(Path.is_file, (source, made, *figures, *runs.values()))
    return {str(path.relative_to(folder)): sha256(path) for path in there}


def places(notebook: str, profile: str) -> tuple[Path, Path, Path]:
    """Of a notebook its source, its executed copy and its marker."""
    name, folder = f"{notebook}.ipynb", study_folder()
    made = folder / "data" / "executed" / profile / name
    marker = cache_folder() / "done" / profile / f"{notebook}.json"
    return folder / "notebooks" / name, made, marker


def is_as_made(notebook: str, profile: str) -> bool:
    *_, marker = places(notebook, profile)
    try:
        return json.loads(marker.read_text()) == files_of(notebook, profile)
    except (OSError, ValueError):  # none, or a damaged one
        return False


def execute(notebook: str, profile: str) -> None:
    """Executes a notebook by papermill. Raises InputError for a cell that fails."""
    own = cache_folder().resolve() / "home"  # there need be no other that is writable
    os.environ |= {
        "IPYTHONDIR": str(own / "ipython"),
        "MPLCONFIGDIR": str(own / "matplotlib"),
        "JUPYTER_RUNTIME_DIR": str(own / "jupyter"),
        "JUPYTER_PATH": "",  # else its kernels come first
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    own.mkdir(parents=True, exist_ok=True)
    import papermill

    source, made, marker = places(notebook, profile)
    part = cache_folder() / "logs" / profile / made.name
    for parent in (made.parent, part.parent):
        parent.mkdir(parents=True, exist_ok=True)
    values = {"profile": profile}
    if "mine" in papermill.inspect_notebook(source):
        values["mine"] = {}  # "Try it" is for people
    options = {"kernel_name": "python3", "progress_bar": False, "cwd": study_folder()}
    options["extra_arguments"] = ["--IPKernelApp.log_level=50"]  # quiet at its end
    before = sha256(source)
    try:
        papermill.execute_notebook(source, part, values, **options)
    except papermill.PapermillExecutionError as failed:
        why = f"{failed.ename}: {failed.evalue}".splitlines()[0]
        raise InputError(f"a cell fails, see {part}; {why}") from None
    os.replace(part, made)
    sums = files_of(notebook, profile) | {f"notebooks/{made.name}": before}
    write_atomically(marker, json.dumps(sums))
