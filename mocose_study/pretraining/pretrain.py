"""Masked-language-model pre-training of the study's own small encoders.

BERT's recipe (Devlin et al. 2019) at small scale: 15 % of the tokens are predicted
(80 % masked, 10 % random, 10 % kept), sentence pairs carry the next-sentence objective.
`bag_of_words` adds one term: [CLS] alone has to predict the tokens of its text, so that it
carries the sentence (a bottleneck in the spirit of RetroMAE, Xiao et al. 2022).
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
from transformers import BertConfig, BertForPreTraining, BertTokenizerFast
from transformers.optimization import get_linear_schedule_with_warmup

from mocose_study.config import InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.data.atomic import write_atomically
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.data.corpora import load_corpus, tokenized
from mocose_study.fast.processor import default_device, fast_in_bf16, keep_freed_memory, processor

from .masking import MASK, PAD, Batches, train_tokenizer

log = logging.getLogger(__name__)
PARTS = ("model", "optimizer", "schedule")
NOTE_EVERY = 250  # steps between two points of the loss curve
MILESTONES = (4, 16, 50, 150)  # millions of tokens


def losses(model: BertForPreTraining, batch: dict[str, torch.Tensor], objectives) -> dict:
    """Mean cross-entropy in nats of every objective in `objectives`."""
    attention = (batch["input_ids"] != PAD).long()
    hidden = model.bert(
        batch["input_ids"], attention_mask=attention, token_type_ids=batch["token_type_ids"]
    )
    tokens = hidden.last_hidden_state
    heads = model.cls
    logits = heads.predictions(tokens.flatten(0, 1)[batch["positions"]])
    found = {"masked": F.cross_entropy(logits.float(), batch["targets"])}
    if "next_sentence" in objectives and (batch["is_next"] >= 0).all():
        scores = heads.seq_relationship(hidden.pooler_output)
        found["next_sentence"] = F.cross_entropy(scores.float(), 1 - batch["is_next"])
    if "bag_of_words" in objectives:
        words = heads.predictions(tokens[:, 0]).float().log_softmax(-1)
        inside = batch["original"] > MASK
        found["bag_of_words"] = -(words.gather(1, batch["original"]) * inside).sum() / inside.sum()
    return found


def new_model(config: PretrainConfig) -> BertForPreTraining:
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
    model = BertForPreTraining(bert)
    model.set_attn_implementation("eager")  # short texts: two small products are faster than sdpa
    return model


class Pretraining:
    """Model, optimiser, schedule and record of a pre-training: what its checkpoint holds."""

    def __init__(self, config: PretrainConfig, device: str):
        self.config, self.device = config, device
        self.half = config.bf16 and fast_in_bf16(device)
        self.model = new_model(config).to(device).train()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), config.lr, (0.9, 0.98), 1e-8, config.weight_decay, fused=True
        )
        shape = (config.warmup_steps, config.steps)
        self.schedule = get_linear_schedule_with_warmup(self.optimizer, *shape)
        self.record = {"step": 0, "tokens": 0, "seconds": 0.0, "curve": []}
        self.window: dict[str, list[float]] = {}  # losses since the last point of the curve

    def state(self) -> dict:
        parts = {name: getattr(self, name).state_dict() for name in PARTS}
        rest = {"record": self.record, "window": self.window}
        return {"config": json.dumps(asdict(self.config)), **parts, **rest}

    def resume(self, checkpoint: Checkpoint) -> None:
        """Goes on from `checkpoint` if it holds a state.

        Raises InputError when that is of another PretrainConfig.
        """
        if (saved := checkpoint.read(self.device)) is None:
            return
        if saved["config"] != json.dumps(asdict(self.config)):
            path = checkpoint.path
            raise InputError(f"{path} belongs to other settings; delete it or use another folder.")
        for name in PARTS:
            getattr(self, name).load_state_dict(saved[name])
        self.record, self.window = saved["record"], saved["window"]

    def step(self, batch: dict[str, np.ndarray]) -> None:
        """One update; adds the losses to the window."""
        tensors = {name: torch.from_numpy(part).to(self.device) for name, part in batch.items()}
        torch.manual_seed(self.config.seed + self.record["step"])  # dropout: resumed as unbroken
        kind = torch.device(self.device).type
        with torch.autocast(kind, torch.bfloat16, enabled=self.half):
            found = losses(self.model, tensors, self.config.objectives)
        self.optimizer.zero_grad()
        sum(found.values()).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.record["step"] += 1
        self.record["tokens"] += int((batch["original"] > MASK).sum())
        for name, value in found.items():
            self.window.setdefault(name, []).append(value.item())

    def note(self) -> None:
        """A point of the loss curve: the mean of the window. FloatingPointError if not finite."""
        step, tokens, seconds = (self.record[name] for name in ("step", "tokens", "seconds"))
        means = {name: round(float(np.mean(values)), 4) for name, values in self.window.items()}
        self.window = {}
        if not all(map(math.isfinite, means.values())):
            raise FloatingPointError(f"the pre-training loss is {means} at step {step}")
        self.record["curve"].append({"step": step, "tokens": tokens, **means})
        rate, left = tokens / max(seconds, 1e-9), seconds * (self.config.steps / step - 1) / 60
        log.info("step %d: %s, %.0f tokens/s, %.0f minutes left", step, means, rate, left)

    def write_record(self, folder: Path) -> None:
        """pretraining.json: what was done, on what, and how fast."""
        hardware = f"{processor(self.device)}, {torch.get_num_threads()} thread(s)"
        rate = round(self.record["tokens"] / max(self.record["seconds"], 0.1))
        about = {"config": asdict(self.config), "hardware": hardware, "tokens_per_second": rate}
        text = json.dumps(about | self.record, indent=1) + "\n"
        write_atomically(folder / "pretraining.json", lambda part: part.write_text(text))


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
    and `pretraining.json`: the configuration, the loss curve, tokens seen, seconds of all parts,
    tokens a second, hardware. After the first four million tokens, and at the other `MILESTONES`,
    a copy of the encoder goes to `folder`-4M.
    """
    keep_freed_memory()
    training, checkpoint = Pretraining(config, device), Checkpoint(folder / "state.pt")
    training.resume(checkpoint)
    batches, first, total = Batches(config, documents), training.record["step"], config.steps
    started = time.monotonic() - training.record["seconds"]
    name = f"pretrain {config.name}"
    for i in tqdm(range(first, total), name, total, initial=first, mininterval=10):
        before = training.record["tokens"]
        training.step(batches.batch(i))
        training.record["seconds"] = round(time.monotonic() - started, 1)
        for millions in (m for m in MILESTONES if before < m * 1e6 <= training.record["tokens"]):
            save_encoder(training.model, tokenizer, folder.with_name(f"{folder.name}-{millions}M"))
        last = training.record["step"] == total
        if training.record["step"] % NOTE_EVERY == 0 or last:
            training.note()
        if checkpoint.due() or last:
            checkpoint.write(training.state())
    save_encoder(training.model, tokenizer, folder)
    training.write_record(folder)


def save_encoder(model: BertForPreTraining, tokenizer: BertTokenizerFast, folder: Path) -> None:
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
        raise InputError(f"there is an encoder in {folder} already; give another --folder.")
    corpus = load_corpus(config.corpus, config.corpus_size)
    if (folder / "tokenizer.json").exists():
        tokenizer = BertTokenizerFast.from_pretrained(folder)
    else:
        text = corpus.select(range(0, len(corpus), 3))  # a third is plenty for a small vocabulary
        texts = (sentence for batch in text.iter(1000) for sentence in batch["sentence"])
        tokenizer = train_tokenizer(texts, config.vocab_size)
        tokenizer.save_pretrained(folder)
    pretrain(config, tokenized(corpus, tokenizer, None), tokenizer, folder, default_device())
    (folder / "state.pt").unlink(missing_ok=True)
