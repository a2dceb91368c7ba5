"""A trained model taken away and measured: saved with its card, evaluated, turned into vectors."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from mocose_lib import Encoder, evaluate
from mocose_lib.encoder import Pooling
from mocose_lib.evaluation import transfer
from mocose_lib.evaluation.sts import Encode
from mocose_study.config import InputError, configure
from mocose_study.data import benchmarks, encoders
from mocose_study.data.corpora import text_lines
from mocose_study.data.files import study_folder
from mocose_study.data.sources import folder
from mocose_study.fast import logistic
from mocose_study.sections import GRIDS
from mocose_study.systems.base import Fitted

from .tables import table_of

BESIDE = "main"  # the section whose systems stand beside a model
CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
language: en
license: {licence}
---

# {title}

Sentence vectors by the system `{method}` of a replication study of MoCoSE (Cao et al. 2022).
It began with the encoder `{encoder}` and was trained on {size:,} sentences of `{corpus}`.

```python
from sentence_transformers import SentenceTransformer
SentenceTransformer(FOLDER).encode(["A sentence.", "Another one."])

from mocose_lib import Encoder
Encoder.load(FOLDER).encode(["A sentence.", "Another one."])
```

`AutoModel.from_pretrained(FOLDER)` gives the tokens' vectors; the pooling is `{pooling}`.

## Scores

Spearman × 100 between cosine similarity and human scores, with 95 % intervals over test pairs
where the run has them.

{scores}

## Licence

The code is under the MIT licence. The weights follow the licences of the text and of the encoder
with which training began; Wikipedia's text is CC BY-SA 3.0 and GFDL.

## Citation

Cao, Wang, Liang, Gao, Zheng, Ren, Wang: Exploring the Impact of Negative Samples of Contrastive
Learning: A Case Study of Sentence Embedding. Findings of ACL 2022.

## How it was trained

Run `{id}`, code {code}:

```json
{config}
```
"""


def own_runs(wanted: Path | None) -> Path:
    """The folder of runs that belong to no section: `wanted`, or runs/ in the study's folder."""
    return wanted or study_folder() / "runs"


def save(fitted: Fitted, record: dict, target: Path, name: str | None = None) -> Path:
    """Writes the trained encoder and its card; uploads the folder to the hub as `name`, if given.

    Vectors get length 1 where the loss compared by cosine. Raises InputError where the system is
    more than an encoder, and so has no folder that other libraries load.
    """
    if fitted.encoder is None:
        raise InputError(f"{record['config']['method']} is no encoder alone; it cannot be saved.")
    by_cosine = record["config"]["similarity"] == "cosine"
    fitted.encoder.save(target, normalize=by_cosine)
    (target / "README.md").write_text(card(record, name or target.name), encoding="utf-8")
    if name:
        from huggingface_hub import HfApi

        HfApi().create_repo(name, exist_ok=True)
        HfApi().upload_folder(repo_id=name, folder_path=target)
    return target


def card(record: dict, title: str) -> str:
    """The README.md of a saved encoder, from the record of its run."""
    config, metrics = record["config"], record["metrics"]
    rows = {k: v for k, v in metrics.items() if k == "sts_avg" or k.endswith(" test all")}
    lines = [f"- {task}: {value:.2f}" for task, value in rows.items() if value is not None]
    if drawn := record.get("resampled"):
        low, high = np.percentile(drawn, [2.5, 97.5])
        lines.append(f"- 95 % interval of sts_avg: {low:.2f} to {high:.2f}")
    wikipedia = config["corpus"] in ("open", "wiki900k", "wiki_documents", "wiki1m")
    return CARD.format(
        **{name: config[name] for name in ("method", "encoder", "corpus", "pooling")},
        title=title,
        size=config["corpus_size"],
        licence="cc-by-sa-3.0" if wikipedia else "other",
        scores="\n".join(lines),
        id=record["id"],
        code=record["stamp"]["code"],
        config=json.dumps(config, indent=1),
    )


def encode_of(name: str, pooling: Pooling | None = None) -> Encode:
    """The function from sentences to vectors of a folder, a name of the hub, or a study's encoder.

    Folders with modules of sentence-transformers that `Encoder.save` did not write are loaded by
    sentence-transformers, all others by this library. Raises InputError where there is no model.
    """
    source = encoders.source(name)
    if not (source / "modules.json").exists() or (source / "mocose.json").exists():
        return Encoder.load(source, pooling).encode
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise InputError(
            f"{name} needs the package sentence-transformers: pip install sentence-transformers."
        ) from None
    model = SentenceTransformer(str(source), trust_remote_code=False)
    return lambda sentences: model.encode(list(sentences), show_progress_bar=False)


def measure(encode: Encode, files: list[str], with_transfer: bool = False) -> dict[str, float]:
    """All scores of an encode function.

    They are those of the files of scored pairs; without files of the seven STS tasks, or of the
    open ones where there is no data folder.
    """
    if files:
        tables = benchmarks.test_tables(",".join(files))
    else:
        tables = benchmarks.test_tables("real" if folder() else "open")
    found = evaluate(encode, tables)
    scores = {"sts_avg": found.pop("average"), **found}
    if with_transfer:
        tasks = {name: benchmarks.transfer_task(name) for name in benchmarks.TRANSFER}
        scores |= transfer.evaluate(encode, tasks, logistic.fit_predict)
    return scores


def show(scores: Mapping, as_json: bool = False, beside: str | None = None) -> None:
    """Prints scores, a line each. `beside` names a profile whose systems get columns of their own."""
    if as_json:
        print(json.dumps(scores, indent=1))
        return
    columns = {"": scores}
    if beside:
        configure(beside)
        runs = table_of(GRIDS[BESIDE], beside)
        columns |= runs.groupby("label", sort=False).mean(numeric_only=True).T.to_dict()
        print(" " * 24, *(f"{label[:18]:>18}" for label in ["this model", *list(columns)[1:]]))
    for name in scores:
        cells = [column.get(name) for column in columns.values()]
        shown = ["undefined" if cell is None else f"{cell:.2f}" for cell in cells]
        print(f"{name:24}", *(f"{cell:>{18 if beside else 9}}" for cell in shown))


def embed(encode: Encode, file: Path, out: BinaryIO) -> None:
    """Writes the vectors of the file's lines, (lines, dim) float32, in NumPy's format."""
    if not file.is_file():
        raise InputError(f"there is no file {str(file)!r}; give a text with one sentence a line.")
    lines = list(text_lines([file]))[:-1]  # the last one only marks the end
    np.save(out, np.asarray(encode(lines), np.float32))
