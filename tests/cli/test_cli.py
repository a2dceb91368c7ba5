"""Bad input ends in one clear sentence and exit code 2, before any long work, without a traceback."""

import errno
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from mocose_study import cli
from mocose_study.runs import run
from mocose_study.runs.files import run_file, write_run
from mocose_study.sections import GRIDS


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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "run --profile tinny",
            "there is no profile 'tinny'; choose one of smoke, quick, tiny",
        ),
        ("run --preset paper", "there is no preset 'paper'"),
        ("run --batch-size 1", "batch_size = 1 is out of range"),
        ("run --steps many", "Error parsing --steps: invalid literal for int()"),
        ("run --steps", "Missing value for argument '--steps'"),
        ("run --pooling max", "invalid choice 'max' for argument '--pooling'"),
        ("run --ema-deca 0.9", "--ema-deca, 0.9; did you mean --ema-decay?"),
        (
            "run --frobnicate 1",
            "options: --frobnicate, 1; --help lists those there are",
        ),
        ("run everything", "Unrecognized options: everything."),
        (
            "run --encoder no-such",
            "encoder 'no-such' is neither a folder under data/encoders",
        ),
        ("run --method mocosy", "there is no method 'mocosy'"),
        ("run --corpus wiki901k", "there is no corpus 'wiki901k'; choose one of open"),
        ("run --corpus-size 40001", "corpus 'open' has 40000 sentences"),
        (
            "run --benchmark mine.tsv",
            "there is no benchmark 'mine.tsv'; choose one of open,",
        ),
        ("run --push-to-hub me/model", "uploads the folder of --save; give both"),
        ("run --profile tiny --corpus-size 100", "give a local folder with --data"),
        ("run --profile tiny --data nowhere", "data folder 'nowhere' does not exist"),
        ("grid emma", "there is no section 'emma'"),
        ("grid ema --workers few", "Error parsing --workers"),
        ("grid --section ema", "Unrecognized options: --section"),
        ("pretrain --profile quick", "there is no pre-training profile 'quick'"),
        ("report --profile tinny", "there is no profile 'tinny'"),
        ("bench --profile tinny", "there is no profile 'tinny'"),
        ("bench --repeats 0", "repeats and steps must be 1 or more."),
        ("bench --steps -1", "repeats and steps must be 1 or more."),
        ("bench --device tpu", "invalid choice 'tpu' for argument '--device'"),
        ("bench --authors nowhere", "nowhere has no mocose.py; give a checkout"),
        ("bench --encoder no-such", "encoder 'no-such' is neither a folder"),
        ("evaluate", "Missing from mocose evaluate"),
        ("evaluate no-such", "encoder 'no-such' is neither a folder"),
        ("evaluate tiny --sts mine.tsv", "there is no benchmark 'mine.tsv'"),
        ("evaluate tiny --beside tinny", "there is no profile 'tinny'"),
        (
            "evaluate tiny --beside tiny --sts mine.tsv",
            "other tasks than --sts; leave one out.",
        ),
        (
            "evaluate tiny --beside tiny",
            "tiny has scores of 'real', not 'open'; see --data.",
        ),
        ("embed tiny mine.txt", "there is no file 'mine.txt'"),
        ("fly", "there is no command 'fly'; choose one of run, grid"),
    ],
)
def test_one_sentence(mocose, arguments, told):
    code, out, err = mocose(*arguments.split())
    assert code == 2
    assert told in err and err.count("\n") == 1 and "Traceback" not in out + err
    assert err.startswith("mocose: ") and err.endswith((".\n", "?\n"))


def test_whoever_reads_the_first_lines_alone_is_told_no_more():
    script = Path(sys.executable).with_name("mocose")
    piped = subprocess.Popen(
        [script, "systems"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    piped.stdout.close()
    assert piped.stderr.read() == b"" and piped.wait() == 0


def test_profile_preset_and_method_give_the_defaults_that_fields_change():
    def config(text):
        return cli.parsed(["run", *text.split()]).config

    assert config("--profile smoke").steps == 4
    assert config("--profile=smoke --steps 6 --preset described").heads == "plain"
    assert config("--profile smoke --steps 6").steps == 6
    assert config("--method whitening").crop == 0  # the profile's views are not for it
    assert config("--no-fast").fast is False
    # what method or preset contradict, options of the same command mend
    assert config(
        "--preset code --method simcse --fgsm-epsilon 0 --selection last"
    ).crop


def test_a_text_of_ones_own_is_taken_whole(tmp_path):
    (tmp_path / "mine.txt").write_text("a line\n\n" * 70)
    command = ["run", "--profile", "smoke", "--corpus", str(tmp_path / "mine.txt")]
    assert cli.parsed(command).config.corpus_size == 70
    assert cli.parsed([*command, "--corpus-size", "65"]).config.corpus_size == 65


def test_a_folder_that_cannot_take_the_result_is_told_before_the_training(
    mocose, tmp_path
):
    (tmp_path / "README.md").touch()
    code, _, err = mocose("run", "--profile", "smoke", "--save", tmp_path)
    assert code == 2 and "has other files; give --save a folder of its own" in err
    code, _, err = mocose("run", "--profile", "smoke", "--out", tmp_path / "README.md")
    assert code == 2 and "README.md" in err and err.count("\n") == 1


def test_a_grid_without_a_section_lists_what_is_missing_and_its_cost(mocose):
    code, out, _ = mocose("grid", "--profile", "smoke")
    first, *others = GRIDS["ema"].configs("smoke")
    total = 1 + len(others)
    assert code == 0 and f"ema {total} of {total} runs missing" in " ".join(out.split())
    parts = {
        "config": asdict(first),
        "inputs": {},
        "metrics": {},
        "progress": {},
        "stamp": {},
    }
    path = run_file(first, "smoke")
    path.parent.mkdir(parents=True)
    write_run(path, {**parts, "seconds": 5400.0})
    hours = f"ema {total - 1} of {total} runs missing, {1.5 * (total - 1):.1f} hours"
    assert hours in " ".join(mocose("grid", "--profile", "smoke")[1].split())


def test_a_grid_says_how_many_runs_there_are_even_if_none(mocose):
    code, out, _ = mocose("grid", "ema", "--profile", "smoke", "--seeds")
    assert (code, out) == (0, "0 runs of profile smoke are done\n")


def test_help_and_lists_name_all_that_there_is(mocose):
    lists = {
        "sections": "ema",
        "systems": "mocose",
        "profiles": "roberta-base",
        "--help": "grid",
    }
    for command, there in lists.items():
        code, out, _ = mocose(command)
        assert code == 0 and there in out
    code, out, _ = mocose()
    assert code == 0 and all(name in out for name in cli.COMMANDS)
    for name in cli.COMMANDS:
        code, out, _ = mocose(name, "--help")
        assert code == 0 and f"usage: mocose {name}" in out


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "x.json"),
            2,
            "left on device: x.json",
        ),
        (
            RuntimeError("CUDA: Tried to allocate 9 GiB"),
            2,
            "a smaller batch_size or queue_size",
        ),
        (KeyboardInterrupt(), 130, "interrupted; the same command goes on from here"),
    ],
)
def test_what_ends_a_run_is_said_in_one_sentence(
    mocose, monkeypatch, error, code, told
):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr(run, "prepare", failing)
    found, _, err = mocose("run")
    assert found == code and told in err and err.count("\n") == 1


def test_an_error_that_nobody_foresaw_keeps_its_traceback(mocose, monkeypatch):
    monkeypatch.setattr(
        run, "prepare", lambda *_, **__: torch.zeros(2) @ torch.zeros(3)
    )
    with pytest.raises(RuntimeError, match="size"):
        mocose("run")


def test_json(mocose, monkeypatch):
    from mocose_study.results import use

    monkeypatch.setattr(use, "encode_of", lambda *_: None)
    monkeypatch.setattr(
        use, "measure", lambda *_: {"sts_avg": 50.0, "x all": float("nan")}
    )
    _, out, _ = mocose("evaluate", "tiny", "--json")
    assert "NaN" not in out and json.loads(out) == {"sts_avg": 50.0, "x all": None}
    _, out, _ = mocose("evaluate", "tiny")
    assert out.split() == ["sts_avg", "50.00", "x", "all", "undefined"]
