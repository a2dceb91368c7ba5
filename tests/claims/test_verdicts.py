"""Verdicts on runs made by hand: each rule's three words, and Holm's step-down."""

import math

import numpy as np
import pandas as pd
import pytest

from mocose_study.claims import verdicts as rules
from mocose_study.claims.stats import POWER, interval, with_power
from mocose_study.claims.verdicts import NO_RUNS, STREAMS, Claim, has_range, judge
from mocose_study.config import InputError

# of five seeds: variance 0.025, standard error 0.0707, t(0.975, 4) = 2.776: 0.196;
# with t(0.8, 4) = 0.941 beside it 0.263
NOISE, HALF, SEEN = (-0.2, -0.1, 0.0, 0.1, 0.2), 0.1963, 0.2628


def frame(fixed=False, streams="same", noise=NOISE, **means) -> pd.DataFrame:
    """Runs of points a, b, ...: b is level with its mean, the others have the noise."""
    shared = dict.fromkeys(STREAMS, streams) | {"fixed": fixed}
    return pd.DataFrame(
        {"label": x, "seed": seed, "sts_avg": mean + e * (x != "b"), **shared}
        for x, mean in means.items()
        for seed, e in enumerate(noise)
    )


def claim(rule="better", margin=0.0, a="a", b=("b",), id="x", **more) -> Claim:
    return Claim(id, "MoCoSE", "Table 1", "", "a is ahead", rule, a, b, margin, **more)


def word(rule: str, margin: float, **means) -> str:
    rivals = tuple(means.keys() - {"a"})
    return judge(claim(rule, margin, b=rivals), frame(**means)).word


@pytest.mark.parametrize(
    ("rule", "margin", "lead", "expected"),
    [
        ("better", 0.0, 0.25, "supported"),
        ("better", 0.0, 0.15, "open"),
        ("better", 0.0, -0.25, "contradicted"),
        ("better", 0.5, 0.75, "supported"),
        ("better", 0.5, 0.6, "open"),
        ("better", 0.5, 0.25, "open"),  # ahead, but by less than the margin
        ("better", 0.5, -0.25, "contradicted"),
        ("better", -0.5, -0.25, "supported"),  # not worse by more than a half
        ("better", -0.5, -0.4, "open"),
        ("better", -0.5, -0.75, "contradicted"),
        ("equivalent", 0.5, 0.25, "supported"),
        ("equivalent", 0.5, 0.4, "open"),
        ("equivalent", 0.5, 0.75, "contradicted"),
        ("equivalent", 0.5, -0.75, "contradicted"),
        ("best", 0.5, -0.25, "supported"),
        ("best", 0.5, -0.75, "contradicted"),
        ("best", 0.1, -0.15, "open"),
    ],
)
def test_a_word_says_where_the_interval_lies(rule, margin, lead, expected):
    assert word(rule, margin, a=70 + lead, b=70) == expected


def test_best_asks_something_of_each_rival_and_names_the_nearest():
    runs = frame(a=70, b=69, c=69.6, d=60)
    verdict = judge(claim("best", 0.5, b=("b", "c", "d")), runs)
    assert verdict.word == "supported" and verdict.reason == "best rival: c"
    assert verdict.effect == pytest.approx(0.4)
    assert word("best", 0.5, a=70, b=69, c=70.6) == "contradicted"


def test_the_rival_that_decides_is_shown():
    """c leads by more in the mean, but by one odd seed; b leads surely."""
    runs = frame(a=70, b=70.3, c=70)
    runs.loc[runs["label"] == "c", "sts_avg"] = [69.8, 69.9, 75.0, 70.1, 70.2]
    verdict = judge(claim("best", b=("b", "c")), runs)
    assert (verdict.word, verdict.reason) == ("contradicted", "best rival: b")
    assert verdict.effect == pytest.approx(-0.3) and verdict.high < 0


def test_that_one_of_many_rivals_is_ahead_may_be_luck():
    """b leads by 0.25 +- 0.196; corrected for two rivals 0.247, for three 0.280."""
    means = {"a": 70, "b": 70.25, "c": 60, "d": 60}
    rivals, runs = ("b", "c", "d"), frame(**means)
    assert judge(claim("best", b=rivals[:1]), runs).word == "contradicted"
    assert judge(claim("best", b=rivals[:2]), runs).word == "contradicted"
    assert judge(claim("best", b=rivals), runs).word == "open"


def test_a_verdict_has_the_figures_behind_it():
    x = judge(claim(margin=0.5), frame(a=71, b=70))
    assert (x.effect, x.low, x.high) == pytest.approx((1, 1 - HALF, 1 + HALF), abs=1e-4)
    assert x.n == 5 and x.smallest == pytest.approx(0.5 + SEEN, abs=1e-4)
    x = judge(claim(margin=-0.5), frame(a=71, b=70))
    assert x.smallest == pytest.approx(SEEN, abs=1e-4)
    assert judge(claim(margin=5.0), frame(a=71, b=70)).reason == "below the margin of 5"


def test_an_effect_of_that_size_shows_in_four_of_five_studies():
    studies = np.random.default_rng(0).normal(size=(4000, 10))
    size = np.mean([interval(x).half for x in studies]) * with_power(10)
    shown = np.mean([interval(x + size).low > 0 for x in studies])
    assert shown == pytest.approx(POWER, abs=0.03)


def test_other_streams_are_not_paired():
    """a and c share their noise: paired, it vanishes; by Welch it does not."""
    runs = frame(a=70.1, c=70)
    assert judge(claim(b=("c",)), runs).word == "supported"
    runs.loc[runs["label"] == "c", "method"] = "simcse"
    assert judge(claim(b=("c",)), runs).word == "open"


def test_four_seeds_decide_nothing():
    verdict = judge(claim(), frame(noise=NOISE[:4], a=90, b=70))
    assert (verdict.word, verdict.reason) == ("open", "4 of 5 seeds")
    assert verdict.effect == pytest.approx(19.95) and verdict.n == 4


def test_what_draws_nothing_needs_one_seed():
    fixed = frame(fixed=True, noise=[0.0], b=70, c=69)
    runs = pd.concat([fixed, frame(a=71)])
    assert judge(claim(a="b", b=("c",)), runs).word == "supported"
    x = judge(claim(), runs)
    assert (x.word, x.n) == ("supported", 5)
    assert (x.high - x.low) / 2 == pytest.approx(HALF, abs=1e-4)


def test_runs_that_lack_or_are_no_number_are_told():
    runs = frame(a=71, b=70)
    gone = judge(claim(b=("gone",)), runs)
    assert (gone.word, gone.reason) == (NO_RUNS, "no runs of gone")
    assert judge(claim(metric="none"), runs).word == NO_RUNS
    assert judge(claim(), pd.DataFrame(columns=["label", "seed"])).word == NO_RUNS
    runs.loc[2, "sts_avg"] = math.nan
    x = judge(claim(), runs)
    assert x.word == "open" and x.reason == "sts_avg is no number for a, seeds [2]"
    with pytest.raises(InputError, match="a has several runs of one seed"):
        judge(claim(), pd.concat([runs, runs]))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"rule": "worse"}, "there is no rule 'worse'"),
        ({"rule": "best", "margin": -0.5}, "best needs a margin of 0 or more"),
        ({"rule": "equivalent", "margin": math.nan}, "needs a margin of 0 or more"),
        ({"b": ("b", "c")}, "better has 2 rivals"),
        ({"b": ()}, "better has 0 rivals"),
    ],
)
def test_a_rule_that_cannot_be_is_one_sentence(fields, sentence):
    with pytest.raises(InputError, match=f"claim x: .*{sentence}"):
        claim(**fields)


def test_holm_widens_the_intervals_of_a_section_and_steps_down():
    """0.22 against halves of 0.196 alone, 0.247 beside one other, 0.280 beside two."""

    def word_of_first(*others: float) -> str:
        means = dict(zip("acd", (70.22, *(70 + x for x in others)), strict=False))
        claims = [claim(a=label, id=label) for label in means]
        return rules.verdicts(claims, frame(**means, b=70))["a"].word

    assert word_of_first() == "supported"
    assert word_of_first(0.0, 0.05) == "open"
    assert word_of_first(3.0, 0.0) == "open"
    assert word_of_first(3.0, -3.0) == "supported"  # both decided: all is left to it


def test_a_claim_without_runs_counts_in_the_family():
    told = rules.verdicts([claim(), claim(a="gone", id="gone")], frame(a=70.22, b=70))
    assert [told[x].word for x in ("x", "gone")] == ["open", NO_RUNS]
    assert rules.verdicts([], frame(a=70)) == {}


def test_a_section_has_range_where_the_known_harm_shows():
    control, runs = claim(margin=5.0), frame(a=80, b=70)
    assert has_range(control, runs) == has_range(None, runs) == ""
    assert has_range(control, runs[:0]) == "the known harm has no runs"
    told = has_range(control, frame(a=73, b=70))
    assert told.endswith("is too small here: a against b, 3.0 [2.8, 3.2]")
