"""The model card of an encoder that was pre-trained here: from its own record and its runs."""

import json
from dataclasses import asdict
from pathlib import Path

from mocose_study.config import InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.data.corpora import CORPORA, corpus_files
from mocose_study.data.sources import sha256
from mocose_study.sections import GRIDS

from .tables import METRIC, markdown, table_of

PROFILE = "tiny"  # where the runs are, on the real tasks
CARD = """# {name}

A {layers}-layer, {hidden_size}-wide BERT. This study trained it from scratch with
`mocose_study/pretraining/pretrain.py`; no weights from elsewhere went into it. Weights are in fp16.

- command: `mocose pretrain --profile {name} --data DATA`
- text: {corpus}, English Wikipedia (CC BY-SA 3.0, GFDL), {corpus_size:,} sentences
- tokens seen: {tokens:,} in {step:,} steps, {minutes:.0f} minutes
- hardware: {hardware}
- losses at the end (nats): {losses}; curve and settings are in `pretraining.json`

Before any training on sentences: Spearman × 100 on the test splits of the seven STS tasks.

{scores}

Corpus files:

{sums}
"""


def write_card(folder: Path, config: PretrainConfig) -> None:
    """README.md of the encoder: corpus, checksums, tokens, loss, command, settings, scores.

    Raises InputError where no finished pre-training stands, or the corpus is missing.
    """
    if not (folder / "pretraining.json").exists():
        raise InputError(f"there is no finished encoder in {folder}: `mocose pretrain` makes one.")
    record = json.loads((folder / "pretraining.json").read_text(encoding="utf-8"))
    last = {k: v for k, v in record["curve"][-1].items() if k not in ("step", "tokens")}
    files = corpus_files(config.corpus) if config.corpus in CORPORA else []
    text = CARD.format(
        **asdict(config),
        tokens=record["tokens"],
        step=record["step"],
        minutes=record["seconds"] / 60,
        hardware=record["hardware"],
        scores=scores(config.name),
        losses=", ".join(f"{name} {value:.3f}" for name, value in last.items()),
        sums="\n".join(f"- `{path.name}` sha256 `{sha256(path)}`" for path in files),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def scores(encoder: str) -> str:
    """A Markdown table: one row per pooling, one column per task, from the runs of "encoders"."""
    runs = table_of(GRIDS["encoders"], PROFILE)
    runs = runs[runs["label"].str.startswith(f"{encoder}, ")]
    if not len(runs):
        return "(no runs yet)"
    tasks = {column: column.split()[0] for column in runs if column.endswith(" test all")}
    table = runs.assign(pooling=runs["label"].str.removeprefix(f"{encoder}, "))
    return markdown(table[["pooling", *tasks, METRIC]].rename(columns={**tasks, METRIC: "avg"}))
