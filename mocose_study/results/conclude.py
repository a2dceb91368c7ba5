"""What a section's runs say, in sentences: the answer at a notebook's top, the conclusion at its end.

Every number is computed from the verdicts and the runs of a grid, and every sentence can be
written with few runs or none.
"""

from collections import Counter

import pandas as pd
from IPython.display import Markdown

from mocose_study.claims.verdicts import SEEDS_NEEDED, UNTESTABLE, WORDS, verdicts
from mocose_study.config import PROFILES, choose, configure
from mocose_study.sections.claims import PAPERS
from mocose_study.sections.grid import HARMFUL, Grid

from .show import blank
from .tables import LAST, METRIC, summary, table_of

COLUMNS = "text verdict effect low high n paper measure reason".split()
MEANING = {
    METRIC: "average of the test tasks",
    LAST: "average of the test tasks at the last step",
    "sts_dev": "score of the dev split",
    "transfer_avg": "mean transfer accuracy",
}


def verdict_table(grid: Grid, runs: pd.DataFrame) -> pd.DataFrame | Markdown:
    """What the runs say to each claim; *measure* is what the effect is a difference of, *paper* the
    paper's effect."""
    found = verdicts_on(grid, runs)
    if isinstance(found, str):
        return Markdown(found)
    found["measure"] = found["metric"].map(lambda metric: MEANING.get(metric, metric))
    return blank(found.set_index("id")[COLUMNS].round(2))


def verdicts_on(grid: Grid, runs: pd.DataFrame) -> pd.DataFrame | str:
    """The verdicts on a grid's claims, or a sentence that says why there are none."""
    if not len(runs) or not grid.claims:
        return "No runs of this section yet." if grid.claims else "This section judges no claims."
    profile = runs["profile"].iloc[0]
    if choose(PROFILES, profile, "profile").seeds < SEEDS_NEEDED:
        return f"Profile {profile} judges no claims: it has fewer than {SEEDS_NEEDED} seeds."
    return verdicts(grid.claims, runs, grid.control, grid.starts)


def answer(grids: list[Grid], profile: str, seeds=None) -> Markdown:
    """One paragraph per grid: its question, the verdicts counted, and what the runs show."""
    return Markdown("\n\n".join(paragraph(grid, profile, seeds, brief=True) for grid in grids))


def conclusion(grids: list[Grid], profile: str, seeds=None) -> Markdown:
    """What the papers say, what we see, how sure we are, and why it may differ."""
    parts = [paragraph(grid, profile, seeds, brief=False) for grid in grids]
    ours, paper = configure(profile), configure("base")
    made = [configure(profile, **grid.fields_at(profile)) for grid in grids]
    trained = " or ".join(f"{number:,}" for number in sorted({config.steps for config in made}))
    encoders = " or ".join(dict.fromkeys(config.encoder for config in made))
    why = (
        f"*Why it may differ from the paper:* the encoder is {encoders} (there "
        f"{paper.encoder}), trained for {trained} steps of {ours.batch_size} sentences (there "
        f"{paper.steps:,} of {paper.batch_size}) from the corpus {ours.corpus}."
    )
    return Markdown("\n\n".join(["## What a reader should take away", *parts, why]))


def paragraph(grid: Grid, profile: str, seeds, brief: bool) -> str:
    """The sentences on one grid, after its question."""
    runs, question = table_of(grid, profile, seeds), f"**{grid.question}**"
    if not len(runs):
        return f"{question} No runs of this section at profile {profile} yet."
    found, (metric, means) = verdicts_on(grid, runs), means_of(grid, runs)
    first, counted, against = "", found, ""
    if not isinstance(found, str):
        first, against = headline(found), opposed(found)
        counted = f"Verdicts on its claims: {tally(found)}."
    where, how_sure = (spread(metric, means), sure(means)) if len(means) > 1 else ("", "")
    said = [counted, where] if brief else [first, counted, against, where, how_sure]
    return " ".join(filter(None, [question, *said]))


def headline(found: pd.DataFrame) -> str:
    """The section's first claim, and what the runs say to it."""
    first = found.iloc[0]
    ours = first["source"] == PAPERS["study"]
    said = "We asked whether this holds" if ours else f"{first['source']} says"
    here = "This is" if first["verdict"] == UNTESTABLE else "Here this is"
    answer = f"{first['verdict']} ({first['reason']})"
    return f"{said}: “{first['text']}” {here} {answer}."


def opposed(found: pd.DataFrame) -> str:
    """The claims after the first of which the runs say the opposite: all of the interval lies on
    the other side of zero."""
    rows = found[1:].query("verdict == 'not supported' and rule != 'Equivalent' and high < 0")
    pairs = zip(rows["text"], rows["effect"], strict=True)
    said = [f"“{text}” ({x:+.2g})" for text, x in pairs]
    return f"The runs say the opposite of {', and of '.join(said)}." if said else ""


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
    runs = runs[~runs["label"].isin(HARMFUL) & runs[metric].notna()]
    return metric, summary(runs, "label", metric).sort_values("mean")


def spread(metric: str, means: pd.DataFrame) -> str:
    """Between which points the means lie."""
    low, high = means.iloc[0], means.iloc[-1]
    return (
        f"By {MEANING.get(metric, metric)}, the {len(means)} points lie between "
        f"{low['mean']:.3g} ({low['label']}) and {high['mean']:.3g} ({high['label']})."
    )


def sure(means: pd.DataFrame) -> str:
    """The half-width of a point's interval, and how many points lie within it of the highest."""
    drawn = means[means["n"] > 1]
    half = ((drawn["high"] - drawn["low"]) / 2).median()
    if not half > 0:
        return "There is no interval, since each point has one seed or draws nothing."
    near = (means["mean"].max() - means["mean"] <= half).sum() - 1
    seeds = " to ".join(dict.fromkeys(f"{n:.0f}" for n in (drawn["n"].min(), drawn["n"].max())))
    return (
        f"With {seeds} seeds the mean of a point is known to ± {half:.2g} (95 %); "
        f"{near} of the other {len(means) - 1} points lie that close to the highest one."
    )
