# ruff: noqa: E402
"""What the tests share: checked shapes, tiny encoders made here, an own study folder.

No test needs the network or the real data, except where its name says so.
"""

import os
import re
import shutil
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # an encoder that is not there fails at once
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

# signatures of all modules that state shapes are checked; an int is a fine float
typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))
ROOT = Path(__file__).resolve().parents[1]
shaped = []
for path in sorted(ROOT.glob("mocose_*/**/*.py")):
    text = path.read_text(encoding="utf-8")
    if "from jaxtyping" in text or "shapes import" in text:
        shaped.append(".".join(path.relative_to(ROOT).with_suffix("").parts))
install_import_hook(shaped, "conftest.typechecked")

import torch
from texts import SENTENCES, open_pairs, open_sentences
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import BertForMaskedLM, BertModel, BertTokenizerFast, RobertaModel

from mocose_lib import Encoder, Settings, evaluate
from mocose_lib.evaluation import geometry
from mocose_lib.model import View
from mocose_study.config import Config
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.runs.files import run_file
from mocose_study.runs.run import make_run

torch.set_num_threads(1)
TINY = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2)
TINY |= dict(intermediate_size=32, max_position_embeddings=75)
TINY |= dict(initializer_range=0.5)  # so wide that sentences differ clearly
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def tokenizer() -> BertTokenizerFast:
    """A WordPiece of letters, digits and the commonest words of the open corpus."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789'.,-?!()"
    texts = " ".join(open_sentences(200)).lower()
    counts = Counter(re.findall("[a-z]{2,}", texts)).most_common(200)
    words = [word for word, _ in counts]
    entries = [*SPECIAL, *letters, *("##" + c for c in letters), *words]
    vocabulary = {entry: i for i, entry in enumerate(entries)}
    model = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    model.normalizer = normalizers.BertNormalizer(lowercase=True)
    model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return BertTokenizerFast(tokenizer_object=model, do_lower_case=True)


def save_encoder(kind, folder: Path, **ids) -> Path:
    """A random encoder of that kind in `folder`, with its tokenizer."""
    words = tokenizer()
    words.save_pretrained(folder)
    torch.manual_seed(0)
    settings = kind.config_class(vocab_size=len(words), **TINY, **ids)
    kind(settings).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """A folder with a random BERT, 2 layers x 16, and its WordPiece tokenizer."""
    return save_encoder(BertModel, tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory) -> Path:
    """A RoBERTa of that size: its positions start behind the padding id, here 0."""
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    return save_encoder(RobertaModel, tmp_path_factory.mktemp("roberta"), **ids)


@pytest.fixture(params=["tiny", "tiny_roberta"])
def folder(request) -> Path:
    """Each of the two, one after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def masked(tmp_path_factory) -> Path:
    """A random BERT as `tiny`, with its masked-language-model head."""
    return save_encoder(BertForMaskedLM, tmp_path_factory.mktemp("masked"))


@pytest.fixture
def encoder(tiny) -> Encoder:
    return Encoder.load(str(tiny))


@pytest.fixture
def view(encoder) -> View:
    """Two sentences as the encoder receives them."""
    ids, mask = encoder.pad(encoder.tokenize(["The baker sold bread.", "A dog ran."]))
    return View(encoder.words(ids), mask)


def of_the_method(values: dict) -> dict:
    """The fields of a preset, or of a Config, that the library knows."""
    method = {field.name for field in fields(Settings)}
    return {name: value for name, value in values.items() if name in method}


SMALL = dict(steps=6, batch_size=4, queue_size=12, queue_init=4, eval_every=2)
SMALL |= dict(precision="float32", lr=1e-3, max_length=16, fgsm_epsilon=0.0)


@pytest.fixture
def go(tiny, monkeypatch):
    """go(steps=3, ...) trains a tiny encoder by the library; the whole MoCoSE."""
    loop, made = sys.modules["mocose_lib.train"], []

    class Seen(loop.MoCoSE):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(loop, "MoCoSE", Seen)
    pairs = {"images2014 dev": open_pairs("images2014", 20)}

    def train(sentences=64, checkpoint=None, choose=True, pooling="cls", **changes):
        dropout = changes.pop("dropout", 0.1)
        settings = Settings(**{**SMALL, **changes})
        torch.manual_seed(settings.seed)
        encoder = Encoder.load(tiny, pooling, dropout=dropout, max_length=32)

        def look(step):
            return {"uniformity": geometry.uniformity(encoder.encode(SENTENCES[:20]))}

        def measure(step):
            return {"score": evaluate(encoder.encode, pairs)["average"], **look(step)}

        own = {"evaluate": measure, "choose": choose, "probe": look}
        own |= {"checkpoint": checkpoint, "bar": False}
        loop.train(encoder, open_sentences(sentences), settings, **own)
        return made[-1]

    return train


@pytest.fixture
def double():
    """Numbers have double precision."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def eager(monkeypatch):
    """A checkpoint is written at every step."""
    monkeypatch.setattr(Checkpoint, "due", lambda _: True)


def link_shipped(folder: Path) -> Path:
    """Lets a study in `folder` find the data that the repository ships."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for name in ("open", "paper", "encoders"):
        (folder / "data" / name).symlink_to(ROOT / "data" / name)
    shutil.copy(ROOT / "data" / "SHA256SUMS", folder / "data")
    return folder


@pytest.fixture(autouse=True)
def data_folder_of_before(monkeypatch):
    """A command that a test runs here leaves no data folder in the environment."""
    monkeypatch.setenv("MOCOSE_DATA", os.environ.get("MOCOSE_DATA", ""))


@pytest.fixture
def study(tmp_path, monkeypatch) -> Path:
    """A study folder with no runs: runs, caches and checkpoints of a test go there."""
    monkeypatch.setenv("MOCOSE_STUDY", str(link_shipped(tmp_path)))
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    return tmp_path


@pytest.fixture
def small(tiny, study):
    """Makes Configs of runs that take a second: small(steps=5, queue_size=16, ...)."""
    defaults = {"encoder": str(tiny), "corpus": "open", "corpus_size": 64}
    defaults |= {"benchmark": "sample", "eval_max_length": 32}

    def make(**changes) -> Config:
        return Config(**{**SMALL, **defaults, **changes})

    return make


def made(config: Config, profile: str = "quick") -> Path:
    """The file of a run, made on the CPU unless it is there."""
    path = run_file(config, profile)
    make_run(config, path, "cpu")
    return path


@pytest.fixture(scope="module")
def smoke_study(tmp_path_factory) -> Path:
    """A study folder with what the repository ships and its notebooks, and no runs."""
    folder = link_shipped(tmp_path_factory.mktemp("study"))
    (folder / "notebooks").symlink_to(ROOT / "notebooks")
    (folder / "data" / "runs").mkdir()
    (folder / "data" / "runs" / "bench").symlink_to(ROOT / "data" / "runs" / "bench")
    return folder


@pytest.fixture
def real_data(monkeypatch) -> Path:
    """The folder with the real data: MOCOSE_DATA, or ../shared/data.

    MOCOSE_DATA leads to it during the test.
    """
    folder = Path(os.environ.get("MOCOSE_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "sts").is_dir():
        pytest.skip("no real data here: set MOCOSE_DATA to the data folder")
    monkeypatch.setenv("MOCOSE_DATA", str(folder))
    return folder


def same(a, b) -> bool:
    """Whether two nested states are equal to the last bit."""
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def assert_same(a, b) -> None:
    """Two trainings ended alike: every part of their state but the clock."""
    a.progress.seconds = b.progress.seconds = 0.0
    a, b = a.state(), b.state()
    assert a.keys() == b.keys()
    assert not [name for name in a if not same(a[name], b[name])]
