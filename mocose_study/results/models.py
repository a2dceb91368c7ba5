"""Trained models: save one with its card, evaluate it, make vectors with it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
from safetensors import SafetensorError

from mocose_lib import Encoder, evaluate
from mocose_lib.encoder import Pooling
from mocose_lib.evaluation.sts import Encode
from mocose_lib.loading import readable
from mocose_lib.saving import THEIRS
from mocose_study.config import Config, InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.data import benchmarks, encoders
from mocose_study.data.atomic import write_atomically
from mocose_study.data.corpora import text_lines
from mocose_study.data.labelled import transfer_tasks
from mocose_study.data.sources import folder
from mocose_study.runs import transfer
from mocose_study.runs.files import finite
from mocose_study.sections import SECTIONS
from mocose_study.systems import SYSTEMS
from mocose_study.systems.base import Fitted, load_encoder

from .tables import ALL_PAIRS, METRIC, TASKS, filled, markdown, table_of

WIKIPEDIA = ("open", "wiki900k", "wiki_documents", "wiki1m")  # under its licence


def save(fitted: Fitted, record: dict, target: Path) -> None:
    """Writes the trained encoder and its card.

    Vectors get length 1 where the loss compared by cosine. Raises InputError where the
    folder cannot be written.
    """
    card, cosine = target / "README.md", record["config"]["similarity"] == "cosine"
    text = model_card(record, target.name)
    try:
        fitted.encoder.save(target, normalize=cosine)
        write_atomically(card, text)
    except (OSError, SafetensorError) as cause:
        why = f"{target} cannot be written ({str(cause).splitlines()[0]})"
        raise InputError(f"{why}; the same command tries again.") from cause


def model_card(record: dict, title: str) -> str:
    """The README.md of a saved encoder, from the record of its run."""
    config, metrics = record["config"], record["metrics"]
    rows = {k: v for k, v in metrics.items() if v and (k == METRIC or ALL_PAIRS in k)}
    scores = "\n".join(f"- {task}: {value:.2f}" for task, value in rows.items())
    licence = "cc-by-sa-3.0" if config["corpus"] in WIKIPEDIA else "other"
    settings = json.dumps({"stamp": record["stamp"], "config": config}, indent=1)
    about = {"title": title, "licence": licence, "scores": scores, "settings": settings}
    return filled("model_card.md", record=record, config=config, **about)


def write_card(target: Path, config: PretrainConfig) -> None:
    """README.md of the study's encoder: corpus, loss, command, and scores.

    Raises InputError where no finished pre-training stands.
    """
    path = target / "pretraining.json"
    if not path.exists():
        what = f"there is no finished encoder in {target}"
        raise InputError(f"{what}: `mocose pretrain` makes one.")
    record = json.loads(path.read_text(encoding="utf-8"))
    about = {"config": config, "record": record, "last": record["curve"][-1]}
    about |= {"minutes": record["seconds"] / 60, "scores": pooling_table(config.name)}
    (target / "README.md").write_text(filled("encoder_card.md", **about), "utf-8")


def pooling_table(encoder: str) -> str:
    """A Markdown table of the encoder's untrained poolings, by tasks."""
    runs = table_of(SECTIONS["main_results"], encoder)
    runs = runs[runs["method"] == "untrained"]
    scores = [column for column in runs if column in TASKS]
    table = runs[["label", *scores, METRIC]]
    return markdown(table.rename(columns=TASKS | {METRIC: "avg"}))


def encode_of(name: str, pooling: Pooling | None = None) -> Encode:
    """The map to vectors of a folder, a model of the hub, or an encoder of the study.

    Folders of sentence-transformers that `Encoder.save` did not write are loaded by
    that package, all others by this library. Raises InputError where there is no model.
    """
    source = encoders.source(name)
    ours = (source / "mocose.json").exists() and not (source / THEIRS).exists()
    if ours or not (source / "modules.json").exists():
        encoder = Encoder.load(source, pooling)
        if encoder.pooling == "cls_pooler" and not encoder.pooler_trained:
            raise InputError(f"{name} has no trained pooler; choose another --pooling.")
        return encoder.encode
    if pooling:
        raise InputError(f"{name} has a pooling of its own; leave --pooling out.")
    try:
        from sentence_transformers import SentenceTransformer

        with readable(source):
            model = SentenceTransformer(str(source), trust_remote_code=False)
    except (ImportError, AttributeError) as cause:
        what = f"{name} needs sentence-transformers and its classes"
        raise InputError(f"{what}: {cause}.") from cause
    return lambda sentences: model.encode(list(sentences), show_progress_bar=False)


def pairs_of(files: Sequence[Path] = ()) -> dict[str, pd.DataFrame]:
    """The scored pairs of files by their names.

    Without any: the seven STS tasks, or the open ones where there is no data folder.
    """
    asked = files or ["real" if folder() else "open"]
    tables = [benchmarks.test_tables(str(file)) for file in asked]
    by_name = {name: pairs for part in tables for name, pairs in part.items()}
    if len(by_name) < sum(map(len, tables)):
        raise InputError("two files of pairs have the same name; rename one.")
    return by_name


def measure(encode: Encode, pairs: Mapping, with_transfer=False) -> dict[str, float]:
    """All scores of an encode function on tables of scored pairs."""
    labelled = transfer_tasks() if with_transfer else {}  # missing ones end it at once
    scores = evaluate(encode, pairs)
    scores = {METRIC: scores.pop("average"), **scores}
    return scores | transfer.evaluate(encode, labelled)


def untrained(config: Config) -> float | None:
    """The `sts_avg` of a run's encoder before its training; None where it has none.

    A pooler that is drawn by chance gives vectors only when it is trained.
    """
    if "encoder" not in SYSTEMS[config.method].reads:
        return None
    encoder = load_encoder(config, "cpu")
    if config.pooling == "cls_pooler" and not encoder.pooler_trained:
        return None
    return evaluate(encoder.encode, benchmarks.test_tables(config.benchmark))["average"]


def gain(before: float | None, after: float | None) -> str:
    """What the training has brought, in one line."""
    if before is None or after is None:
        return "no score before and after the training"
    return f"untrained {before:.2f}, trained {after:.2f}: {after - before:+.2f}"


def show(scores: Mapping, as_json: bool = False) -> None:
    """Prints scores, a line each."""
    if as_json:
        return print(json.dumps(finite(scores), indent=1))
    for name, value in finite(dict(scores)).items():
        print(f"{name:24}", f"{'undefined' if value is None else f'{value:.2f}':>9}")


def embed(encode: Encode, file: Path, out: BinaryIO) -> None:
    """Writes the vectors of the file's lines, (lines, dim) float32, in NumPy's format.

    Raises InputError where a vector has no numbers.
    """
    lines = list(text_lines([file]))[:-1]  # the last one only marks the end
    vectors = np.asarray(encode(lines), np.float32)
    if odd := np.flatnonzero(~np.isfinite(vectors).all(axis=-1)).tolist():
        what = f"the model's vector of line {odd[0] + 1} has no numbers (NaN)"
        raise InputError(f"{what}; its weights are damaged.")
    np.save(out, vectors)
