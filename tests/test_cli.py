"""Bad input ends in one clear sentence and exit code 2, before any long work, without a traceback."""

import errno
import re
import sys

import pytest

from mocose_study import cli
from mocose_study.runs import run
from mocose_study.data import sources, tasks
from mocose_study.config import InputError


@pytest.fixture
def mocose(monkeypatch, capsys):
    """Runs the command line; returns (exit code, stdout, stderr)."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["mocose", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
        return (code, *capsys.readouterr())

    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    monkeypatch.setattr(run, "run", lambda *a, **k: pytest.fail("the run started"))
    return call


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["run", "--profile", "tinny"], "there is no profile 'tinny'; choose one of smoke, quick, tiny"),
        (["run", "--preset", "paper"], "there is no preset 'paper'"),
        (["run", "--batch-size", 1], "batch_size = 1 is out of range"),
        (["run", "--queue-init", 600], "queue_init = 600 is larger than queue_size = 512"),
        (["run", "--queue-size", 0, "--queue-init", 0], "without negatives"),
        (["run", "--precision", "bf16", "--fgsm-epsilon", 5e-9], "rounded away in bf16; set precision = 'float32'"),
        (["run", "--encoder", "no-such"], "encoder 'no-such' is neither a folder under data/enc"),
        (["run", "--encoder-layers", 9], "encoder_layers = 9, but 'tiny' has only 2"),
        (["run", "--method", "mocosy"], "there is no method 'mocosy'"),
        (["run", "--corpus", "wiki901k"], "there is no corpus 'wiki901k'"),
        (["run", "--profile", "tiny", "--corpus-size", 100], "give a local folder with --data"),
        (["run", "--profile", "tiny", "--data", "nowhere"], "data folder 'nowhere' does not exist"),
        (["grid", "emma"], "there is no section 'emma'"),
        (["grid", "ema", "--profile", "tinny"], "there is no profile 'tinny'"),
        (["fly"], "there is no command 'fly'; choose one of run, grid"),
    ],
)
def test_one_sentence(mocose, arguments, told):
    code, out, err = mocose(*arguments)
    assert code == 2
    assert told in err and err.count("\n") == 1 and "Traceback" not in out + err


def test_an_unknown_option_is_refused_with_a_hint(mocose):
    code, _, err = mocose("run", "--ema-deca", "0.9")
    assert code == 2 and "--ema-decay" in err and "Traceback" not in err


@pytest.mark.parametrize(
    "content, told",
    [
        ("subset\tscore\tsentence1\n", "has columns"),
        ("subset\tscore\tsentence1\tsentence2\na\t7\tx\ty\n", "no number from 0 to 5"),
        ("subset\tscore\tsentence1\tsentence2\na\t1\tx\ty\tz\tw\n1\n", "STS12.tsv"),
    ],
)
def test_a_damaged_sts_file(mocose, tmp_path, content, told):
    (tmp_path / "sts").mkdir()
    (tmp_path / "sts" / "STS12.tsv").write_text(content)
    with pytest.raises(InputError, match=re.escape(told)):
        tasks.read_pairs(tmp_path / "sts" / "STS12.tsv")


def test_a_changed_data_file_is_found_by_its_checksum(monkeypatch, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "text.txt").write_text("One.\n")
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  corpus/text.txt\n")
    with pytest.raises(InputError, match="damaged: its checksum"):
        sources.checked(tmp_path, "corpus/text.txt")


def test_a_full_disk_is_said_in_one_sentence(mocose, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", "run.json")

    monkeypatch.setattr(run, "run", full)
    monkeypatch.setattr(run, "prepare", lambda configs, bar: None)
    code, _, err = mocose("run")
    assert code == 2 and err == "mocose: No space left on device: run.json\n"


def test_an_interruption_says_how_to_go_on(mocose, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run", interrupted)
    monkeypatch.setattr(run, "prepare", lambda configs, bar: None)
    code, _, err = mocose("run")
    assert code == 130 and "goes on from here" in err


def test_help_names_every_command(mocose):
    code, out, _ = mocose("--help")
    assert code == 0 and all(f"mocose {name}" in out for name in cli.COMMANDS)
