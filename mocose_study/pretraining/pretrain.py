"""Masked-word pre-training of the study's own small encoders: `mocose pretrain`.

BERT's masked words alone (Devlin et al. 2019, section 3.1). Next sentences are left
out: they teach [CLS] the topic before contrastive training begins, and leave it little
to learn.
"""

import json
import logging
from dataclasses import asdict
from pathlib import Path

import datasets
import numpy as np
import torch
from torch.nn import functional as F
from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

from mocose_lib.settings import InputError, Settings
from mocose_lib.trainer import Trainer
from mocose_study.config.profiles import PretrainConfig
from mocose_study.data.atomic import write_atomically
from mocose_study.data.checkpoint import Checkpoint
from mocose_study.data.corpora import load_corpus, tokenized
from mocose_study.fast.processor import default_device, fast_in_bf16, processor
from mocose_study.rewriting.tokens import mask_tokens

log = logging.getLogger(__name__)
PAD, UNK, CLS, SEP, MASK = range(5)  # the words of a tokenizer before it has learnt any
NOTE_EVERY = 250  # steps between two points of the loss curve
SAME = ("seed", "steps", "warmup_steps", "lr", "weight_decay")  # as in Settings


def tokenizer_of(config: PretrainConfig, corpus: datasets.Dataset, folder: Path):
    """The folder's tokenizer, else a lower-casing WordPiece learnt from the corpus."""
    if (folder / "tokenizer.json").exists():
        return BertTokenizerFast.from_pretrained(folder)
    empty, texts = BertTokenizerFast(do_lower_case=True), corpus[::3]["sentence"]
    words = empty.train_new_from_iterator(texts, config.vocab_size, show_progress=False)
    words.save_pretrained(folder)
    return words


def rows_of_text(config: PretrainConfig, corpus: datasets.Dataset, tokenizer):
    """Rows of at most `length` token ids, from [CLS] to [SEP].

    "sentences": each row is one sentence, cut where it is longer.
    "contiguous": each row is a window of running text, [SEP] between two documents.
    """
    if config.text == "sentences":
        return tokenized(corpus, tokenizer, config.length)["input_ids"]
    table = tokenized(corpus, tokenizer, None).data.table.combine_chunks()
    ids, document = table["input_ids"].chunk(0), table["document"].to_numpy()
    ends = ids.offsets.to_numpy()[1:-1][document[1:] != document[:-1]]
    tokens, inside = np.insert(ids.values.to_numpy(), ends, SEP), config.length - 2
    windows = tokens[: len(tokens) // inside * inside].reshape(-1, inside)
    return np.pad(windows, ((0, 0), (1, 1)), constant_values=((0, 0), (CLS, SEP)))


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
    return BertForMaskedLM(settings)


class Pretraining(Trainer):
    """A BERT that learns masked words. Its checkpoint has losses and record, too."""

    kept = ("best", "recipe", "losses", "record")

    def __init__(self, config: PretrainConfig, folder: Path):
        self.config, self.device = config, default_device()
        self.half = config.bf16 and fast_in_bf16(self.device)
        corpus = load_corpus(config.corpus, config.corpus_size)
        self.tokenizer = tokenizer_of(config, corpus, folder)
        self.text = rows_of_text(config, corpus, self.tokenizer)
        model = new_model(config).to(self.device).train()
        if self.device == "cuda":
            model.bert.compile()
        else:
            model.set_attn_implementation("eager")  # short texts: faster than sdpa
        own = {name: getattr(config, name) for name in SAME}
        own["batch_size"] = config.tokens_per_batch // config.length
        super().__init__(Settings(**own, eval_every=NOTE_EVERY), model, model)
        for group in self.optimizer.param_groups:
            group["betas"] = (0.9, 0.98)
        self.recipe, self.losses = json.dumps(asdict(config)), []
        self.record = {"tokens": 0, "curve": []}

    def load(self, state: dict) -> None:
        """Goes on from `state`. Raises InputError for that of another recipe."""
        if state.get("recipe") != self.recipe:
            raise InputError("the state.pt there belongs to other settings; delete it.")
        super().load(state)

    def batch(self, rows: np.ndarray, step: int) -> tuple[np.ndarray, ...]:
        """Token ids (n, length) with masked words, their flat places, their targets."""
        config = self.config
        ids = np.full((len(rows), config.length), PAD)
        for row, tokens in zip(ids, self.text[rows], strict=True):
            row[: len(tokens)] = tokens
        how = (range(MASK + 1), config.masked, MASK, (MASK + 1, config.vocab_size))
        rng = np.random.default_rng([config.seed, step])
        masked, places = mask_tokens(ids, *how, rng)
        return masked, places, ids.flat[places]

    def step(self, rows: np.ndarray, step: int) -> None:
        """One step on the mean cross-entropy of the masked words, in nats."""
        config, batch = self.config, list(map(torch.from_numpy, self.batch(rows, step)))
        self.record["tokens"] += int((batch[0] > SEP).sum())
        if self.device == "cuda":  # moved while the GPU goes on with what it has
            batch = [part.pin_memory().to("cuda", non_blocking=True) for part in batch]
        ids, places, targets = batch
        # rows of running text are full; no mask lets attention be fastest
        mask = (ids != PAD).long() if config.text == "sentences" else None
        torch.manual_seed(config.seed + step)  # of dropout
        with torch.autocast(self.device, torch.bfloat16, enabled=self.half):
            layers = self.online.bert(ids, attention_mask=mask)
            words = layers.last_hidden_state.flatten(0, 1)[places]
            logits = self.online.cls(words)
        self.optimise(F.cross_entropy(logits.float(), targets), step)
        self.losses.append(self.loss)  # a number would wait for the GPU

    def note(self, step: int) -> dict[str, float]:
        """Adds the mean loss since the last note to the curve."""
        masked = round(float(torch.stack(self.losses).mean()), 4)
        point = {"step": step, "tokens": self.record["tokens"], "masked": masked}
        self.record["curve"].append(point)
        self.losses = []
        log.info("%s", point)
        return {}


def make_encoder(config: PretrainConfig, folder: Path) -> None:
    """Tokenizer and training: `mocose pretrain`. Interrupted, it goes on: `state.pt`.

    Leaves an fp16 safetensors checkpoint that plain `transformers` loads, and
    `pretraining.json`: configuration, hardware, tokens, seconds and loss curve.
    Two trainings of a vocabulary may break ties differently: to repeat an encoder to
    the letter, put its tokenizer files into the folder first. Raises InputError when
    the corpus is missing, and FloatingPointError when the loss is not finite.
    """
    if (folder / "pretraining.json").exists():
        raise InputError(f"there is an encoder in {folder}; give another --folder.")
    training = Pretraining(config, folder)
    checkpoint, name = Checkpoint(folder / "state.pt"), f"pretrain {config.name}"
    options = {"evaluate": training.note, "choose": False, "checkpoint": checkpoint}
    done = training.run(training.text, name=name, **options)
    training.online.half().save_pretrained(folder)
    training.tokenizer.save_pretrained(folder)
    about = {
        "config": asdict(config),
        "hardware": f"{processor(training.device)}, {torch.get_num_threads()} threads",
        "tokens_per_second": round(training.record["tokens"] / max(done.seconds, 0.1)),
        "step": done.step,
        "seconds": round(done.seconds, 1),
    }
    text = json.dumps(about | training.record, indent=1) + "\n"
    write_atomically(folder / "pretraining.json", text)
    checkpoint.delete()
