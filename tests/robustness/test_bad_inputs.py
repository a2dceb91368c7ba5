"""Bad inputs and what is said of each: one sentence, before anything is trained."""

import lzma
import math
import re

import pytest

from mocose_lib import InputError
from mocose_study.config import configure, vary
from mocose_study.data import sources
from mocose_study.runs import run as runs
from mocose_study.runs.files import is_done, read_run

FIELDS = [  # values of fields, and a part of the sentence
    ({"temperature": 1e-11}, "temperature = 1e-11 is out of range; it must lie in [0.001, 100]"),
    ({"temperature": 1e30}, "temperature = 1e+30 is out of range"),
    ({"temperature": math.inf}, "temperature = inf is out of range"),
    ({"temperature": math.nan}, "temperature = nan is out of range"),
    ({"temperature": "hot"}, "temperature = 'hot' is not possible"),
    ({"temperature": None}, "temperature = None is not possible"),
    ({"lr": 1.0}, "lr = 1.0 is out of range; it must lie in [0, 0.1]"),
    ({"lr": -1e-3}, "lr = -0.001 is out of range"),
    ({"head_lr": 5}, "head_lr = 5 is out of range"),
    ({"weight_decay": 2.0}, "weight_decay = 2.0 is out of range"),
    ({"max_grad_norm": math.inf}, "max_grad_norm = inf is out of range"),
    ({"max_grad_norm": 0.0}, "max_grad_norm = 0.0 is out of range"),
    ({"seed": -1}, "seed = -1 is out of range"),
    ({"seed": 1.5}, "seed = 1.5 is not possible"),
    ({"steps": 0}, "steps = 0 is out of range"),
    ({"steps": True}, "steps = True is not possible"),
    ({"batch_size": 1}, "batch_size = 1 is out of range"),
    ({"batch_size": 10**6}, "batch_size = 1000000 is larger than corpus_size = 64"),
    ({"max_length": 3}, "max_length = 3 is out of range"),
    ({"eval_every": 0}, "eval_every = 0 is out of range"),
    ({"warmup_steps": 100}, "warmup_steps = 100 is larger than steps = 6"),
    ({"optimizer": "sgd"}, "optimizer = 'sgd' is not possible"),
    ({"precision": "fp8"}, "precision = 'fp8' is not possible"),
    ({"batch_lengths": "odd"}, "batch_lengths = 'odd' is not possible"),
    ({"pooling": "max"}, "pooling = 'max' is not possible"),
    ({"selection": "best"}, "selection = 'best' is not possible"),
    ({"projection_layers": 9}, "projection_layers = 9 is out of range"),
    ({"head_dropout": 0.99}, "head_dropout = 0.99 is out of range"),
    ({"dropout": 1.0}, "dropout = 1.0 is out of range"),
    ({"queue_size": -1}, "queue_size = -1 is out of range"),
    ({"queue_init": 100}, "queue_init = 100 is larger than queue_size = 12"),
    ({"queue_size": 0, "queue_init": 0}, "queue_size = 0 leaves the loss without negatives"),
    ({"negatives_slice": ((3, 2),)}, "negatives_slice (3, 2) needs 0 <= low < high"),
    ({"negatives_slice": ((0, 99),)}, "negatives_slice (0, 99) needs 0 <= low < high"),
    ({"ema_decay": 1.01}, "ema_decay = 1.01 is out of range"),
    ({"ema_decay": -0.1}, "ema_decay = -0.1 is out of range"),
    ({"ema_horizon": 0}, "ema_horizon = 0 is out of range"),
    ({"detach_keys": False}, "set shared_embeddings = True"),
    ({"fgsm_epsilon": 1e9}, "fgsm_epsilon = 1000000000.0 is out of range"),
    ({"fgsm_epsilon": 5e-9, "precision": "bf16"}, "fgsm_epsilon would be rounded away in bf16"),
    ({"token_cutoff": 0.999}, "token_cutoff = 0.999 is out of range; it must lie in [0, 0.9]"),
    ({"feature_cutoff": -0.1}, "feature_cutoff = -0.1 is out of range"),
    ({"crop": 0.95}, "crop = 0.95 is out of range"),
    ({"corpus_size": 1}, "corpus_size = 1 is out of range"),
    ({"whitened_on": 65}, "whitened_on = 65 is larger than corpus_size = 64"),
    ({"encoder_layers": 0}, "encoder_layers = 0 is out of range"),
    ({"augmentation_rate": 0.0}, "augmentation_rate = 0.0 is out of range"),
    ({"mlm_weight": 1e6}, "mlm_weight = 1000000.0 is out of range"),
    ({"method": "simcse", "token_cutoff": 0.1}, "simcse has no position_shuffle, token_cutoff"),
    ({"method": "simcse", "fgsm_epsilon": 1e-3}, "simcse has no FGSM"),
    ({"method": "whitening", "crop": 0.1}, "whitening has no crop and word_deletion"),
    ({"method": "ct", "ct_negatives": 4}, "is no multiple of ct_negatives + 1 = 5"),
    ({"method": "simcse", "pooling": "cls_pooler"}, "set pooling = 'cls'"),
    ({"dropout_low": 0.5}, "dropout_low = 0.5 is larger than dropout_high = 0.2"),
    ({"ema_decey": 0.5}, "Config has no field 'ema_decey'; did you mean 'ema_decay'?"),
]
SETTINGS = [  # what a run needs and does not find
    ({"method": "mocoso"}, "there is no method 'mocoso'; choose one of "),
    ({"encoder": "no-such-encoder"}, "encoder 'no-such-encoder' is neither a folder"),
    ({"encoder": "vectors.txt"}, "encoder 'vectors.txt' is neither a folder"),
    ({"corpus": "none.txt"}, "there is no corpus 'none.txt'; choose one of open"),
    ({"corpus": "wiki900k"}, "corpus 'wiki900k' needs a data folder; give --data or MOCOSE_DATA"),
    ({"corpus": "short.txt"}, "has 3 sentences; corpus_size = 64 is too many"),
    ({"corpus": "empty.txt"}, "has 0 sentences"),
    ({"corpus": "same.txt"}, "repeats one sentence; there is nothing to contrast"),
    ({"corpus": "nul.txt"}, "nul.txt is no text: line 2 holds a NUL byte"),
    ({"corpus": "latin.txt"}, "latin.txt cannot be read as UTF-8 text"),
    ({"corpus": "cut.txt.xz"}, "cut.txt.xz cannot be read as UTF-8 text"),
    ({"benchmark": "rael"}, "there is no benchmark 'rael'"),
    ({"benchmark": "real"}, "needs a data folder|is not in the data folder"),
    ({"benchmark": "column.tsv"}, "column.tsv has no column 'score'; it needs score"),
    ({"benchmark": "text.tsv"}, "text.tsv has a score that is no number in line 3"),
    ({"benchmark": "one.tsv"}, "one.tsv has 2 pairs, and scores that are all equal"),
    ({"benchmark": "rows.tsv"}, "rows.tsv has 2 cells in line 3, but its header has 3"),
    ({"benchmark": "head.tsv"}, "head.tsv has 0 pairs|head.tsv is no tab-separated text"),
    ({"max_length": 500}, "max_length = 500, but .* reads only 75 tokens"),
    (
        {"method": "word_vectors", "vectors": "vectors.txt"},
        "vectors.txt has a line without word and numbers",
    ),
    ({"method": "simcse_supervised", "triplets": "pairs.tsv"}, "pairs.tsv has no"),
    ({"method": "simcse", "positives": "next_sentence", "corpus": "flat.txt"}, "has no documents"),
]
HEAD = "sentence1\tsentence2\tscore\n"
FILES = {
    "short.txt": "a b\nc d\ne f\n",
    "empty.txt": "",
    "same.txt": "the same sentence\n" * 100,
    "nul.txt": "a\nb\0\n" * 50,
    "latin.txt": ("caf\xe9\n" * 100).encode("latin-1"),
    "cut.txt.xz": lzma.compress(b"".join(b"line %d\n" % i for i in range(50)))[:-40],
    "flat.txt": "".join(f"sentence number {i}\n" for i in range(100)),
    "column.tsv": "sentence1\tsentence2\tgold\nx\ty\t1\n",
    "text.tsv": HEAD + "a\tb\t1\nc\td\thigh\n",
    "one.tsv": HEAD + "a\tb\t1\nc\td\t1\n",
    "rows.tsv": HEAD + "a\tb\t1\nc\td\n",
    "head.tsv": HEAD,
    "vectors.txt": "a 1 2 3\nb 1 2\n",
    "pairs.tsv": "sent0\tsent1\na\tb\n",
}


def sentence_of(error: InputError) -> str:
    """Its text. It is one line, with a full stop or a question mark at its end."""
    text = str(error)
    assert "\n" not in text and text[-1] in ".?" and "Traceback" not in text
    return text


def name_of(case) -> str:
    return ",".join(f"{name}={value}" for name, value in case[0].items())


@pytest.mark.parametrize("case", FIELDS, ids=name_of)
def test_a_field_out_of_its_range_is_a_sentence(small, case):
    changes, told = case
    with pytest.raises(InputError) as refused:
        vary(small(), **changes)
    assert told in sentence_of(refused.value)


@pytest.mark.parametrize("case", SETTINGS, ids=name_of)
def test_what_a_run_does_not_find_ends_a_grid_before_its_first_run(
    small, tmp_path, monkeypatch, case
):
    changes, told = case
    for name, content in FILES.items():
        content = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "make_run", lambda *a, **b: pytest.fail("a run started"))
    good = small(method="untrained")
    with pytest.raises(InputError) as refused:
        runs.run_grid([good, small(**changes)], "quick", workers=0, bar=False)
    assert re.search(told, sentence_of(refused.value))
    assert not is_done(good, "quick")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: configure("qick"), "there is no profile 'qick'; choose one of smoke, quick"),
        (lambda: configure("quick", "mine"), "there is no preset 'mine'; choose one of study"),
        (lambda: runs.worker_count(-2), "it must be 0, for runs in this process, or a number"),
    ],
)
def test_a_name_that_does_not_exist_is_a_sentence(call, told):
    with pytest.raises(InputError) as refused:
        call()
    assert told in sentence_of(refused.value)


def test_a_data_folder_that_does_not_exist_is_a_sentence(monkeypatch):
    monkeypatch.setenv("MOCOSE_DATA", "/no/such folder")
    with pytest.raises(InputError) as refused:
        sources.folder()
    assert "the data folder '/no/such folder' does not exist" in sentence_of(refused.value)


def test_a_run_file_that_does_not_exist_is_a_sentence(tmp_path):
    with pytest.raises(InputError) as refused:
        read_run(tmp_path / "none.json")
    assert "there is no run file" in sentence_of(refused.value)
