"""Masked-word pre-training of the study's own small encoders: `mocose pretrain`.

BERT's masked words alone (Devlin et al. 2019, section 3.1). Next sentences are left
out: they teach [CLS] the topic before contrastive training begins, and leave it little
to learn.
"""

import copy
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
import numpy as np
import torch
from torch.nn import functional as F
from tqdm.auto import tqdm
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast
from transformers.optimization import get_linear_schedule_with_warmup

from mocose_study.config import InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.data.atomic import write_atomically
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.data.corpora import load_corpus, tokenized
from mocose_study.fast.processor import default_device, fast_in_bf16, processor
from mocose_study.rewriting.tokens import mask_tokens

PAD, UNK, CLS, SEP, MASK = range(5)  # the words of a tokenizer before it has learnt any
PARTS = ("model", "optimizer", "schedule")
TryOut = Callable[[Path], dict[str, float]]  # from an encoder's folder to scores
NOTE_EVERY = 250  # steps between two points of the loss curve


def train_tokenizer(sentences, vocab_size: int) -> BertTokenizerFast:
    """A lower-casing WordPiece tokenizer learnt from `sentences`."""
    empty = BertTokenizerFast(do_lower_case=True)
    return empty.train_new_from_iterator(sentences, vocab_size, show_progress=False)


class Batches:
    """Batches of (n, length) token ids, n * length = `tokens_per_batch`.

    "contiguous": each row is a window of running text, [SEP] between two documents.
    "sentences": each row is one sentence, cut or padded.
    Batch number i depends on (seed, i) alone, so that a resumed run sees the same data.
    """

    def __init__(self, config: PretrainConfig, documents: datasets.Dataset):
        self.config = config
        table = documents.data.table.combine_chunks()
        ids = table.column("input_ids").chunk(0)
        self.tokens, self.offsets = ids.values.to_numpy(), ids.offsets.to_numpy()
        if config.text == "contiguous":
            document = table.column("document").to_numpy()
            first = self.offsets[1:-1][document[1:] != document[:-1]]
            self.tokens = np.insert(self.tokens, first, SEP)

    def text(self, step: int) -> tuple[np.ndarray, np.random.Generator]:
        """The ids before masking, and the random numbers that mask them."""
        rng = np.random.default_rng([self.config.seed, step])
        length, inside = self.config.length, self.config.length - 2
        ids = np.full((self.config.tokens_per_batch // length, length), PAD, np.int64)
        ids[:, 0] = CLS
        if self.config.text == "contiguous":
            starts = rng.integers(0, len(self.tokens) - inside, len(ids))
            ids[:, 1:-1] = self.tokens[starts[:, None] + np.arange(inside)]
            ids[:, -1] = SEP
            return ids, rng
        chosen = rng.integers(0, len(self.offsets) - 1, len(ids))
        for row, i in zip(ids, chosen, strict=True):
            sentence = self.tokens[self.offsets[i] : self.offsets[i + 1]][:inside]
            row[1 : len(sentence) + 2] = [*sentence, SEP]
        return ids, rng

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        """`input_ids` (n, length) with masked words, their flat `places`, `targets`."""
        ids, rng = self.text(step)
        share, special = self.config.masked, range(MASK + 1)
        words = MASK, (MASK + 1, self.config.vocab_size)
        masked, places = mask_tokens(ids, special, share, *words, rng)
        arrays = {"input_ids": masked, "places": places, "targets": ids.flat[places]}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


def new_model(config: PretrainConfig) -> BertForMaskedLM:
    torch.manual_seed(config.seed)
    settings = BertConfig(
        vocab_size=config.vocab_size,
        num_hidden_layers=config.layers,
        hidden_size=config.hidden_size,
        num_attention_heads=config.attention_heads,
        intermediate_size=4 * config.hidden_size,
        max_position_embeddings=config.max_positions,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
    )
    model = BertForMaskedLM(settings)
    model.set_attn_implementation("eager")  # short texts: faster than sdpa
    return model


class Pretraining:
    """Model, optimiser, schedule and record: what the checkpoint holds."""

    def __init__(self, config: PretrainConfig, device: str):
        self.config, self.device = config, torch.device(device)
        self.half = config.bf16 and fast_in_bf16(device)
        self.model = new_model(config).to(device).train()
        if self.device.type == "cuda":
            self.model.set_attn_implementation("sdpa")
            self.model.bert.compile()
        parameters, decay = self.model.parameters(), config.weight_decay
        options = {"betas": (0.9, 0.98), "weight_decay": decay, "fused": True}
        self.optimizer = torch.optim.AdamW(parameters, config.lr, **options)
        steps = config.warmup_steps, config.steps
        self.schedule = get_linear_schedule_with_warmup(self.optimizer, *steps)
        self.record = {"step": 0, "tokens": 0, "seconds": 0.0, "curve": [], "tried": []}
        self.window: list = []  # losses since the last point of the curve

    def state(self) -> dict:
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        rest = {"record": self.record, "window": [float(x) for x in self.window]}
        return {"config": json.dumps(asdict(self.config)), **parts, **rest}

    def resume(self, checkpoint: Checkpoint) -> None:
        """Goes on from `checkpoint`. Raises InputError for that of another config."""
        if (saved := checkpoint.read(self.device)) is None:
            return
        if saved["config"] != json.dumps(asdict(self.config)):
            what = f"{checkpoint.path} belongs to other settings"
            raise InputError(f"{what}; delete it or use another folder.")
        for name in PARTS:
            getattr(self, name).load_state_dict(saved[name])
        self.record, self.window = saved["record"], saved["window"]

    def loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Mean cross-entropy of the masked words, in nats."""
        ids = batch["input_ids"]
        full = self.config.text == "contiguous"  # no padding: the fastest attention
        mask = None if full else (ids != PAD).long()
        layers = self.model.bert(ids, attention_mask=mask)
        words = layers.last_hidden_state.flatten(0, 1)[batch["places"]]
        return F.cross_entropy(self.model.cls(words).float(), batch["targets"])

    def step(self, batch: dict[str, torch.Tensor]) -> None:
        """One update. Raises FloatingPointError when the loss is not finite."""
        record, number = self.record, self.record["step"]
        record["tokens"] += int((batch["input_ids"] > SEP).sum())
        if self.device.type == "cuda":  # moved while the GPU goes on with what it has
            pinned = {name: part.pin_memory() for name, part in batch.items()}
            batch = {k: v.to(self.device, non_blocking=True) for k, v in pinned.items()}
        torch.manual_seed(self.config.seed + number)  # dropout: resumed as unbroken
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            loss = self.loss(batch)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.window.append(loss.detach())  # a number would wait for the GPU
        record["step"] = number + 1
        if record["step"] % NOTE_EVERY == 0 or record["step"] == self.config.steps:
            point = {name: record[name] for name in ("step", "tokens")}
            point["masked"] = round(float(np.mean([float(x) for x in self.window])), 4)
            if not math.isfinite(point["masked"]):
                raise FloatingPointError(f"the loss of pre-training is lost: {point}")
            record["curve"].append(point)
            self.window = []


def pretrain(
    config: PretrainConfig,
    documents: datasets.Dataset,
    tokenizer: BertTokenizerFast,
    folder: Path,
    device: str = "cpu",
    try_out: TryOut | None = None,
) -> None:
    """Trains from scratch (or on from `folder`/state.pt) and saves the encoder.

    `documents` has one sentence a row: `input_ids` (without special tokens) and
    `document`. Leaves an fp16 safetensors checkpoint that plain `transformers` loads,
    with the tokenizer, and `pretraining.json`: configuration, loss curve, tokens,
    seconds, hardware, and what `try_out` makes of it at the shares `config.tried_at`.
    """
    training, checkpoint = Pretraining(config, device), Checkpoint(folder / "state.pt")
    training.resume(checkpoint)
    batches, record, total = Batches(config, documents), training.record, config.steps
    started, name = time.monotonic() - record["seconds"], f"pretrain {config.name}"
    marks = [int(share * total) for share in config.tried_at]
    shown = {"initial": record["step"], "total": total, "mininterval": 10}
    for number in (bar := tqdm(range(record["step"], total), name, **shown)):
        training.step(batches[number])
        bar.set_postfix(*record["curve"][-1:], refresh=False)
        if try_out and record["step"] in marks:
            with TemporaryDirectory() as part:
                save(training.model, tokenizer, Path(part))
                point = {"tokens": record["tokens"], **try_out(Path(part))}
            record["tried"].append(point)
        record["seconds"] = round(time.monotonic() - started, 1)
        if checkpoint.due() or record["step"] == total:
            checkpoint.write(training.state())
    save(training.model, tokenizer, folder)
    about = {
        "config": asdict(config),
        "hardware": f"{processor(device)}, {torch.get_num_threads()} thread(s)",
        "tokens_per_second": round(record["tokens"] / max(record["seconds"], 0.1)),
    }
    text = json.dumps(about | record, indent=1) + "\n"
    write_atomically(folder / "pretraining.json", lambda part: part.write_text(text))


def save(model: BertForMaskedLM, tokenizer: BertTokenizerFast, folder: Path) -> None:
    copy.deepcopy(model).half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_encoder(
    config: PretrainConfig, folder: Path, try_out: TryOut | None = None
) -> None:
    """Tokenizer and training: `mocose pretrain`.

    Raises InputError when the corpus is missing. Interrupted, it goes on from
    `state.pt`. Two trainings of a vocabulary may break ties differently: to repeat an
    encoder to the letter, put its tokenizer files into the folder first.
    """
    if (folder / "pretraining.json").exists():
        what = f"there is an encoder in {folder} already"
        raise InputError(f"{what}; give another --folder.")
    corpus = load_corpus(config.corpus, config.corpus_size)
    if (folder / "tokenizer.json").exists():
        tokenizer = BertTokenizerFast.from_pretrained(folder)
    else:
        third = corpus.select(range(0, len(corpus), 3))  # plenty for few words
        texts = (text for batch in third.iter(1000) for text in batch["sentence"])
        tokenizer = train_tokenizer(texts, config.vocab_size)
        tokenizer.save_pretrained(folder)
    ids = tokenized(corpus, tokenizer, None)
    pretrain(config, ids, tokenizer, folder, default_device(), try_out)
    (folder / "state.pt").unlink(missing_ok=True)
