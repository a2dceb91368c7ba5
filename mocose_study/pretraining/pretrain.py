"""Masked-word pre-training of the study's own small encoders: `mocose pretrain`.

BERT's masked words alone (Devlin et al. 2019, section 3.1). Next sentences are left out: they
teach [CLS] the topic before contrastive training begins, and leave it little to learn.
"""

import copy
import json
import logging
import math
import time
from dataclasses import asdict
from pathlib import Path

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
from mocose_study.fast.processor import (
    default_device,
    fast_in_bf16,
    keep_freed_memory,
    processor,
)

log = logging.getLogger(__name__)
PAD, UNK, CLS, SEP, MASK = range(5)  # the words of a tokenizer before it has learnt any
PARTS = ("model", "optimizer", "schedule")
NOTE_EVERY = 250  # steps between two points of the loss curve


def train_tokenizer(sentences, vocab_size: int) -> BertTokenizerFast:
    """A lower-casing WordPiece tokenizer learnt from `sentences` (an iterable of str)."""
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
        for row, i in zip(
            ids, rng.integers(0, len(self.offsets) - 1, len(ids)), strict=True
        ):
            sentence = self.tokens[self.offsets[i] : self.offsets[i + 1]][:inside]
            row[1 : len(sentence) + 2] = [*sentence, SEP]
        return ids, rng

    def __getitem__(self, step: int) -> dict[str, torch.Tensor]:
        """`input_ids` (n, length) with masked words, their flat `places`, and the `targets` there.

        15 % of the words are predicted: 80 % of them become [MASK], 10 % another word, 10 % stay.
        """
        ids, rng = self.text(step)
        words = np.flatnonzero(ids > MASK)
        places = rng.permutation(words)[: int(self.config.masked * len(words))]
        shown, kind = ids.flatten(), rng.random(len(places))
        shown[places[kind < 0.8]] = MASK
        other = places[kind >= 0.9]
        shown[other] = rng.integers(MASK + 1, self.config.vocab_size, len(other))
        arrays = {"input_ids": shown.reshape(ids.shape), "places": places}
        arrays["targets"] = ids.flatten()[places]
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


def new_model(config: PretrainConfig) -> BertForMaskedLM:
    torch.manual_seed(config.seed)
    bert = BertConfig(
        vocab_size=config.vocab_size,
        num_hidden_layers=config.layers,
        hidden_size=config.hidden_size,
        num_attention_heads=config.attention_heads,
        intermediate_size=4 * config.hidden_size,
        max_position_embeddings=config.max_positions,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
    )
    model = BertForMaskedLM(bert)
    model.set_attn_implementation("eager")  # short texts: faster than sdpa
    return model


class Pretraining:
    """Model, optimiser, schedule and record of a pre-training: what its checkpoint holds."""

    def __init__(self, config: PretrainConfig, device: str):
        self.config, self.device = config, device
        self.half = config.bf16 and fast_in_bf16(device)
        self.model = new_model(config).to(device).train()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            config.lr,
            (0.9, 0.98),
            1e-8,
            config.weight_decay,
            fused=True,
        )
        self.schedule = get_linear_schedule_with_warmup(
            self.optimizer, config.warmup_steps, config.steps
        )
        self.record = {"step": 0, "tokens": 0, "seconds": 0.0, "curve": []}
        self.window: list[float] = []  # losses since the last point of the curve

    def state(self) -> dict:
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        rest = {"record": self.record, "window": self.window}
        return {"config": json.dumps(asdict(self.config)), **parts, **rest}

    def resume(self, checkpoint: Checkpoint) -> None:
        """Goes on from `checkpoint` if it holds a state; InputError for another config's."""
        if (saved := checkpoint.read(self.device)) is None:
            return
        if saved["config"] != json.dumps(asdict(self.config)):
            path = checkpoint.path
            raise InputError(
                f"{path} belongs to other settings; delete it or use another folder."
            )
        for name in PARTS:
            getattr(self, name).load_state_dict(saved[name])
        self.record, self.window = saved["record"], saved["window"]

    def loss(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Mean cross-entropy of the masked words, in nats."""
        ids = batch["input_ids"]
        hidden = self.model.bert(
            ids, attention_mask=(ids != PAD).long()
        ).last_hidden_state
        logits = self.model.cls(hidden.flatten(0, 1)[batch["places"]])
        return F.cross_entropy(logits.float(), batch["targets"])

    def step(self, batch: dict[str, torch.Tensor]) -> None:
        """One update; adds the loss to the window."""
        batch = {name: part.to(self.device) for name, part in batch.items()}
        torch.manual_seed(
            self.config.seed + self.record["step"]
        )  # dropout: resumed as unbroken
        kind = torch.device(self.device).type
        with torch.autocast(kind, torch.bfloat16, enabled=self.half):
            loss = self.loss(batch)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.record["step"] += 1
        self.record["tokens"] += int((batch["input_ids"] > SEP).sum())
        self.window.append(loss.item())

    def note(self) -> None:
        """A point of the loss curve: the mean of the window. FloatingPointError if not finite."""
        step, tokens, seconds = (
            self.record[name] for name in ("step", "tokens", "seconds")
        )
        mean, self.window = round(float(np.mean(self.window)), 4), []
        if not math.isfinite(mean):
            raise FloatingPointError(f"the pre-training loss is {mean} at step {step}")
        self.record["curve"].append({"step": step, "tokens": tokens, "masked": mean})
        rate, left = (
            tokens / max(seconds, 1e-9),
            seconds * (self.config.steps / step - 1) / 60,
        )
        log.info(
            "step %d: loss %.3f, %.0f tokens/s, %.0f minutes left",
            step,
            mean,
            rate,
            left,
        )

    def write_record(self, folder: Path) -> None:
        """pretraining.json: what was done, on what, and how fast."""
        hardware = f"{processor(self.device)}, {torch.get_num_threads()} thread(s)"
        rate = round(self.record["tokens"] / max(self.record["seconds"], 0.1))
        about = {
            "config": asdict(self.config),
            "hardware": hardware,
            "tokens_per_second": rate,
        }
        text = json.dumps(about | self.record, indent=1) + "\n"
        write_atomically(
            folder / "pretraining.json", lambda part: part.write_text(text)
        )


def pretrain(
    config: PretrainConfig,
    documents: datasets.Dataset,
    tokenizer: BertTokenizerFast,
    folder: Path,
    device: str = "cpu",
) -> None:
    """Trains from scratch (or on from `folder`/state.pt) and saves the encoder in `folder`.

    `documents` has one sentence a row: `input_ids` (without special tokens) and `document`.
    Leaves an fp16 safetensors checkpoint that plain `transformers` loads, with the tokenizer,
    and `pretraining.json`: configuration, loss curve, tokens, seconds, hardware.
    """
    keep_freed_memory()
    training, checkpoint = Pretraining(config, device), Checkpoint(folder / "state.pt")
    training.resume(checkpoint)
    batches, first, total = (
        Batches(config, documents),
        training.record["step"],
        config.steps,
    )
    started = time.monotonic() - training.record["seconds"]
    name = f"pretrain {config.name}"
    for i in tqdm(range(first, total), name, total, initial=first, mininterval=10):
        training.step(batches[i])
        training.record["seconds"] = round(time.monotonic() - started, 1)
        last = training.record["step"] == total
        if training.record["step"] % NOTE_EVERY == 0 or last:
            training.note()
        if checkpoint.due() or last:
            checkpoint.write(training.state())
    save_encoder(training.model, tokenizer, folder)
    training.write_record(folder)


def save_encoder(
    model: BertForMaskedLM, tokenizer: BertTokenizerFast, folder: Path
) -> None:
    """The model in half precision, with its tokenizer; the model itself stays as it is."""
    copy.deepcopy(model).half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_encoder(config: PretrainConfig, folder: Path) -> None:
    """Tokenizer and training: `mocose pretrain`.

    Raises InputError when the corpus is missing. Interrupted, it goes on from `state.pt`. Two
    trainings of a vocabulary may break ties differently: to repeat an encoder to the letter,
    put its tokenizer files into the folder first.
    """
    if (folder / "pretraining.json").exists():
        raise InputError(
            f"there is an encoder in {folder} already; give another --folder."
        )
    corpus = load_corpus(config.corpus, config.corpus_size)
    if (folder / "tokenizer.json").exists():
        tokenizer = BertTokenizerFast.from_pretrained(folder)
    else:
        text = corpus.select(
            range(0, len(corpus), 3)
        )  # a third is plenty for a small vocabulary
        texts = (
            sentence for batch in text.iter(1000) for sentence in batch["sentence"]
        )
        tokenizer = train_tokenizer(texts, config.vocab_size)
        tokenizer.save_pretrained(folder)
    pretrain(
        config, tokenized(corpus, tokenizer, None), tokenizer, folder, default_device()
    )
    (folder / "state.pt").unlink(missing_ok=True)
