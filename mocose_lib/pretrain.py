"""Masked-language-model pre-training of the study's own small encoders.

BERT's recipe (Devlin et al. 2019) at small scale: 15 % of the tokens are predicted
(80 % masked, 10 % random, 10 % kept), sentence pairs carry the next-sentence objective.
`bag_of_words` adds one term: [CLS] alone has to predict the tokens of its text, so that it
carries the sentence (a bottleneck in the spirit of RetroMAE, Xiao et al. 2022).
"""

import json
import logging
import math
import platform
import time
from dataclasses import asdict
from pathlib import Path

import datasets
import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch.nn import functional as F
from tqdm.auto import tqdm
from transformers import BertConfig, BertForPreTraining, BertTokenizerFast

from .config import StudyError
from .data import CORPORA, corpus_files, load_corpus, sha256, tokenized
from .files import STUDY, write_atomically
from .profiles import PretrainConfig
from .run import default_device

log = logging.getLogger(__name__)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNK, CLS, SEP, MASK = range(5)


def train_tokenizer(sentences, vocab_size: int) -> BertTokenizerFast:
    """A lower-casing WordPiece tokenizer learnt from `sentences` (an iterable of str)."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(
        sentences,
        trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=SPECIAL, show_progress=False),
    )
    return BertTokenizerFast(tokenizer_object=tokenizer, do_lower_case=True)


class Batches:
    """Endless batches of token ids from documents, alternating between two fixed shapes.

    Sentence pairs fill (tokens / 2n, 2n) arrays, half of them with a random second sentence;
    single sentences fill (tokens / n, n) arrays, n = `config.sentence_length`.
    Batch number i depends on (seed, i) alone, so that a resumed run sees the same data.
    """

    def __init__(self, config: PretrainConfig, documents: datasets.Dataset):
        self.config = config
        table = documents.data.table.combine_chunks()
        ids = table.column("input_ids").chunk(0)
        self.tokens = ids.values.to_numpy()
        self.offsets = ids.offsets.to_numpy()
        self.document = table.column("document").to_numpy()

    def sentence(self, i: int, length: int) -> np.ndarray:
        return self.tokens[self.offsets[i] : min(self.offsets[i + 1], self.offsets[i] + length)]

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """input_ids and token_type_ids (n, length) int64, is_next (n,) int64, -1 where single."""
        rng = np.random.default_rng([self.config.seed, step])
        pairs = step % 2 == 0
        length = self.config.sentence_length * (2 if pairs else 1)
        n = self.config.tokens_per_batch // length
        ids = np.full((n, length), PAD, np.int64)
        types = np.zeros((n, length), np.int64)
        is_next = np.full(n, -1)
        for row, i in enumerate(rng.integers(0, len(self.document) - 1, n)):
            first = self.sentence(i, self.config.sentence_length - 2)
            text = [CLS, *first, SEP]
            if pairs:
                j = i + 1
                is_next[row] = self.document[i] == self.document[j] and rng.random() < 0.5
                if not is_next[row]:
                    j = rng.integers(0, len(self.document))
                second = self.sentence(j, length - len(text) - 1)
                types[row, len(text) : len(text) + len(second) + 1] = 1
                text += [*second, SEP]
            ids[row, : len(text)] = text
        return {"input_ids": ids, "token_type_ids": types, "is_next": is_next, **self.mask(ids, rng)}

    def mask(self, ids: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Replaces 15 % of the ordinary tokens in place; returns where (flat) and what they were.

        `positions` has the same length in every batch of a shape (padded with -100 targets):
        on CPU a new shape costs more than a few wasted rows.
        """
        original = ids.reshape(-1).copy()
        ordinary = np.flatnonzero(original > MASK)
        chosen = rng.permutation(ordinary)[: int(self.config.masked * len(ordinary))]
        kind = rng.random(len(chosen))
        flat = ids.reshape(-1)
        flat[chosen[kind < 0.8]] = MASK
        random_ones = chosen[(kind >= 0.8) & (kind < 0.9)]
        flat[random_ones] = rng.integers(MASK + 1, self.config.vocab_size, len(random_ones))
        size = int(self.config.masked * ids.size)
        positions, targets = np.zeros(size, np.int64), np.full(size, -100)
        positions[: len(chosen)], targets[: len(chosen)] = chosen, original[chosen]
        return {"positions": positions, "targets": targets, "original": original.reshape(ids.shape)}


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
    return BertForPreTraining(bert)


def learning_rate(step: int, config: PretrainConfig) -> float:
    """Factor on the peak rate: linear warm-up, then linear decay to zero."""
    warm = step / max(1, config.warmup_steps)
    left = (config.steps - step) / max(1, config.steps - config.warmup_steps)
    return max(0.0, min(1.0, warm, left))


def pretrain(
    config: PretrainConfig,
    documents: datasets.Dataset,
    tokenizer: BertTokenizerFast,
    folder: Path,
    device: str = "cpu",
    save_every: int = 250,
) -> Path:
    """Trains from scratch (or on from `folder`/state.pt) and saves the encoder in `folder`.

    `documents` has one sentence a row: `input_ids` (without special tokens) and `document`.
    Leaves an fp16 safetensors checkpoint that plain `transformers` loads, with the tokenizer,
    and `pretraining.json`: the configuration, the loss curve, tokens seen, minutes, hardware.
    """
    model = new_model(config).to(device).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.lr, betas=(0.9, 0.98), weight_decay=config.weight_decay
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: learning_rate(s, config))
    state = {"step": 0, "tokens": 0, "seconds": 0.0, "curve": []}
    checkpoint = folder / "state.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device, weights_only=False)
        if saved["config"] != asdict(config):
            raise StudyError(f"{checkpoint} belongs to other settings; delete it or use another folder.")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        state = saved["state"]
    batches = Batches(config, documents)
    started, window = time.perf_counter() - state["seconds"], {}
    bar = tqdm(total=config.steps, initial=state["step"], desc=f"pretrain {config.name}", mininterval=10)
    while state["step"] < config.steps:
        batch = {k: torch.from_numpy(v).to(device) for k, v in batches.batch(state["step"]).items()}
        torch.manual_seed(config.seed + state["step"])
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=config.bf16):
            found = losses(model, batch, config.objectives)
        optimizer.zero_grad()
        sum(found.values()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        state["step"] += 1
        state["tokens"] += int((batch["original"] > MASK).sum())
        state["seconds"] = time.perf_counter() - started
        for name, value in found.items():
            window.setdefault(name, []).append(value.item())
        bar.update()
        if state["step"] % save_every == 0 or state["step"] == config.steps:
            means = {name: round(float(np.mean(values)), 4) for name, values in window.items()}
            state["curve"].append({"step": state["step"], "tokens": state["tokens"], **means})
            window = {}
            if not all(math.isfinite(v) for v in means.values()):
                raise FloatingPointError(f"the pre-training loss is {means} at step {state['step']}")
            log.info("step %d: %s", state["step"], means)
            write_atomically(checkpoint, lambda path: torch.save({
                "config": asdict(config), "model": model.state_dict(), "state": state,
                "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}, path))
    bar.close()
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    record = {"config": asdict(config), "hardware": hardware(device), **state}
    write_atomically(folder / "pretraining.json", lambda p: p.write_text(json.dumps(record, indent=1)))
    return folder


def hardware(device: str) -> str:
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return f"{device}: {name}, {torch.get_num_threads()} thread(s)"


def make_encoder(config: PretrainConfig, folder: Path | None = None) -> Path:
    """Tokenizer, training and model card: `mocose pretrain`. Returns the encoder's folder.

    Raises StudyError when the corpus is missing. Interrupted, it goes on from `state.pt`.
    """
    folder = folder or STUDY / "data" / "encoders" / config.name
    if (folder / "model.safetensors").exists():
        raise StudyError(f"there is an encoder in {folder} already; give another --folder.")
    corpus = load_corpus(config.corpus, config.corpus_size)
    if (folder / "tokenizer.json").exists():
        tokenizer = BertTokenizerFast.from_pretrained(folder)
    else:
        text = corpus.select(range(0, len(corpus), 3))  # a third is plenty for a small vocabulary
        texts = (sentence for batch in text.iter(1000) for sentence in batch["sentence"])
        tokenizer = train_tokenizer(texts, config.vocab_size)
        tokenizer.save_pretrained(folder)
    pretrain(config, tokenized(corpus, tokenizer, None), tokenizer, folder, default_device())
    write_card(folder, config)
    (folder / "state.pt").unlink()
    return folder


def write_card(folder: Path, config: PretrainConfig) -> None:
    """README.md of the encoder, from its own record: corpus, checksums, tokens, loss, command."""
    record = json.loads((folder / "pretraining.json").read_text())
    last = record["curve"][-1]
    losses_text = ", ".join(f"{k} {v:.3f}" for k, v in last.items() if k not in ("step", "tokens"))
    files = corpus_files(config.corpus) if config.corpus in CORPORA else []
    sums = "\n".join(f"- `{path.name}` sha256 `{sha256(path)}`" for path in files)
    settings = "\n".join(f"| {name} | {value} |" for name, value in asdict(config).items())
    (folder / "README.md").write_text(f"""# {config.name}

A {config.layers}-layer, {config.hidden_size}-wide BERT, trained from scratch by this study's own
`mocose_lib/pretrain.py`; weights in fp16. No weights from elsewhere went into it.

- command: `mocose pretrain --profile {config.name} --data DATA`
- text: {config.corpus}, English Wikipedia (CC BY-SA 3.0, GFDL), {config.corpus_size:,} sentences
- tokens seen: {record["tokens"]:,} in {record["step"]:,} steps, {record["seconds"] / 60:.0f} minutes
- hardware: {record["hardware"]}
- losses at the end (nats): {losses_text}; the curve is in `pretraining.json`

| setting | value |
| --- | --- |
{settings}

Corpus files:

{sums}
""")
