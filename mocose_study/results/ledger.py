"""The ledger: every claim of the papers, and what our runs say to it."""

import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from io import StringIO

import pandas as pd
from IPython.display import HTML

from mocose_lib.settings import canonical
from mocose_study.claims.verdicts import WORDS, has_range, verdicts
from mocose_study.config import PRESETS, Config, InputError, choose
from mocose_study.data.git import TIME, versions
from mocose_study.sections import SECTIONS
from mocose_study.sections.claims import FILE, claims_of, rows
from mocose_study.sections.section import Section

from .style import VERDICTS
from .tables import records, table_of

OURS = (  # what may differ from the authors everywhere
    "encoder corpus corpus_size benchmark lr steps eval_every seed fgsm_epsilon width"
).split()
JUDGED = ["section", "id", "rule", "a", "b", "margin", "metric"]  # in claims.csv
HARM = ("pace", "mocose-ema-needed")  # the known harm, where a section has none itself
SHOWN = ("verdict", "effect", "low", "high", "n", "paper", "smallest")
RULES = {"better": "a − b >", "equivalent": "|a − b| <", "best": "no b ahead by"}


def of_section(
    section: Section, profile: str, seeds=None, harm: str | None = None
) -> pd.DataFrame:
    """One row per claim of a section: its text, the verdict, the numbers behind it.

    range: empty, or why the section has none. harm: `known_harm`, where it is known.
    """
    control, claims = claims_of(section.name)
    runs = table_of(section, profile, seeds)
    about = {"range": has_range(control, runs), "section": section.name}
    if not control and section.name != HARM[0]:  # which judges the harm itself
        about["range"] = known_harm(profile) if harm is None else harm
    by_id, about = verdicts(claims, runs), about | {"notebook": section.notebook}
    lines = []
    for claim in claims:
        rule = {"rule": f"{RULES[claim.rule]} {claim.margin:g}"}
        if claim.mended:
            rule["rule"] += f" (mended after its runs: {claim.mended})"
        rule["where"] = ", ".join(filter(None, (claim.source, claim.table, claim.also)))
        lines.append(vars(claim) | vars(by_id[claim.id]) | about | rule)
    return pd.DataFrame(lines).rename(columns={"text": "claim", "word": "verdict"})


def sentence(judged: pd.DataFrame, claim: str, word: str, text: str, form=".1f") -> str:
    """A person's sentence, filled with the runs' numbers; it says the verdict `word`.

    judged: rows of `of_section`. The text may hold {effect}, {low}, {high},
    {paper} and {n}. Where the runs say another verdict, a warning stands behind it.
    """
    row = choose({x["id"]: x for x in judged.to_dict("records")}, claim, "claim")
    numbers = {k: format(row[k], form) for k in ("effect", "low", "high", "paper")}
    line = text.format(n=row["n"], **numbers)
    if row["verdict"] == word:
        return line
    now = f"this sentence says *{word}*, the runs now say *{row['verdict']}*"
    return f"{line} \n\n> **Warning:** {now}.\n\n"


def known_harm(profile: str) -> str:
    """Why sections without a control have no range; empty where they have one."""
    section, harm = SECTIONS[HARM[0]], HARM[1]
    (claim,) = [c for c in claims_of(section.name)[1] if c.id == harm]
    two = {label: section.points[label] for label in (claim.a, *claim.b)}
    return has_range(claim, table_of(replace(section, points=two), profile))


def judged(profile: str, sections: Iterable[str] = SECTIONS) -> pd.DataFrame:
    """One row per claim of every section, see `of_section`."""
    harm = known_harm(profile)
    parts = [of_section(SECTIONS[name], profile, harm=harm) for name in sections]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """How many claims of each paper have each verdict."""
    counts = pd.crosstab(table["source"], table["verdict"])
    counts = counts.reindex(columns=list(WORDS), fill_value=0)
    return counts.rename_axis(index=None, columns=None)


def as_html(table: pd.DataFrame, name: str) -> HTML:
    """The verdicts for people: coloured words, grey where the section has no range.

    The same text each time. name: its own on the page.
    """
    if table.empty:
        return HTML("No claims.")
    table = table.reset_index(drop=True)  # classes go to rows by their numbers
    ranged = table["range"].eq("")
    why = ["reason"] if ranged.all() else ["reason", "range"]
    visible = table[["where", "claim", "rule", *SHOWN, *why]]
    colors = table["verdict"].map(VERDICTS).where(ranged, "#999999")
    words = table["verdict"].where(ranged, "no range").str.replace(" ", "-")
    look = visible.style.hide(axis="index").set_uuid(name)
    look = look.format(precision=2, na_rep="")
    look = look.set_td_classes(words.rename("verdict").to_frame())  # of the site
    look = look.apply(lambda _: list("color: " + colors), subset=["verdict"])
    return HTML(look.to_html())


def late(profile: str) -> pd.DataFrame:
    """The claims whose rule is younger than runs of both of its sides, one row each.

    Rules that are declared as mended are left out. Columns: written, since when git has
    the rule; older, how many of the `n` runs of the side with fewer are older. Raises
    InputError where git cannot tell, and where there are no runs.
    """
    rules, younger = rows().query("mended == ''"), []
    written = dates(rules)
    for name, section in SECTIONS.items():
        runs = table_of(section, profile).reindex(columns=["label", "finished"])
        for rule in rules[rules["section"] == name].itertuples():
            when, labels = written[rule.Index], [[rule.a], rule.b.split(" | ")]
            sides = (runs.loc[runs["label"].isin(x), "finished"] for x in labels)
            sides = [side.dropna().astype(str) < when for side in sides]
            side = min(sides, key=sum)
            younger.append((rule.id, when, int(side.sum()), len(side)))
    table = pd.DataFrame(younger, columns=["id", "written", "older", "n"])
    if not table["n"].any():
        raise InputError(f"profile {profile} has no runs of both sides of a claim.")
    return table[table["older"] > 0].set_index("id")


def dates(rules: pd.DataFrame) -> dict[int, str]:
    """Since when git has each rule as it is (UTC), by row; now, if it does not.

    A change of its words changes no rule.
    """
    now = time.strftime(TIME, time.gmtime())
    same = dict(zip(rules.index, rules[JUDGED].itertuples(index=False), strict=True))
    written = dict.fromkeys(same, now)
    for when, text in versions(FILE):
        former = pd.read_csv(StringIO(text), keep_default_na=False, dtype=str)
        known = {*former.reindex(columns=JUDGED).itertuples(index=False)}
        same = {row: rule for row, rule in same.items() if rule in known}
        written |= dict.fromkeys(same, when)
    return written


def unlike_the_authors(profile: str) -> pd.DataFrame:
    """Fields of MoCoSE's runs that are neither the authors' nor their section's.

    One row per such field: section, label, field, value. The defaults of Config are
    the authors' settings. Encoder, rate, steps and text are ours, and FGSM is off.
    """
    usual, unlike = asdict(Config()), set()
    for name, section in SECTIONS.items():
        for label, _, record in records(section, profile):
            point = section.points[label]
            preset = PRESETS[point.get("preset", "study")]
            varied = {*OURS, *point, *section.common, *preset}
            fields = canonical(record["config"])
            if fields["method"] == "mocose":
                odd = [k for k in fields.keys() - varied if fields[k] != usual[k]]
                unlike |= {(name, label, field, str(fields[field])) for field in odd}
    return pd.DataFrame(sorted(unlike), columns=["section", "label", "field", "value"])
