"""Every branch of every rule on tiny hand-made frames, and the error rate of a whole section."""

import math

import numpy as np
import pandas as pd
import pytest

from mocose_lib import InputError
from mocose_study.claims.rules import Best, Better, Equivalent, Size
from mocose_study.claims.verdicts import Claim, verdicts

SEED_EFFECT = [
    0.0,
    3.0,
    -2.0,
    5.0,
    -4.0,
]  # what a lucky or unlucky seed does to every point
NOISE = [
    0.1,
    -0.1,
    0.2,
    -0.2,
    0.0,
]  # t interval of the mean: +- 2.776 x 0.158 / sqrt(5) = 0.196
HALF = 0.1963
WIDE = 5.0  # times the noise: the interval is +- 0.98
LEVEL_70 = [70 + s for s in SEED_EFFECT]


def frame(scores: dict, **columns) -> pd.DataFrame:
    """One run per point and seed; `scores` maps a label to one score per seed."""
    rows = [
        (label, *run) for label, values in scores.items() for run in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["label", "seed", "sts_avg"]).assign(**columns)


def shifted(base: float, spread: float = 1.0) -> list[float]:
    return [base + s + spread * e for s, e in zip(SEED_EFFECT, NOISE, strict=True)]


A, B, C = "a", "b", "c"
EQUIVALENT, SIZE = Equivalent(A, B, 0.5), Size(A, B, 20.0)


def claim(rule, id="c", **options) -> Claim:
    return Claim(id, "MoCoSE Table 3", "in our words", rule, **options)


def judged(rule, runs, control=None, **options) -> pd.Series:
    return verdicts([claim(rule, **options)], runs, control).iloc[0]


@pytest.mark.parametrize(
    ("rule", "difference", "word", "place"),
    [
        (Better(A, B, 0.5), 1.0, "supported", "all of the interval lies above 0.5"),
        (
            Better(A, B, 1.0),
            1.0,
            "inconclusive",
            "only part of the interval lies above 1",
        ),
        (Better(A, B), -1.0, "not supported", "no part of the interval lies above 0"),
        (Better(A, B, -0.6), -0.3, "supported", "above -0.6"),
        (EQUIVALENT, 0.25, "supported", "between -0.5 and 0.5"),
        (EQUIVALENT, 0.4, "inconclusive", "between -0.5 and 0.5"),
        (EQUIVALENT, -0.8, "not supported", "between -0.5 and 0.5"),
        (SIZE, 60.0, "supported", "above 10"),  # half of the paper's 20
        (SIZE, 10.3, "supported", "above 10"),
        (SIZE, 10.1, "inconclusive", "above 10"),
        (SIZE, 9.7, "not supported", "above 10"),
    ],
)
def test_where_the_interval_lies_decides(rule, difference, word, place):
    answer = judged(rule, frame({"a": shifted(70 + difference), "b": LEVEL_70}))
    assert answer.verdict == word and place in answer.reason
    ends = difference - HALF, difference + HALF
    assert (answer.low, answer.high) == pytest.approx(ends, abs=1e-3)
    assert (answer.n, answer.level) == (5, 0.95) and answer.p == answer.p_holm


def test_pairing_by_seed_decides():
    """The same scores dealt to other seeds hide the difference."""
    dealt = frame({"a": shifted(71)[::-1], "b": LEVEL_70})
    assert judged(Better(A, B), dealt).verdict == "inconclusive"
    more = frame({"a": [*shifted(71), 0.0, 0.0], "b": LEVEL_70})
    assert judged(Better(A, B), more).effect == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Equivalent(A, B, 0), "above 0, got 0"),
        (lambda: Size(A, B, -2.0), "above 0, got -2"),
        (lambda: Best(A, [A]), "no rival of a"),
        (lambda: Best(A, [B], -0.5), "0 or more, got -0.5"),
    ],
)
def test_rules_refuse_what_cannot_be_judged(make, says):
    with pytest.raises(InputError, match=says):
        make()


def best(b: float, c: float, **options) -> pd.Series:
    runs = frame({"a": LEVEL_70, "b": shifted(b), "c": shifted(c)})
    return judged(Best(A, [A, B, C], **options), runs)


def test_best_needs_to_beat_every_rival_and_is_refuted_by_one():
    answer = best(68, 69.5)
    assert answer.verdict == "supported" and answer.effect == pytest.approx(0.5)
    assert "“a” against “c” (the closest of 2 rivals)" in answer.reason
    assert best(68, 70).verdict == "inconclusive"  # not to lose is not enough
    answer = best(68, 71)
    assert answer.verdict == "not supported"
    assert (answer.effect, answer.level) == (pytest.approx(-1), 0.975)


def test_a_rival_refutes_at_the_level_corrected_for_their_number():
    """-0.22 +- 0.196 lies below 0 at 95 %, but not at the 97.5 % that two rivals ask for."""
    assert best(68, 70.22).verdict == "inconclusive"
    runs = frame({"a": LEVEL_70, "c": shifted(70.22)})
    assert judged(Better(A, C), runs).verdict == "not supported"


def test_best_among_equals_is_not_supported():
    """0 and 0.1, both +- 0.196, lie within half a point, and neither is a lead."""
    answer = best(69.9, 70, margin=0.5)
    assert answer.verdict == "not supported"
    assert (
        answer.reason.startswith("all alike: “a” against “c”")
        and "-0.5 and 0.5" in answer.reason
    )
    assert best(69.9, 70, margin=0.25).verdict == "inconclusive"  # 0.1 + 0.196 is more
    assert (
        best(69.7, 69.7, margin=0.5).verdict == "supported"
    )  # small, but a lead over both


@pytest.mark.parametrize("rule", [Better(A, B), EQUIVALENT, Best(A, [B, C]), SIZE])
def test_without_runs_or_with_fewer_than_five_seeds_nothing_is_decided(rule):
    answer = judged(rule, frame({"a": LEVEL_70}))
    assert answer.verdict == "no runs" and answer.n == 0 and math.isnan(answer.p)
    assert answer.reason.startswith("no runs for b")
    assert judged(rule, pd.DataFrame()).verdict == "no runs"
    other = judged(rule, frame({"a": LEVEL_70}), metric="STS12 test all")
    assert other.reason == "no run has the score 'STS12 test all'"
    for n in (1, 4):
        runs = frame({"a": LEVEL_70[:n], "b": shifted(30)[:n], "c": shifted(30)[:n]})
        answer = judged(rule, runs, effect=0.001)
        assert (answer.verdict, answer.n) == ("inconclusive", n)
        assert answer.reason.endswith(f": {n} seeds, 5 are needed")


def test_what_cannot_be_compared_is_named():
    answer = judged(
        Better(A, B), frame({"a": [*LEVEL_70, 70.0], "b": [*LEVEL_70, math.nan]})
    )
    assert answer.verdict == "inconclusive"
    assert answer.reason == "sts_avg is no number for b, seeds [5]"
    runs = frame({"a": LEVEL_70, "b": LEVEL_70})
    with pytest.raises(InputError, match="a fits several runs of one seed"):
        judged(Better(A, B), pd.concat([runs, runs]))
    with pytest.raises(InputError, match="several claims have the id c"):
        verdicts([claim(Better(A, B)), claim(Better(B, A))], runs)


# not testable here


def test_without_its_positive_control_a_section_judges_nothing():
    runs = frame({"a": shifted(71), "b": LEVEL_70, "harm": shifted(64)})
    assert judged(Better(A, B), runs, Better(B, "harm", 5)).verdict == "supported"
    answer = judged(Better(A, B), runs, Better(B, "harm", 7))
    assert answer.verdict == "not testable here"
    shows_not = "the section's positive control does not show: “b” against “harm”: +6"
    assert answer.reason.startswith(shows_not)
    assert judged(Better(A, C), runs, Better(B, "harm", 7)).verdict == "no runs"
    for control, why in (
        (Better(B, "gone", 5), "no runs for gone"),
        (Better(B, "few", 5), "4 seeds"),
    ):
        few = frame({"few": shifted(64)[:4]})
        missing = judged(Better(A, B), pd.concat([runs, few]), control)
        assert missing.verdict == "inconclusive" and why in missing.reason
        assert missing.reason.startswith(
            "the section's positive control has too few seeds"
        )


def test_the_control_is_judged_at_the_last_step():
    """The choice on dev hides the harm: the average says 70, the last step 50."""
    runs = frame({"a": shifted(71), "b": LEVEL_70, "harm": shifted(70)})
    control = Better(B, "harm", 5)
    assert judged(Better(A, B), runs, control).verdict == "not testable here"
    runs["sts_last"] = runs["sts_avg"] - 20.0 * (runs["label"] == "harm")
    assert judged(Better(A, B), runs, control).verdict == "supported"


@pytest.mark.parametrize(
    ("difference", "effect", "word"),
    [
        (
            0.1,
            0.4,
            "not testable here",
        ),  # 0.98 is more than 0.4, and the interval holds 0
        (0.1, -0.4, "not testable here"),  # whatever the sign of the paper's figure
        (0.1, 1.0, "inconclusive"),
        (0.1, None, "inconclusive"),
        (1.2, 0.4, "supported"),  # a decided verdict stays, for the claim
        (-1.2, 0.4, "not supported"),  # and against it
    ],
)
def test_what_these_runs_could_not_see_is_not_testable(difference, effect, word):
    runs = frame({"a": shifted(70 + difference, WIDE), "b": LEVEL_70})
    answer = judged(Better(A, B), runs, effect=effect)
    assert answer.verdict == word
    if word == "not testable here":
        assert answer.reason == (
            "“a” against “b”: +0.10 (95 % interval -0.88 to +1.08, 5 seeds); only part of the "
            "interval lies above 0; half of the interval, 0.98, exceeds the paper's effect, 0.4"
        )


def test_alike_or_equivalent_within_too_fine_a_margin_is_not_testable():
    runs = frame({"a": LEVEL_70, "b": shifted(70), "c": shifted(70)})
    rule = Best(A, [B, C], margin=0.5)
    unseen = judged(rule, runs, effect=0.15)
    assert unseen.reason == (
        "all alike: “a” against “b” (the closest of 2 rivals): +0.00 (95 % interval -0.20 to "
        "+0.20, 5 seeds); all of the interval lies between -0.5 and 0.5; half of the interval, "
        "0.2, exceeds the paper's effect, 0.15"
    )
    assert judged(rule, runs, effect=0.3).reason.startswith("all alike")
    runs = frame({"a": shifted(70, WIDE), "b": LEVEL_70})
    answer = judged(EQUIVALENT, runs, effect=5.0)
    assert answer.reason == (
        "“a” against “b”: +0.00 (95 % interval -0.98 to +0.98, 5 seeds); only part of the "
        "interval lies between -0.5 and 0.5; half of the interval, 0.98, exceeds the margin, 0.5"
    )


def test_an_open_direction_may_still_rule_out_the_papers_size():
    runs = frame({"a": shifted(70 - 0.5, WIDE), "b": LEVEL_70})  # -0.5 +- 0.98
    open_too = judged(Better(A, B), runs, effect=0.6)
    assert open_too.verdict == "not testable here"
    assert open_too.reason.endswith("; all of the interval lies below the paper's 0.6")
    assert "all of the" not in judged(Better(A, B), runs, effect=0.4).reason


def test_a_best_that_is_left_open_names_its_strongest_rival_too():
    runs = frame({"a": LEVEL_70, "b": shifted(69.9, WIDE), "c": shifted(70.1)})
    answer = judged(Best(A, [B, C]), runs)
    assert (
        answer.verdict == "inconclusive"
    )  # b's interval reaches lowest, c is ahead on average
    assert answer.reason == (
        "“a” against “b”: +0.10 (95 % interval -0.88 to +1.08, 5 seeds); only part of the "
        "interval lies above 0; “a” against “c”: -0.10"
    )


def test_a_rival_that_does_not_work_decides_nothing():
    runs = frame(
        {"a": shifted(71), "b": LEVEL_70, "start": shifted(72), "low": shifted(69)}
    )

    def beats(a, b, start) -> pd.Series:
        return verdicts([claim(Better(a, b))], runs, starts={b: start}).iloc[0]

    answer = beats(A, B, "start")
    assert answer.verdict == "not testable here"
    assert answer.reason.startswith(
        "“b” is no fair rival: it lies 2 below its start, “start”; “a”"
    )
    assert beats(A, B, "low").verdict == "supported"
    lost = beats(B, A, "start")
    assert (
        lost.verdict == "not supported"
        and "“a” is no fair rival: it lies 1" in lost.reason
    )
    assert beats(A, B, "gone").verdict == "no runs"
    refuted = verdicts([claim(Better(B, A))], runs, starts={"b": "start"}).iloc[0]
    assert (
        refuted.verdict == "not testable here"
    )  # that b loses tells nothing of "b beats a"


def test_a_setting_of_one_system_and_the_start_itself_are_no_rivals():
    runs = frame({"a": shifted(71), "b": LEVEL_70, "start": shifted(72)})
    harm = runs.assign(method="mocose")
    assert (
        verdicts([claim(Better(A, B))], harm, starts={"b": "start"}).iloc[0].verdict
        == "supported"
    )
    gain = verdicts([claim(Better(A, "start"))], runs, starts={"a": "start"}).iloc[0]
    assert gain.verdict == "not supported"


def test_an_open_superlative_shows_the_interval_that_left_it_open():
    """One rival wins at 95 %, but it is one of two, each of which could win by chance."""
    lost = [
        x - 1 + 0.72 * z
        for x, z in zip(LEVEL_70, (-1.26, -0.63, 0, 0.63, 1.26), strict=True)
    ]
    answer = judged(
        Best(A, [B, C]), frame({"a": lost, "b": LEVEL_70, "c": shifted(60)})
    )
    assert answer.verdict == "inconclusive" and answer.level == pytest.approx(0.975)
    assert answer.low < 0 < answer.high and "only part" in answer.reason


# points that draw nothing


def with_pairs(runs: pd.DataFrame, **draws) -> pd.DataFrame:
    """Runs with values on resampled test pairs: of each point its mean and these deviations."""
    means = runs.groupby("label")["sts_avg"].transform("mean")
    values = [
        [m + d for d in draws[label]]
        for m, label in zip(means, runs["label"], strict=True)
    ]
    return runs.assign(resampled=values)


def test_two_fixed_points_have_the_interval_of_the_test_pairs():
    # deviations of a - b: 1 and -1, standard deviation sqrt(2); 1.96 x 1.414 = 2.772
    runs = frame({"a": [73.0] * 2, "b": [70.0] * 2})
    answer = judged(Better(A, B), with_pairs(runs, a=[0.5, -0.5], b=[-0.5, 0.5]))
    assert (answer.low, answer.high) == pytest.approx((3 - 2.772, 3 + 2.772), abs=1e-3)
    assert (
        answer.verdict == "supported"
        and "no seeds drawn, test pairs resampled" in answer.reason
    )
    # two-sided p of 3 / 1.414 = 2.121 under the normal: 0.0339
    assert answer.p == pytest.approx(0.0339, abs=1e-4)
    answer = judged(Better(A, B), runs)
    assert answer.verdict == "not testable here" and answer.effect == 3
    assert answer.reason.startswith(
        "“a” against “b”: neither draws anything, and no test pairs"
    )


def test_one_seed_stands_for_all_where_the_method_draws_nothing():
    fixed = frame({"b": [70.0]}, method="word_counts")
    runs = pd.concat(
        [frame({"a": [73.1, 72.9, 73.2, 72.8, 73.0]}, method="mocose"), fixed]
    )
    answer = judged(Better(A, B), runs)
    assert (answer.verdict, answer.n, answer.effect) == (
        "supported",
        5,
        pytest.approx(3.0),
    )


@pytest.mark.parametrize(
    ("pairs", "half"),
    [
        (
            0.01,
            2.6955 * math.sqrt(0.0052),
        ),  # variances 0.005 and 0.0002; t(0.975, 4.326 d.f.)
        (
            1.0,
            1.96 * math.sqrt(2.005),
        ),  # 0.005 and 2; so many degrees of freedom as if normal
    ],
)
def test_where_one_side_draws_the_variances_of_seeds_and_test_pairs_add_up(pairs, half):
    scores = {"a": [73 + e for e in NOISE], "b": [70.0] * 5}
    runs = with_pairs(frame(scores), a=[pairs, -pairs], b=[0.0, 0.0])
    answer = judged(Better(A, B), runs)
    assert (answer.high - answer.low) / 2 == pytest.approx(half, abs=1e-3)


# a section


def section(**differences):
    """A section of Better claims, a point apiece, each against the point "base"."""
    values = {id: shifted(70 + d) for id, d in differences.items()}
    claims = [claim(Better(id, "base"), id) for id in differences]
    return claims, frame({"base": LEVEL_70} | values)


def test_holm_widens_the_intervals_of_a_section_and_steps_down():
    """0.22 +- 0.196 alone is above 0; beside two that stay open it is tested at 1 - 0.05 / 3; two
    clear claims leave the whole 0.05 to it, so that it is supported again."""
    claims, runs = section(a=0.22, b=0.0, c=0.05)
    assert verdicts(claims[:1], runs)["verdict"].item() == "supported"
    table = verdicts(claims, runs)
    assert list(table["verdict"]) == ["inconclusive"] * 3
    assert table["level"].to_list() == pytest.approx([1 - 0.05 / 3] * 3)
    table = verdicts(*section(a=0.22, b=3.0, c=-3.0))
    assert list(table["verdict"]) == ["supported", "supported", "not supported"]
    assert table["level"].to_list() == pytest.approx([0.95, 1 - 0.05 / 3, 1 - 0.05 / 3])
    assert (table["p_holm"] < 0.05).all()


def test_a_claim_without_runs_counts_in_the_family():
    claims, runs = section(a=3.0, b=2.0)
    claims.append(claim(Better("gone", "base"), "gone"))
    table = verdicts(claims, runs).set_index("id")
    assert table.loc["a", "p_holm"] == pytest.approx(3 * table.loc["a", "p"])
    assert (
        math.isnan(table.loc["gone", "p_holm"])
        and table.loc["a", "verdict"] == "supported"
    )


def test_a_section_errs_in_five_per_cent_of_studies():
    """Four claims without any truth in them: as single claims they would err in 1 - 0.95**4."""
    rng = np.random.default_rng(0)
    claims = [claim(Better(f"a{i}", f"b{i}"), str(i)) for i in range(4)]
    runs = frame({f"{side}{i}": [0.0] * 5 for side in "ab" for i in range(4)})
    wrong = 0
    for _ in range(100):
        runs["sts_avg"] = rng.normal(size=len(runs))
        wrong += verdicts(claims, runs)["verdict"].ne("inconclusive").any()
    assert wrong / 100 <= 0.09  # 5 % and two standard errors
