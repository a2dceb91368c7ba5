"""The ledger: every claim of the papers, and what our runs say to it."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
from IPython.display import HTML
from pandas.io.formats.style import Styler

from mocose_study.claims.verdicts import (
    WORDS,
    has_range,
    paper_effect,
    verdicts,
)
from mocose_study.config import PRESETS, Config
from mocose_study.config.config import tuples
from mocose_study.data.git import line_times
from mocose_study.sections import SECTIONS
from mocose_study.sections import claims as claims_file
from mocose_study.sections.claims import claims_of, rows
from mocose_study.sections.section import Section

from .style import VERDICTS
from .tables import PAPERS_METRIC, table_of

RULES_FILE = Path(claims_file.__file__).with_suffix(".csv")
OURS = (  # what may differ from the authors everywhere
    "encoder corpus corpus_size benchmark lr steps eval_every seed fgsm_epsilon width"
).split()
HARM = ("pace", "mocose-ema-needed")  # the known harm, where a section has none itself
SHOWN = ("claim", "verdict", "effect", "low", "high", "n", "paper", "smallest")
RULES = {"better": "a − b >", "equivalent": "|a − b| <", "best": "no b ahead by"}


def of_section(
    section: Section, profile: str, seeds=None, harm: str | None = None
) -> pd.DataFrame:
    """A row a claim of a section: its text, the verdict, and the figures behind it.

    range: empty, or why the section has none. harm: `known_harm`, where it is known.
    """
    control, claims = claims_of(section.name)
    runs = table_of(section, profile, seeds)
    if control:
        missing = has_range(control, runs)
    elif section.name == HARM[0]:  # which judges the harm itself
        missing = ""
    else:
        missing = known_harm(profile) if harm is None else harm
    found = verdicts(claims, runs)
    lines = []
    for claim in claims:
        paper = paper_effect(claim, section.paper_values(papers_metric(claim.metric)))
        line = {
            "id": claim.id,
            "where": claim.where,
            "claim": claim.text,
            "rule": f"{RULES[claim.rule]} {claim.margin:g}",
            "verdict": found[claim.id].word,
            **{k: v for k, v in vars(found[claim.id]).items() if k != "word"},
            "paper": claim.paper if pd.isna(paper) else paper,
            "metric": claim.metric,
            "range": missing,
            "section": section.name,
            "notebook": section.notebook,
        }
        lines.append(line)
    return pd.DataFrame(lines)


def papers_metric(metric: str) -> str:
    """What the papers' tables call a metric of the runs."""
    task = metric.removesuffix(" all").removesuffix(" test")
    return PAPERS_METRIC.get(metric, task)


def known_harm(profile: str) -> str:
    """Why sections without a control of their own have no range; empty where they do."""
    section, harm = SECTIONS[HARM[0]], HARM[1]
    (claim,) = [c for c in claims_of(section.name)[1] if c.id == harm]
    two = {label: section.points[label] for label in (claim.a, *claim.b)}
    return has_range(claim, table_of(replace(section, points=two), profile))


def judged(profile: str, sections: Iterable[str] = SECTIONS) -> pd.DataFrame:
    """A row a claim of every section, see `of_section`."""
    harm = known_harm(profile)
    parts = [of_section(SECTIONS[name], profile, harm=harm) for name in sections]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each paper have each verdict."""
    paper = table["where"].str.partition(",")[0]
    counts = pd.crosstab(paper, table["verdict"]).reindex(
        columns=list(WORDS), fill_value=0
    )
    return counts.rename_axis(index=None, columns=None)


def styled(table: pd.DataFrame) -> Styler:
    """The verdicts for people: coloured words, grey where the section has no range."""
    if table.empty:
        return table.style
    shown = table.set_index("where")[["claim", "rule", *SHOWN[1:], "reason", "range"]]
    numbers = ["effect", "low", "high", "paper", "smallest"]
    colors = table["verdict"].map(VERDICTS).where(table["range"].eq(""), "#999999")
    look = shown.reset_index().style.hide(axis="index")
    look = look.format("{:.2f}", subset=numbers, na_rep="")
    words = table["verdict"].where(table["range"].eq(""), "no range")
    words = words.str.replace(" ", "-")
    look = look.set_td_classes(words.rename("verdict").to_frame())  # of the site
    return look.apply(lambda c: [f"color: {x}" for x in colors], subset=["verdict"])


def as_html(table: pd.DataFrame, name: str) -> HTML:
    """The same for a notebook: the same text each time. name: its own on the page."""
    return HTML(styled(table).set_uuid(name).to_html())


def late(profile: str) -> pd.DataFrame:
    """The claims whose rule is younger than a run that it judges: a row a claim, by id.

    Columns: written, when the row of the rule got its present text; older, how many of
    the `n` runs are older. Raises InputError where git cannot tell.
    """
    rules = rows().assign(written=line_times(RULES_FILE)[1:])
    found = []
    for name, section in SECTIONS.items():
        runs = table_of(section, profile)
        for rule in rules[rules["section"] == name].itertuples():
            own = runs[runs["label"].isin([rule.a, *rule.b.split(" | ")])]
            finished = own["finished"].dropna() if len(own) else pd.Series(dtype=str)
            older = int((finished < rule.written).sum())
            found.append((rule.id, rule.written, older, len(finished)))
    table = pd.DataFrame(found, columns=["id", "written", "older", "n"]).set_index("id")
    return table[table["older"] > 0]


def unlike_the_authors(profile: str) -> pd.DataFrame:
    """Fields of MoCoSE's runs that are neither the authors' nor their section's.

    A row a field of a point: section, label, field, value. The defaults of Config are
    the authors' settings. Encoder, rate, steps and text are ours, and FGSM is off.
    """
    usual, found = asdict(Config()), set()
    for name, section in SECTIONS.items():
        runs = table_of(section, profile)
        for run in (
            runs[runs["method"] == "mocose"].to_dict("records") if len(runs) else ()
        ):
            point = section.points[run["label"]]
            preset = PRESETS[point.get("preset", "study")]
            varied = {*OURS, *point, *section.common, *preset}
            for field in usual.keys() - varied:
                value = tuples(run[field])
                if value != value:  # what a table of numbers makes of None
                    value = None
                if value != usual[field]:
                    found.add((name, run["label"], field, str(value)))
    return pd.DataFrame(sorted(found), columns=["section", "label", "field", "value"])
