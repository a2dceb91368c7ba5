"""Bad input ends in a clear sentence and exit code 2, before any long work."""

import errno
import json
import os
import subprocess
import sys
from importlib.metadata import version

import pytest
import torch
from made_up import write
from texts import raising

from mocose_study import cli
from mocose_study.config import configure
from mocose_study.results import models
from mocose_study.runs import run
from mocose_study.sections import SECTIONS


@pytest.fixture
def mocose(monkeypatch, capsys, study):
    """Runs the command line; returns (exit code, stdout, stderr). No run is made."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["mocose", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        return (code, *capsys.readouterr())

    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    monkeypatch.setattr(run, "make_run", lambda *a, **k: pytest.fail("the run started"))
    return call


SENTENCES = {  # of ours: one line, ending in a full stop or a question mark
    "run --profile tinny": "no profile 'tinny'; choose one of smoke, quick",
    "run --encoder no-such": "encoder 'no-such' is neither a folder under data",
    "run --encoder small": "encoder 'small' is not made yet; `mocose pretrain",
    "run --steps 10000000000": "steps = 10000000000 is not possible: it should be",
    "run --corpus wiki901k": "there is no corpus 'wiki901k'",
    "run --corpus empty.txt": "corpus 'empty.txt' has no sentences.",
    "run --corpus one.txt": "corpus 'one.txt' has one sentence; give one a line.",
    "run --corpus-size 10000000000": "corpus_size = 10000000000 is not possible",
    "run --profile tiny --data=": "(no name)' is no folder; give --data",
    "run --method whitening --save mine": "whitening is no encoder alone; leave out",
    "run --profile tiny --corpus-size 100": "give a local folder with --data",
    "run --profile tiny --data nowhere": "nowhere' is no folder; give --data",
    "run --save full": "has other files; give --save its own folder.",
    "run --profile smoke --out full/README.md": "full/README.md cannot be written: ",
    "grid emma": "there is no section 'emma'; choose one of main_results",
    "grid ema --seeds": "seeds = () is not possible; give None, or [0, 1].",
    "pretrain --profile quick": "there is no pre-training profile 'quick'",
    "bench --repeats 0": "repeats and steps must be 1 or more.",
    "bench --authors nowhere": "nowhere has no mocose.py; give a checkout",
    "evaluate no-such": "encoder 'no-such' is neither a folder",
    "evaluate no-such --sts mine.tsv": "there is no benchmark 'mine.tsv'",  # first
    "embed no-such mine.txt": "mine.txt is no text with a",  # before the encoder
}
PANELS = {  # of tyro
    "run --batch-size ²": "Error parsing --batch-size",
    "run --steps many": "Error parsing --steps: invalid literal for int()",
    "run --steps": "Missing value for argument '--steps'",
    "run --pooling max": "invalid choice 'max' for argument '--pooling'",
    "run --ema-deca 0.9": "--ema-decay",
    "run everything": "everything",
    "grid ema --workers few": "Error parsing --workers",
    "list encoders": "invalid choice 'encoders'",
    "bench --device tpu": "invalid choice 'tpu' for argument '--device'",
    "evaluate": "Required options",
    "fly": "Unrecognized options: fly",
}


@pytest.mark.parametrize("arguments", [*SENTENCES, *PANELS])
def test_bad_input_is_said_before_any_work(mocose, study, monkeypatch, arguments):
    monkeypatch.chdir(study)
    (study / "empty.txt").write_text("\n\n")
    (study / "one.txt").write_text("One.\r")
    (study / "full").mkdir()
    (study / "full" / "README.md").touch()
    code, out, err = mocose(*arguments.split())
    assert code == 2 and "Traceback" not in out + err
    assert (SENTENCES | PANELS)[arguments] in err
    if arguments in SENTENCES:
        assert err.startswith("mocose: ") and err.endswith((".\n", "?\n"))
        assert err.count("\n") == 1


SCRIPT = "from mocose_study import cli; cli.main()"
HELP = {  # what it names, and what would take seconds to import
    "--help": ({*cli.COMMANDS}, {"torch", "pandas"}),
    "run --help": ({"--steps"}, {"datasets", "pandas"}),
}


@pytest.mark.parametrize("asked", HELP)
def test_help_imports_nothing_that_takes_seconds(asked):
    loaded = "import atexit, sys; atexit.register(lambda: print(*sys.modules)); "
    command = [sys.executable, "-c", loaded + SCRIPT, *asked.split()]
    told = subprocess.run(command, capture_output=True, text=True).stdout.split()
    named, slow = HELP[asked]
    assert named <= {*told} and not slow & {*told}


def test_folders_that_the_environment_names_are_absolute(mocose, study, monkeypatch):
    """Notebooks are executed in another folder."""
    monkeypatch.chdir(study.parent)
    for name in ("MOCOSE_STUDY", "MOCOSE_DATA"):
        monkeypatch.setenv(name, study.name)
    assert mocose("list", "profiles")[0] == 0
    assert os.environ["MOCOSE_STUDY"] == os.environ["MOCOSE_DATA"] == str(study)


def test_closed_output_is_no_error():
    command = f"exec {sys.executable} -c '{SCRIPT}' list profiles >&-"
    assert subprocess.run(command, shell=True).returncode == 0


def test_whoever_reads_the_first_lines_alone_is_told_no_more(mocose, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, "stdout", open(writer, "w"))  # noqa: SIM115
    code, _, err = mocose("list", "profiles")
    assert code == 0 and err == ""


def test_profile_preset_and_method_give_the_defaults_that_fields_change(tmp_path):
    def config(text):
        return cli.parsed(["run", *text.split()]).config

    assert config("--profile smoke").steps == 4
    assert config("--profile=smoke --steps 6 --preset described").heads == "plain"
    assert config("--profile smoke --steps 6").steps == 6
    assert config("--no-fast").fast is False
    # what method or preset contradict, options of the same command mend
    mended = "--preset code --method simcse --fgsm-epsilon 0 --selection last"
    assert config(mended).method == "simcse"
    (tmp_path / "mine.txt").write_text("a line\n\n" * 70)  # is taken whole
    own = f"--profile smoke --corpus {tmp_path / 'mine.txt'}"
    assert config(own).corpus_size == 70
    assert config(f"{own} --corpus-size 65").corpus_size == 65
    # as many sentences are seen with another batch
    assert config("--profile tiny --batch-size 32") == configure("tiny", batch_size=32)
    assert config("--profile tiny --batch-size 32 --steps 9").steps == 9


def test_a_grid_without_a_section_lists_what_is_missing_and_its_cost(mocose):
    code, out, _ = mocose("grid", "--profile", "smoke")
    first, *others = SECTIONS["ema"].configs("smoke")
    total = 1 + len(others)
    assert code == 0 and f"ema {total} of {total} missing" in " ".join(out.split())
    write(first, profile="smoke", seconds=5400.0)
    hours = f"ema {total - 1} of {total} missing, {1.5 * (total - 1):.1f} hours"
    assert hours in " ".join(mocose("grid", "--profile", "smoke")[1].split())


def test_its_version(mocose):
    assert mocose("--version") == (0, f"{version('mocose-lib')}\n", "")


def test_help_and_lists_name_all_that_there_is(mocose):
    lists = {"sections": "ema", "systems": "mocose", "profiles": "roberta-base"}
    for what, there in lists.items():
        code, out, _ = mocose("list", what)
        assert code == 0 and there in out
    for name in cli.COMMANDS:
        code, out, _ = mocose(name, "--help")
        assert code == 0 and f"usage: mocose {name}" in out


FULL = OSError(errno.ENOSPC, "No space left on device", "x.json")
MEMORY = RuntimeError("CUDA: Tried to allocate 9 GiB")
ENDS = [
    (FULL, 2, "left on device: x.json"),
    (MEMORY, 2, "a smaller batch_size or queue_size"),
    (KeyboardInterrupt(), 130, "interrupted; the same command goes on"),
]


@pytest.mark.parametrize(("error", "code", "told"), ENDS)
def test_what_ends_a_run_is_one_sentence(mocose, monkeypatch, error, code, told):
    monkeypatch.setattr(run, "prepare", raising(error))
    found, _, err = mocose("run")
    assert found == code and told in err and err.count("\n") == 1


def test_an_error_that_nobody_foresaw_keeps_its_traceback(mocose, monkeypatch):
    wrong = lambda *_, **__: torch.zeros(2) @ torch.zeros(3)  # noqa: E731
    monkeypatch.setattr(run, "prepare", wrong)
    with pytest.raises(RuntimeError, match="size"):
        mocose("run")


def test_json(mocose, monkeypatch):
    monkeypatch.setattr(models, "encode_of", lambda *_: None)
    scores = {"sts_avg": 50.0, "x all": float("nan")}
    monkeypatch.setattr(models, "measure", lambda *_: scores)
    _, out, _ = mocose("evaluate", "tiny", "--json")
    assert "NaN" not in out and json.loads(out) == {"sts_avg": 50.0, "x all": None}
    _, out, _ = mocose("evaluate", "tiny")
    assert out.split() == ["sts_avg", "50.00", "x", "all", "undefined"]


def test_readme_writes_the_readmes_tables(mocose, study, monkeypatch):
    written = []
    monkeypatch.setattr("mocose_study.results.readme.write", written.append)
    assert mocose("readme")[0] == 0 and written == [study / "README.md"]
