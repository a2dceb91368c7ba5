"""A model taken away and measured: saved, with its card, evaluated, turned into vectors."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from huggingface_hub import HfApi

from mocose_lib import Encoder, evaluate
from mocose_lib.encoder import Pooling
from mocose_lib.evaluation import transfer
from mocose_lib.evaluation.sts import Encode
from mocose_lib.loading import readable
from mocose_study.config import InputError
from mocose_study.config.profiles import PretrainConfig
from mocose_study.data import benchmarks, encoders
from mocose_study.data.corpora import CORPORA, corpus_files, text_lines
from mocose_study.data.labelled import transfer_tasks
from mocose_study.data.sources import asking_the_hub, folder, sha256
from mocose_study.fast import logistic
from mocose_study.runs.files import finite
from mocose_study.sections import SECTIONS
from mocose_study.systems.base import Fitted

from .tables import METRIC, filled, markdown, table_of

BESIDE = "main"  # the section whose systems stand beside a model
ENCODER_RUNS = "tiny"  # the profile of the runs on a pre-trained encoder's card
WIKIPEDIA = (
    "open",
    "wiki900k",
    "wiki_documents",
    "wiki1m",
)  # corpora under its licence


def save(fitted: Fitted, record: dict, target: Path, name: str | None = None) -> None:
    """Writes the trained encoder and its card; uploads the folder to the hub as `name`, if given.

    Vectors get length 1 where the loss compared by cosine.
    """
    fitted.encoder.save(target, normalize=record["config"]["similarity"] == "cosine")
    (target / "README.md").write_text(
        model_card(record, name or target.name), encoding="utf-8"
    )
    if name:
        HfApi().upload_folder(repo_id=name, folder_path=target)


def make_repository(name: str) -> None:
    """Makes the hub's repository, where it is not there. Raises InputError where the hub refuses."""
    with asking_the_hub(f"make {name!r}", "log in with `hf auth login`"):
        HfApi().create_repo(name, exist_ok=True)


def model_card(record: dict, title: str) -> str:
    """The README.md of a saved encoder, from the record of its run."""
    config, metrics = record["config"], record["metrics"]
    rows = {k: v for k, v in metrics.items() if k == METRIC or k.endswith(" test all")}
    lines = [
        f"- {task}: {value:.2f}" for task, value in rows.items() if value is not None
    ]
    if drawn := record.get("resampled"):
        low, high = np.percentile(drawn, [2.5, 97.5])
        lines.append(f"- 95 % interval of sts_avg: {low:.2f} to {high:.2f}")
    stamp = record["stamp"]
    code = stamp.get("commit") or stamp.get("version", "unknown")
    return filled(
        "model_card.md",
        record=record,
        config=config,
        code=f"{code} with changes" if stamp.get("dirty") else code,
        title=title,
        licence="cc-by-sa-3.0" if config["corpus"] in WIKIPEDIA else "other",
        scores="\n".join(lines),
        settings=json.dumps(config, indent=1),
    )


def write_card(target: Path, config: PretrainConfig) -> None:
    """README.md of the encoder: corpus, checksums, tokens, loss, command, settings, scores.

    Raises InputError where no finished pre-training stands, or the corpus is missing.
    """
    if not (target / "pretraining.json").exists():
        raise InputError(
            f"there is no finished encoder in {target}: `mocose pretrain` makes one."
        )
    record = json.loads((target / "pretraining.json").read_text(encoding="utf-8"))
    last = {k: v for k, v in record["curve"][-1].items() if k not in ("step", "tokens")}
    files = corpus_files(config.corpus) if config.corpus in CORPORA else []
    text = filled(
        "encoder_card.md",
        record=record,
        config=config,
        minutes=record["seconds"] / 60,
        scores=pooling_table(config.name),
        losses=", ".join(f"{name} {value:.3f}" for name, value in last.items()),
        sums="\n".join(f"- `{path.name}` sha256 `{sha256(path)}`" for path in files),
    )
    (target / "README.md").write_text(text, encoding="utf-8")


def pooling_table(encoder: str) -> str:
    """A Markdown table: one row per pooling, one column per task, from the runs of "encoders"."""
    runs = table_of(SECTIONS["encoders"], ENCODER_RUNS)
    runs = runs[runs["label"].str.startswith(f"{encoder}, ")]
    if not len(runs):
        return "(no runs yet)"
    tasks = {
        column: column.split()[0] for column in runs if column.endswith(" test all")
    }
    table = runs.assign(pooling=runs["label"].str.removeprefix(f"{encoder}, "))
    return markdown(
        table[["pooling", *tasks, METRIC]].rename(columns={**tasks, METRIC: "avg"})
    )


def encode_of(name: str, pooling: Pooling | None = None) -> Encode:
    """The function from sentences to vectors of a folder, a name of the hub, or a study's encoder.

    Folders with modules of sentence-transformers that `Encoder.save` did not write are loaded by
    sentence-transformers, all others by this library. Raises InputError where there is no model.
    """
    source = encoders.source(name)
    if not (source / "modules.json").exists() or (source / "mocose.json").exists():
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
        raise InputError(
            f"{name} needs sentence-transformers and its classes: {cause}."
        ) from cause
    return lambda sentences: model.encode(list(sentences), show_progress_bar=False)


def measure(
    encode: Encode, files: Sequence[Path] = (), with_transfer: bool = False
) -> dict[str, float]:
    """All scores of an encode function on files of scored pairs; without any, on those of `tasks`."""
    named = ",".join(map(str, files)) or tasks()
    labelled = (
        transfer_tasks() if with_transfer else {}
    )  # missing ones end it before any work
    found = evaluate(encode, benchmarks.test_tables(named))
    scores = {"sts_avg": found.pop("average"), **found}
    if labelled:
        scores |= transfer.evaluate(encode, labelled, logistic.fit_predict)
    return scores


def tasks() -> str:
    """The benchmark at hand: the seven STS tasks, or the open ones where there is no data folder."""
    return "real" if folder() else "open"


def show(scores: Mapping, as_json: bool = False, beside: str | None = None) -> None:
    """Prints scores, a line each. `beside` names a profile whose systems get columns of their own."""
    columns, width = {"this model": dict(scores)}, 18 if beside else 9
    if beside:
        runs = table_of(SECTIONS[BESIDE], beside).groupby("label", sort=False)
        columns |= runs.mean(numeric_only=True).filter(list(scores)).T.to_dict()
    columns = finite(columns)
    if as_json:
        print(json.dumps(columns if beside else columns["this model"], indent=1))
        return
    if beside:
        print(" " * 24, *(f"{label[:18]:>18}" for label in columns))
    for name in scores:
        cells = [column.get(name) for column in columns.values()]
        shown = ["undefined" if cell is None else f"{cell:.2f}" for cell in cells]
        print(f"{name:24}", *(f"{cell:>{width}}" for cell in shown))


def embed(encode: Encode, file: Path, out: BinaryIO) -> None:
    """Writes the vectors of the file's lines, (lines, dim) float32, in NumPy's format."""
    if not file.is_file():
        raise InputError(
            f"there is no file {str(file)!r}; give a text with one sentence a line."
        )
    lines = list(text_lines([file]))[:-1]  # the last one only marks the end
    np.save(out, np.asarray(encode(lines), np.float32))
