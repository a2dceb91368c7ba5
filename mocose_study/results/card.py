"""The model card of an encoder that `pretrain.py` made: from its own record, and from its runs."""

import json
from dataclasses import asdict
from pathlib import Path

from mocose_study.config import Config, InputError
from mocose_study.data.corpora import CORPORA, corpus_files
from mocose_study.data.files import study_folder
from mocose_study.config.profiles import PretrainConfig, configure
from mocose_study.results.tables import markdown_table, summary, table_of
from mocose_study.sections import GRIDS
from mocose_study.data.sources import sha256

PROFILE = "tiny"  # where the runs are, on the real tasks
SEARCHED = {"tiny-mlm": "searched", "mini": "searched_mini"}  # what was found, with other seeds
SYSTEMS = ("MoCoSE", "SimCSE")


def folder_of(config: PretrainConfig) -> Path:
    return study_folder() / "data" / "encoders" / config.name


def write_card(folder: Path, config: PretrainConfig) -> None:
    """README.md of the encoder: corpus, checksums, tokens, loss, command, settings, scores.

    Raises InputError where no finished pre-training stands, or the corpus is missing.
    """
    if not (folder / "pretraining.json").exists():
        raise InputError(f"there is no finished encoder in {folder}: `mocose pretrain` makes one.")
    record = json.loads((folder / "pretraining.json").read_text())
    last = record["curve"][-1]
    losses = ", ".join(f"{k} {v:.3f}" for k, v in last.items() if k not in ("step", "tokens"))
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
- losses at the end (nats): {losses}; the curve is in `pretraining.json`

Untrained on sentences, by pooling: Spearman × 100 on the seven real STS tasks (test splits).

{scores(config.name)}
{recommended(config.name)}
Settings of the pre-training:

| setting | value |
| --- | --- |
{settings}

Corpus files:

{sums}
""")


def scores(encoder: str) -> str:
    """A Markdown table: a row a pooling, a column a task, from the runs of "starting_points"."""
    runs = table_of(GRIDS["starting_points"], PROFILE)
    runs = runs[runs["encoder"] == encoder]
    if not len(runs):
        return "(no runs yet)"
    tasks = [column for column in runs if column.endswith(" test all")]
    rows = [
        [run["label"].removeprefix(f"{encoder}, "), *(f"{run[task]:.1f}" for task in tasks),
         f"**{run['sts_avg']:.1f}**"]
        for _, run in runs.iterrows()
    ]  # fmt: skip
    return markdown_table(["pooling", *(task.split()[0] for task in tasks), "avg"], rows)


def recommended(encoder: str) -> str:
    """What the search on STS-B dev found for this encoder: a command for each system, and its
    seven-task average with other seeds; empty where the profile has the settings as they are."""
    if encoder not in SEARCHED:
        return ""
    grid = GRIDS[SEARCHED[encoder]]
    runs = table_of(grid, PROFILE)
    lines = ["", "Settings of training on sentences found on STS-B dev (`02_encoders`):", ""]
    for point in grid.points:
        if point.label in SYSTEMS:
            found = summary(runs[runs["label"] == point.label], ["label"])
            lines += [f"{p.label}: {p.mean:.1f} [{p.low:.1f}, {p.high:.1f}], {p.n} seeds"
                      for p in found.itertuples()]  # fmt: skip
            lines += ["", f"    {command(grid.config(point, PROFILE, 0))}", ""]
    return "\n".join(lines)


def command(config: Config) -> str:
    """`mocose run` with every field in which `config` differs from the profile."""
    there, base = asdict(config), asdict(configure(PROFILE))
    words = ["mocose run", f"--profile {PROFILE} --data DATA"]
    for name, value in there.items():
        if value != base[name]:
            flag = name.replace("_", "-")
            off = "no-" if value is False else ""
            words.append(f"--{off}{flag}" if isinstance(value, bool) else f"--{flag} {value}")
    return " ".join(words)
