"""Every branch of every rule on tiny hand-made frames, and the error rate of a whole section."""

import math

import numpy as np
import pandas as pd
import pytest

from mocose_study.claims.verdicts import Claim, verdict, verdicts
from mocose_study.config import InputError
from mocose_study.claims.rules import Above, Below, Best, Better, Equivalent, Trend

SEED_EFFECT = [0.0, 3.0, -2.0, 5.0, -4.0]  # what a lucky or unlucky seed does to every point
NOISE = [0.1, -0.1, 0.2, -0.2, 0.0]  # t interval of the mean: +- 2.776 x 0.158 / sqrt(5) = 0.196
HALF = 0.1963


def frame(scores: dict, field="ema_decay", **columns) -> pd.DataFrame:
    """One run per point and seed; `scores` maps a field's value to one score per seed."""
    rows = [
        {"run_id": f"{value}-{seed}", field: value, "seed": seed, "sts_avg": score, **columns}
        for value, per_seed in scores.items()
        for seed, score in enumerate(per_seed)
    ]
    return pd.DataFrame(rows)


def shifted(base: float, spread: float = 1.0) -> list[float]:
    return [base + s + spread * e for s, e in zip(SEED_EFFECT, NOISE, strict=True)]


def claim(rule, id="c", **options) -> Claim:
    return Claim(id, "MoCoSE Table 3", "in our words", rule, **options)


def at(value) -> dict:
    return {"ema_decay": value}


LEVEL_70 = [70 + s for s in SEED_EFFECT]


@pytest.mark.parametrize(
    ("difference", "margin", "word", "place"),
    [
        (1.0, 0.0, "supported", "all of the interval lies above 0"),
        (1.0, 0.5, "supported", "above 0.5"),
        (1.0, 1.0, "inconclusive", "only part of the interval lies above 1"),
        (0.1, 0.0, "inconclusive", "only part"),
        (1.0, 1.5, "not supported", "no part of the interval lies above 1.5"),
        (-1.0, 0.0, "not supported", "no part"),
        (-0.3, -0.6, "supported", "above -0.6"),
    ],
)
def test_better(difference, margin, word, place):
    runs = frame({0.85: shifted(70 + difference), 0.99: LEVEL_70})
    answer = verdict(claim(Better(at(0.85), at(0.99), margin)), runs)
    assert answer.verdict == word and place in answer.reason
    assert answer.effect == pytest.approx(difference)
    assert (answer.low, answer.high) == pytest.approx(
        (difference - HALF, difference + HALF), abs=1e-3
    )
    assert (answer.n, answer.level, answer.p_holm) == (5, 0.95, answer.p)


def test_the_reason_gives_the_figures():
    runs = frame({0.85: shifted(71), 0.99: LEVEL_70})
    assert verdict(claim(Better(at(0.85), at(0.99))), runs).reason == (
        "ema_decay=0.85 minus ema_decay=0.99: 1, 95 % interval 0.8037 to 1.196, n = 5 seeds; "
        "all of the interval lies above 0"
    )


def test_pairing_by_seed_decides():
    """The same scores dealt to other seeds hide the difference; the order of rows does not."""
    good, runs = at(0.85), frame({0.85: shifted(71), 0.99: LEVEL_70})
    rule = claim(Better(good, at(0.99)))
    assert verdict(rule, runs).verdict == "supported"
    assert verdict(rule, runs.sample(frac=1, random_state=0)) == verdict(rule, runs)
    dealt = frame({0.85: shifted(71)[::-1], 0.99: LEVEL_70})
    assert verdict(rule, dealt).verdict == "inconclusive"


def test_only_common_seeds_are_paired():
    runs = frame({0.85: [*shifted(71), 0.0, 0.0], 0.99: LEVEL_70})
    answer = verdict(claim(Better(at(0.85), at(0.99))), runs)
    assert (answer.n, answer.effect) == (5, pytest.approx(1.0))


def test_equal_runs_are_not_better_and_are_equivalent():
    runs = frame({0.85: LEVEL_70, 0.99: LEVEL_70})
    better = verdict(claim(Better(at(0.85), at(0.99))), runs)
    assert (better.verdict, better.effect, better.p) == ("not supported", 0, 1)
    assert verdict(claim(Equivalent(at(0.85), at(0.99), 0.1)), runs).verdict == "supported"


@pytest.mark.parametrize(
    ("difference", "word"),
    [
        (0.0, "supported"),
        (0.25, "supported"),
        (0.4, "inconclusive"),
        (-0.6, "inconclusive"),
        (0.8, "not supported"),
        (-0.8, "not supported"),
    ],
)
def test_equivalent(difference, word):
    runs = frame({0.85: shifted(70 + difference), 0.99: LEVEL_70})
    answer = verdict(claim(Equivalent(at(0.85), at(0.99), margin=0.5)), runs)
    assert answer.verdict == word and "between -0.5 and 0.5" in answer.reason


GRID = [at(0.5), at(0.85), at(0.99)]


def best(scores: dict, **options):
    return verdict(claim(Best(at(0.85), among=GRID, **options)), frame(scores))


def test_best_needs_to_beat_every_rival():
    answer = best({0.5: shifted(68), 0.85: LEVEL_70, 0.99: shifted(69.5)})
    assert answer.verdict == "supported"
    assert answer.effect == pytest.approx(0.5)  # the closer rival
    assert "minus ema_decay=0.99 (the closest of 2 rivals)" in answer.reason
    assert answer.p == 2 / 32


def test_best_is_inconclusive_beside_an_equal():
    answer = best({0.5: shifted(68), 0.85: LEVEL_70, 0.99: shifted(70)})
    assert answer.verdict == "inconclusive" and "minus ema_decay=0.99:" in answer.reason


def test_best_is_refuted_by_one_better_rival():
    answer = best({0.5: shifted(68), 0.85: LEVEL_70, 0.99: shifted(71)})
    assert answer.verdict == "not supported"
    assert (answer.effect, answer.level) == (pytest.approx(-1), 0.975)
    assert answer.p == 2 * 2 / 32


def test_a_rival_refutes_at_the_level_corrected_for_their_number():
    """-0.22 +- 0.196 lies below 0 at 95 %, but not at the 97.5 % that two rivals ask for."""
    scores = {0.5: shifted(68), 0.85: LEVEL_70, 0.99: shifted(70.22)}
    assert best(scores).verdict == "inconclusive"
    assert verdict(claim(Better(at(0.85), at(0.99))), frame(scores)).verdict == "not supported"


def test_best_with_a_margin():
    scores = {0.5: shifted(68), 0.85: LEVEL_70, 0.99: shifted(70)}
    assert best(scores, margin=-0.5).verdict == "supported"  # nothing is better by 0.5
    assert best(scores, margin=0.5).verdict == "not supported"


def test_best_ignores_itself_and_needs_a_rival():
    assert Best(at(0.85), GRID).rivals == [at(0.5), at(0.99)]
    with pytest.raises(InputError, match=r"no rival of ema_decay=0\.85"):
        Best(at(0.85), [at(0.85)])


@pytest.mark.parametrize(
    ("mean", "below", "above"),
    [
        (10.0, "supported", "not supported"),
        (20.1, "inconclusive", "inconclusive"),
        (30.0, "not supported", "supported"),
    ],
)
def test_below_and_above(mean, below, above):
    runs = frame({0.0: [mean + e for e in NOISE]})
    assert verdict(claim(Below(at(0.0), 20)), runs).verdict == below
    assert verdict(claim(Above(at(0.0), 20)), runs).verdict == above
    assert "lies below 20" in verdict(claim(Below(at(0.0), 20)), runs).reason


def test_trend():
    rising = {0.5: shifted(68), 0.85: LEVEL_70, 0.99: shifted(72)}
    up, down = claim(Trend("ema_decay", GRID, 1)), claim(Trend("ema_decay", GRID, -1))
    answer = verdict(up, frame(rising))
    assert (answer.verdict, answer.effect, answer.p) == ("supported", 1, 2 / 32)
    assert verdict(down, frame(rising)).verdict == "not supported"
    mixed = frame({0.5: [1, 2, 3, 1, 2], 0.85: [2, 3, 1, 3, 1], 0.99: [3, 1, 2, 2, 3]})
    answer = verdict(up, mixed)
    # by hand, seed for seed: 1, -0.5, -0.5, 0.5, 0.5
    assert (answer.verdict, answer.effect) == ("inconclusive", pytest.approx(0.2))
    flat = frame({0.5: LEVEL_70, 0.85: LEVEL_70, 0.99: LEVEL_70})
    assert verdict(up, flat).verdict == "not supported"


@pytest.mark.parametrize(
    "arguments", [("ema_decay", GRID[:2], 1), ("queue_size", GRID, 1), ("ema_decay", GRID, 2)]
)
def test_trend_refuses(arguments):
    with pytest.raises(InputError, match="Trend needs"):
        Trend(*arguments)


def test_equivalent_refuses_a_margin_of_nothing():
    with pytest.raises(InputError, match="above 0, got 0"):
        Equivalent(at(0.85), at(0.99), 0)


ALL_RULES = [
    Better(at(0.85), at(0.99)),
    Equivalent(at(0.85), at(0.99), 50),
    Best(at(0.85), GRID),
    Below(at(0.85), 100),
    Above(at(0.85), 0),
    Trend("ema_decay", GRID, 1),
]
RULE_NAMES = [type(rule).__name__ for rule in ALL_RULES]


@pytest.mark.parametrize("rule", ALL_RULES, ids=RULE_NAMES)
def test_points_without_runs_are_named(rule):
    runs = frame({0.1: LEVEL_70})
    answer = verdict(claim(rule), runs)
    assert answer.verdict == "no runs" and answer.n == 0 and math.isnan(answer.p)
    for point in rule.points:
        assert f"ema_decay={point['ema_decay']}" in answer.reason
    assert verdict(claim(rule), pd.DataFrame()).verdict == "no runs"


def test_only_the_missing_point_is_named():
    runs = frame({0.85: LEVEL_70, 0.5: LEVEL_70})
    assert verdict(claim(Best(at(0.85), GRID)), runs).reason == "no runs for ema_decay=0.99"


@pytest.mark.parametrize("rule", ALL_RULES, ids=RULE_NAMES)
@pytest.mark.parametrize("n", [1, 3, 4])
def test_fewer_than_five_seeds_decide_nothing(rule, n):
    runs = frame({0.5: shifted(60)[:n], 0.85: LEVEL_70[:n], 0.99: shifted(80)[:n]})
    answer = verdict(claim(rule), runs)
    assert (answer.verdict, answer.n) == ("inconclusive", n)
    assert answer.reason.endswith(f"n = {n} seeds, 5 are needed")


def test_no_common_seed_is_inconclusive():
    runs = frame({0.85: LEVEL_70, 0.99: LEVEL_70})
    runs.loc[runs["ema_decay"] == 0.99, "seed"] += 10
    answer = verdict(claim(Better(at(0.85), at(0.99))), runs)
    assert (answer.verdict, answer.n) == ("inconclusive", 0) and math.isnan(answer.effect)


def test_undefined_scores_are_not_left_out():
    runs = frame({0.85: [*LEVEL_70, 70.0], 0.99: [*LEVEL_70, math.nan]})
    answer = verdict(claim(Better(at(0.85), at(0.99))), runs)
    assert answer.verdict == "inconclusive"
    assert answer.reason == "sts_avg is no number for ema_decay=0.99, seeds [5]"


def test_an_unknown_field_or_metric_names_the_nearest_column():
    runs = frame({0.85: LEVEL_70})
    with pytest.raises(InputError, match="no column 'ema_decy'; the nearest is 'ema_decay'"):
        verdict(claim(Below({"ema_decy": 0.85}, 1)), runs)
    with pytest.raises(InputError, match="no column 'sts_average'; the nearest is 'sts_avg'"):
        verdict(claim(Below(at(0.85), 1)), runs, metric="sts_average")


def test_a_point_that_fits_several_runs_of_a_seed_is_refused():
    runs = pd.concat([frame({0.85: LEVEL_70}, queue_size=size) for size in (512, 1024)])
    with pytest.raises(InputError, match="fits 2 runs of seed 0, which differ in queue_size"):
        verdict(claim(Below(at(0.85), 1)), runs)
    narrow = {"ema_decay": 0.85, "queue_size": 1024}
    assert verdict(claim(Above(narrow, 1)), runs).verdict == "supported"


@pytest.mark.parametrize(
    ("cells", "value", "hits"),
    [
        ([0.1 + 0.2, 0.31], 0.3, [0]),
        ([1e-9, 5e-9, 0.0], 5e-9, [1]),
        ([0.0, 5e-9], 0, [0]),
        ([512, 1024], 512.0, [0]),
        ([None, 256.0], None, [0]),
        ([None, 256.0], 256, [1]),
        (["cosine", "constant"], "cosine", [0]),
        ([None, "cosine"], None, [0]),
        (["cosine", 0.5, None], 0.5, [1]),
        ([True, False], False, [1]),
        ([[[0, 512]], [[0, 256], [512, 1024]], []], ((0, 256), (512, 1024)), [1]),
        ([[[0, 512]], []], (), [1]),
    ],
)
def test_how_values_are_matched(cells, value, hits):
    rows = [{"field": c, "seed": s, "sts_avg": float(i)} for i, c in enumerate(cells)
            for s in range(5)]  # fmt: skip
    answer = verdict(claim(Below({"field": value}, 100)), pd.DataFrame(rows))
    assert [answer.effect] == hits and answer.n == 5


def test_a_task_that_the_benchmark_lacks_gives_no_verdict():
    runs = frame({0.85: LEVEL_70, 0.99: LEVEL_70})
    rule = claim(Better(at(0.85), at(0.99)), metric="STS12 test all")
    assert verdict(rule, runs).verdict == "no runs"
    assert "'STS12 test all': the benchmark has other tasks" in verdict(rule, runs).reason


def test_a_claim_has_its_own_metric():
    runs = frame({0.0: LEVEL_70}).assign(uniformity=-0.1)
    rule = claim(Above(at(0.0), -0.5), metric="uniformity")
    assert verdict(rule, runs).effect == pytest.approx(-0.1)
    assert verdict(rule, runs, metric="sts_avg").effect == pytest.approx(70.4)


def section(**differences):
    """A section of Better claims, a point apiece, each against ema_decay 0."""
    values = {i + 1: shifted(70 + d) for i, d in enumerate(differences.values())}
    claims = [claim(Better(at(i + 1), at(0)), id) for i, id in enumerate(differences)]
    return claims, frame({0: LEVEL_70} | values)


def test_holm_widens_the_intervals_of_a_section():
    """0.22 +- 0.196 alone is above 0; beside two that stay open it is tested at 1 - 0.05 / 3."""
    claims, runs = section(a=0.22, b=0.0, c=0.05)
    assert verdict(claims[0], runs).verdict == "supported"
    table = verdicts(claims, runs).set_index("id")
    assert list(table["verdict"]) == ["inconclusive"] * 3
    assert table["level"].to_list() == pytest.approx([1 - 0.05 / 3] * 3)


def test_holm_steps_down():
    """Two clear claims leave the whole 0.05 to the third: the same 0.22 is supported again."""
    table = verdicts(*section(a=0.22, b=3.0, c=-3.0)).set_index("id")
    assert list(table["verdict"]) == ["supported", "supported", "not supported"]
    assert table["level"].to_list() == pytest.approx([0.95, 1 - 0.05 / 3, 1 - 0.05 / 3])


def test_holm_on_the_sign_flip_p_is_shown_beside():
    claims, runs = section(a=3.0, b=2.0)
    claims.append(claim(Better(at(9), at(0)), "missing"))
    table = verdicts(claims, runs).set_index("id")
    assert table.loc["a", "p"] == 2 / 32
    assert table.loc["a", "p_holm"] == pytest.approx(3 * 2 / 32)  # the missing one counts
    assert table.loc["missing", "verdict"] == "no runs"
    assert math.isnan(table.loc["missing", "p_holm"])
    assert table.loc["a", "verdict"] == "supported"


def test_the_table_of_a_section():
    claims, runs = section(a=3.0, b=0.0)
    table = verdicts(claims, runs)
    columns = "id source text rule metric verdict reason effect low high n level p p_holm"
    assert list(table.columns) == columns.split()
    assert list(table["id"]) == ["a", "b"] and set(table["rule"]) == {"Better"}
    with pytest.raises(InputError, match="several claims have the id a"):
        verdicts([claims[0], claims[0]], runs)


def test_a_section_errs_in_five_per_cent_of_studies():
    """Four claims without any truth in them: as single claims they would err in 1 - 0.95**4."""
    rng = np.random.default_rng(0)
    claims = [claim(Above({"point": i}, 0), str(i)) for i in range(4)]
    index = [{"point": i, "seed": s} for i in range(4) for s in range(5)]
    runs = pd.DataFrame(index)
    corrected, single = [], []
    for _ in range(200):
        runs["sts_avg"] = rng.normal(size=20)
        corrected.append(verdicts(claims, runs)["verdict"].ne("inconclusive").any())
        single.append(any(verdict(c, runs).verdict != "inconclusive" for c in claims))
    assert np.mean(corrected) <= 0.075
    assert np.mean(single) >= 0.12
