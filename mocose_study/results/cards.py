"""Model cards: of an encoder that was pre-trained here, and of a trained system that is saved."""

import json
from pathlib import Path

import numpy as np

from mocose_study.config import InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.data.corpora import CORPORA, corpus_files
from mocose_study.data.sources import sha256
from mocose_study.sections import GRIDS

from .tables import METRIC, filled, markdown, table_of

PROFILE = "tiny"  # where the runs are, on the real tasks
WIKIPEDIA = ("open", "wiki900k", "wiki_documents", "wiki1m")  # corpora under its licence


def model_card(record: dict, title: str) -> str:
    """The README.md of a saved encoder, from the record of its run."""
    config, metrics = record["config"], record["metrics"]
    rows = {k: v for k, v in metrics.items() if k == METRIC or k.endswith(" test all")}
    lines = [f"- {task}: {value:.2f}" for task, value in rows.items() if value is not None]
    if drawn := record.get("resampled"):
        low, high = np.percentile(drawn, [2.5, 97.5])
        lines.append(f"- 95 % interval of sts_avg: {low:.2f} to {high:.2f}")
    return filled(
        "model_card.md",
        record=record,
        config=config,
        title=title,
        licence="cc-by-sa-3.0" if config["corpus"] in WIKIPEDIA else "other",
        scores="\n".join(lines),
        settings=json.dumps(config, indent=1),
    )


def write_card(folder: Path, config: PretrainConfig) -> None:
    """README.md of the encoder: corpus, checksums, tokens, loss, command, settings, scores.

    Raises InputError where no finished pre-training stands, or the corpus is missing.
    """
    if not (folder / "pretraining.json").exists():
        raise InputError(f"there is no finished encoder in {folder}: `mocose pretrain` makes one.")
    record = json.loads((folder / "pretraining.json").read_text(encoding="utf-8"))
    last = {k: v for k, v in record["curve"][-1].items() if k not in ("step", "tokens")}
    files = corpus_files(config.corpus) if config.corpus in CORPORA else []
    text = filled(
        "encoder_card.md",
        record=record,
        config=config,
        minutes=record["seconds"] / 60,
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
