"""What a section's runs say, in sentences: the answer at a notebook's top, the conclusion at its end.

Every number is computed from the verdicts and the runs of a grid, and every sentence can be
written with few runs or none.
"""

from collections import Counter

import pandas as pd
from IPython.display import Markdown

from mocose_study.claims.verdicts import (
    DECIDED,
    SEEDS_NEEDED,
    UNTESTABLE,
    WORDS,
    verdicts,
)
from mocose_study.config import PROFILES, choose, configure
from mocose_study.sections.claims import PAPERS
from mocose_study.sections.grid import Grid

from .show import blank
from .style import is_control
from .tables import LAST, METRIC, summary, table_of

COLUMNS = "text measure verdict effect low high n paper reason".split()
MEANING = {
    METRIC: "average of the test tasks",
    LAST: "average of the test tasks at the last step",
    "sts_dev": "score of the dev split",
    "outside_avg": "average of scored pairs outside the test tasks",
    "transfer_avg": "mean transfer accuracy",
    "transfer_dev_avg": "mean transfer accuracy on the dev parts",
    "nearness_l2 dev": "nearness to the best alignment and uniformity",
}


def verdict_table(grid: Grid, runs: pd.DataFrame) -> pd.DataFrame | Markdown:
    """What the runs say to each claim; *paper* is the paper's effect on the same *measure*."""
    found = verdicts_on(grid, runs)
    if isinstance(found, str):
        return Markdown(found)
    found["measure"] = found["metric"].map(meaning)
    return blank(found.set_index("id")[COLUMNS].round(2))


def meaning(metric: str) -> str:
    """What a column of the runs holds, in words."""
    return MEANING.get(metric, metric.replace("_", " "))


def verdicts_on(grid: Grid, runs: pd.DataFrame) -> pd.DataFrame | str:
    """The verdicts on a grid's claims, or a sentence that says why there are none."""
    if not len(runs) or not grid.claims:
        return (
            "No runs of this section yet."
            if grid.claims
            else "This section judges no claims."
        )
    profile = runs["profile"].iloc[0]
    if choose(PROFILES, profile, "profile").seeds < SEEDS_NEEDED:
        return f"Profile {profile} judges no claims: it has fewer than {SEEDS_NEEDED} seeds."
    return verdicts(grid.claims, runs, grid.control, grid.starts)


def answer(grids: list[Grid], profile: str, seeds=None) -> Markdown:
    """One paragraph per grid: its question, the verdicts counted, and what the runs show."""
    parts = [
        paragraph(*told, profile, brief=True) for told in _told(grids, profile, seeds)
    ]
    return Markdown("\n\n".join(parts))


def _told(grids: list[Grid], profile: str, seeds=None) -> list[tuple]:
    """Each grid with its runs and what they say to its claims."""
    tables = [(grid, table_of(grid, profile, seeds)) for grid in grids]
    return [(grid, runs, verdicts_on(grid, runs)) for grid, runs in tables]


def conclusion(
    grids: list[Grid], profile: str, seeds=None, second: str = "mini"
) -> Markdown:
    """Three sentences: what is decided first, all verdicts counted, and why it may differ.

    Below them, for each grid: what the paper says, what we see, and how sure we are. The
    grids with claims that are judged at the profile `second`, too, get a paragraph for it.
    """
    every = _told(grids, profile, seeds)
    parts = [paragraph(*told, profile, brief=False) for told in every]
    first = [_first([found for *_, found in every], profile)]
    every = _told(grids, second) if second != profile else []
    judged = [told for told in every if not isinstance(told[2], str)]
    others = [told for told in judged if told[2]["verdict"].ne("no runs").any()]
    parts += [
        f"*At {second}:* {paragraph(*told, second, brief=False)}" for told in others
    ]
    first += (
        [f"*At {second}:* {_first([found for *_, found in others], second)}"]
        if others
        else []
    )
    ours, paper = configure(profile), configure("base")
    made = [configure(profile, **grid.fields_at(profile)) for grid in grids]
    trained = " or ".join(
        f"{number:,}" for number in sorted({config.steps for config in made})
    )
    encoders = " or ".join(dict.fromkeys(config.encoder for config in made))
    why = (
        f"*Why it may differ from the paper:* the encoder is {encoders} (there "
        f"{paper.encoder}), trained for {trained} steps of {ours.batch_size} sentences (there "
        f"{paper.steps:,} of {paper.batch_size}) from the corpus {ours.corpus}."
    )
    shown = (
        "## What a reader should take away",
        *first,
        why,
        "### Section by section",
        *parts,
    )
    return Markdown("\n\n".join(filter(None, shown)))


def _first(found: list[pd.DataFrame | str], profile: str) -> str:
    """The leading claim of all these verdicts, and all of them counted; empty without claims."""
    tables = [table for table in found if not isinstance(table, str)]
    if not tables:
        return ""
    every = pd.concat(tables, ignore_index=True)
    return (
        f"{headline(leading(every))} All verdicts at {profile}: {tally(every)}.".strip()
    )


def paragraph(grid: Grid, runs: pd.DataFrame, found, profile: str, brief: bool) -> str:
    """The sentences on one grid, after its question; `found` is `verdicts_on` its runs."""
    question = f"**{grid.question}**"
    if not len(runs):
        return f"{question} No runs of this section at profile {profile} yet."
    metric, means = means_of(grid, runs)
    first, counted, against = "", found, ""
    if not isinstance(found, str):
        lead = leading(found)
        size = found[found["id"] == f"{lead['id']}-size"]
        first = f"{headline(lead)} {''.join(size['verdict'].map('Its size is {}.'.format))}".strip()
        against = opposed(found[found["id"] != lead["id"]])
        counted = f"Verdicts on its {len(found)} claims: {tally(found)}."
        if len(found) == 1:
            counted = (
                f"Its one claim is {lead['verdict']}." if brief or not first else ""
            )
    where, how_sure = (
        (spread(grid, metric, means), sure(means)) if len(means) > 1 else ("", "")
    )
    said = [counted, where] if brief else [first, counted, against, where, how_sure]
    return " ".join(filter(None, [question, *said]))


def leading(found: pd.DataFrame) -> pd.Series:
    """The claim to begin with: the first that is decided, better one of a direction than of a size,
    and better a paper's than ours; else the first one that has runs."""
    undecided, missing = ~found["verdict"].isin(DECIDED), found["verdict"].eq("no runs")
    ours = found["source"].eq(PAPERS["study"])
    return found.loc[
        (4 * undecided + 4 * missing + 2 * found["rule"].eq("Size") + ours).idxmin()
    ]


def headline(claim: pd.Series) -> str:
    """A claim, and what the runs say to it; empty where they say nothing."""
    if claim["verdict"] == "no runs":
        return ""
    ours = claim["source"] == PAPERS["study"]
    said = "A question of this study" if ours else f"{claim['source']}, in our words"
    here = "This is" if claim["verdict"] == UNTESTABLE else "Here this is"
    return f"{said}: {claim['text']} {here} {claim['verdict']}: {claim['reason']}."


def opposed(found: pd.DataFrame) -> str:
    """The claims of which the runs say the opposite: all of the interval lies beyond zero."""
    rows = found.query(
        "verdict == 'not supported' and rule != 'Equivalent' and high < 0"
    )
    pairs = zip(rows["text"], rows["effect"], strict=True)
    said = [f"{text.rstrip('.')} ({x:+.2g})" for text, x in pairs]
    return f"The runs say the opposite of: {'; '.join(said)}." if said else ""


def tally(found: pd.DataFrame, shown=str) -> str:
    """How many claims got which verdict; `shown` makes the text of a word."""
    counts = Counter(found["verdict"])
    return ", ".join(f"{counts[word]} {shown(word)}" for word in WORDS if counts[word])


def means_of(grid: Grid, runs: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The metric that most claims are about, and its `summary` by point, lowest first.

    The positive control, which is there to do harm, is left out.
    """
    metrics = Counter(claim.metric for claim in grid.claims if claim.metric in runs)
    metric = metrics.most_common(1)[0][0] if metrics else METRIC
    runs = runs[~runs["label"].map(is_control).astype(bool) & runs[metric].notna()]
    return metric, summary(runs, metric).sort_values("mean")


def spread(grid: Grid, metric: str, means: pd.DataFrame) -> str:
    """Between which points the means lie."""
    beside = (
        " beside the control" if any(is_control(p.label) for p in grid.points) else ""
    )
    low, high = means.iloc[0], means.iloc[-1]
    lie = f"lie between {low['mean']:.3g} ({low['label']}) and {high['mean']:.3g} ({high['label']})"
    if f"{low['mean']:.3g}" == f"{high['mean']:.3g}":
        lie = f"all lie at {low['mean']:.3g}"
    return f"By {meaning(metric)}, the {len(means)} points{beside} {lie}."


def sure(means: pd.DataFrame) -> str:
    """The half-width of the highest point's interval, and how many points lie within it."""
    highest, others = means.iloc[-1], len(means) - 1
    half = (highest["high"] - highest["low"]) / 2
    if not half > 0:
        return (
            "The highest one has no interval, since it has one seed or draws nothing."
        )
    near = (highest["mean"] - means["mean"] <= half).sum() - 1
    return (
        f"With {highest['n']:.0f} seeds the highest mean is known to ± {half:.2g} (95 %). "
        f"Others that lie as close to it: {near} of {others}."
    )
