"""The sections as files: what they mean, and that a slip in one is named with its place."""

import pandas as pd
import pytest

from mocose_lib import InputError
from mocose_study.claims.rules import Best, Better, Size
from mocose_study.config import configure
from mocose_study.sections import GRIDS, claims, read
from mocose_study.sections.grid import Grid, Point

SHARED = {
    "MoCoSE": Point("MoCoSE", {"crop": 0.0}, preset="moco", tier=1, paper="mocose")
}


def points(**sections) -> list[Point]:
    return list(read._points(sections, SHARED))


def test_a_point_like_another_takes_fields_preset_and_scale_but_no_tier_or_name():
    a, b, c = points(
        points={
            "MoCoSE": "shared",
            "b": {"like": "MoCoSE", "queue_size": 8, "scale": {"steps": 0.5}},
            "c": {
                "like": "b",
                "crop": 0.5,
                "negatives_slice": [[0, 4]],
                "tier": 3,
                "paper": "C",
            },
        }
    )
    assert a == SHARED["MoCoSE"]
    assert b == Point(
        "b", {"crop": 0.0, "queue_size": 8}, "moco", scale={"steps": 0.5}, like="MoCoSE"
    )
    fields = {"crop": 0.5, "queue_size": 8, "negatives_slice": ((0, 4),)}
    assert c == Point("c", fields, "moco", "C", 3, {"steps": 0.5}, "b")


def test_a_label_with_braces_is_a_point_for_each_setting():
    each = {"K 8": {"queue_size": 8}, "K 16": {"queue_size": 16}}
    own = {"alone": {}, "η 0, {}": {"ema_decay": 0.0}, "η 1, {}": {"ema_decay": 1.0}}
    made = points(each=each, points=own)
    assert [p.label for p in made] == [
        "η 0, K 8",
        "η 1, K 8",
        "η 0, K 16",
        "η 1, K 16",
        "alone",
    ]
    assert made[1].fields == {"ema_decay": 1.0, "queue_size": 8}


def test_a_table_shows_the_fields_that_differ_as_they_were_given():
    """Decay 0.5 and a queue of two batches of 64 reach back 1 / (1 - 0.5) + 2 steps."""
    points = (
        Point("a", {"ema_decay": 0.5}),
        Point("b", {"predictor_dim": 8, "ema_decay": 1.0}),
    )
    table = Grid("?", points, common={"queue_size": 128}).table("tiny")
    assert table.loc["a"].tolist() == ["0.5", "None", "4.00"]
    assert table.loc["b"].tolist() == ["1", "8", "inf"]
    assert list(table) == ["ema_decay", "predictor_dim", "traceable distance"]


def test_the_committed_sections_are_what_their_papers_describe():
    """A point of each form, its config worked out by hand."""
    config = GRIDS["batch_steps"].config(GRIDS["batch_steps"].points[5], "tiny", 3)
    tiny = configure("tiny")
    assert (config.batch_size, config.queue_size, config.seed) == (256, 512, 3)
    assert (config.steps, config.ema_horizon) == (
        tiny.steps // 4,
        round(0.24 * tiny.steps),
    )
    assert (config.ema_schedule, config.ema_decay, config.ema_decay_end) == (
        "cosine",
        0.75,
        1.0,
    )
    distance = {p.label: p.fields for p in GRIDS["distance"].points}
    assert len(distance) == 26 and distance["η 0.95, K 1024"]["queue_init"] == 256
    assert [
        p.scale["predictor_dim"] * 768 for p in GRIDS["predictor_dim"].points[1:3]
    ] == (pytest.approx([256, 512], abs=0.1))


def test_a_section_that_trains_longer_does_so_where_the_profile_says_how_long():
    half = Point("half", {}, scale={"steps": 0.5})
    for profile, steps, every in (
        ("tiny", 1_500, 250),
        ("mini", 1_500, 250),
        ("base", 15_625, 100),
    ):
        grid = Grid("?", points=(Point("as it is", {}), half), stage="longer")
        plain, halved = (grid.config(point, profile, 0) for point in grid.points)
        assert (plain.steps, plain.eval_every, halved.steps) == (
            steps,
            every,
            round(steps / 2),
        )
    usual = configure("quick")
    assert (
        Grid("?", (half,), stage="longer").config(Point("a", {}), "quick", 0) == usual
    )
    assert {c.steps for c in GRIDS["ema"].configs("tiny")} == {1_500}


def test_sections_on_whole_sentences_start_from_an_encoder_that_learns_from_them():
    for name in (
        "whole",
        "ema_whole",
        "queue_whole",
        "simcse_dropout",
        "simcse_trajectory",
    ):
        for profile, encoder in (("tiny", "tiny-long"), ("mini", "mini")):
            made = GRIDS[name].configs(profile)
            assert {(c.encoder, c.crop) for c in made} == {(encoder, 0.0)}, (
                name,
                profile,
            )
    for profile, rate in (
        ("tiny", 0.1),
        ("base", 3e-3),
    ):  # a hundred times the profile's
        grid = GRIDS["simcse_dropout"]
        control = next(p for p in grid.points if p.label == "control: rate too high")
        config = grid.config(control, profile, 0)
        assert (config.lr, config.head_lr) == pytest.approx((rate, rate))


def test_which_rule_judges_a_claim_stands_in_one_row():
    found = {c.id: c for grid in GRIDS.values() for c in grid.claims}
    best = found["mocose-ema-best-085"]
    rivals = ["0.5", "0.8", "0.9", "0.95", "0.99"]
    assert (
        best.rule == Best("0.85", rivals, 0.5)
        and best.source == "MoCoSE Table 3, Figure 8, section 5.1"
    )
    direction, size = found["mocose-augment-typos"], found["mocose-augment-typos-size"]
    assert direction.rule == Better("dropout only", "typos")
    assert (
        size.rule == Size("dropout only", "typos", 54.44) and size.metric == "sts_last"
    )
    assert GRIDS["ema"].control == Better("0.85", "control: decay 0", 5.0)


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"points": {"a": {"ema_decy": 0.5}}}, "section x: .*did you mean 'ema_decay'"),
        ({"points": {"a": {"scale": {"stps": 2}}}}, "did you mean 'steps'"),
        ({"points": {"a": {"like": "b"}, "b": {}}}, "there is no point 'b'"),
        ({"points": {"a": "shared"}}, "there is no shared point 'a'"),
        ({"points": {"a": "0.85"}}, "point 'a' is '0.85'; give a table of fields"),
        ({"points": {"a": {"tier": "1"}}}, "point 'a': tier is 1, 2 or 3"),
        ({"points": {"a": {"scale": 2.0}}}, "point 'a': .*scale has numbers"),
        ({"points": {"a": {"scale": {"lr": "2"}}}}, "point 'a': .*scale has numbers"),
        ({"points": {"a": {"seed": 3}}}, "point 'a': .*seed is no field"),
        ({"notebok": "n"}, "there is no key of a section 'notebok'"),
        (
            {"stage": "wole"},
            "section x: there is no stage 'wole'; choose one of longer, whole",
        ),
        ({}, "section x: its points is missing"),
    ],
)
def test_a_slip_in_a_section_is_named(section, says):
    with pytest.raises(InputError, match=says):
        read._section("x", {"question": "?"} | section, SHARED)


def test_a_file_that_is_no_toml_is_named(monkeypatch, tmp_path):
    (tmp_path / "shared.toml").write_text('"a" = { tier = 1 }\n"a" = { tier = 2 }\n')
    monkeypatch.setattr("mocose_study.config.config.files", lambda package: tmp_path)
    with pytest.raises(InputError, match=r"shared\.toml is no TOML: Cannot overwrite"):
        read.read_all([])


COLUMNS = ["section", "id", "rule", "a", "b", "margin", "metric"]
ROW = dict(
    zip(
        COLUMNS,
        ["x", "mocose-ema-needed", "Better", "a", "b", "0", "sts_avg"],
        strict=True,
    )
)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"section": "y"}, "claims.csv: there is no section 'y'"),
        ({"id": "gone"}, "claims.csv, gone of section x: neither statements.csv nor"),
        (
            {"rule": "Beats"},
            "section x: there is no rule 'Beats'; choose one of Better",
        ),
        ({"a": "c"}, "mocose-ema-needed of section x: no point has the label 'c'"),
        ({"b": "b | c", "rule": "Best"}, "no point has the label 'c'"),
        ({"margin": ""}, "mocose-ema-needed of section x: could not convert"),
        (
            {"margin": "nan"},
            "section x: Better needs a number: a margin, of Size the paper's effect",
        ),
        (
            {"rule": "Size"},
            "section x: Size needs a number: a margin, of Size the paper's effect",
        ),
        ({"rule": "Equivalent"}, "Equivalent needs a margin above 0, got 0"),
    ],
)
def test_a_slip_in_a_rule_is_named_with_its_row(monkeypatch, tmp_path, change, says):
    monkeypatch.setattr(claims, "rows", lambda: pd.DataFrame([ROW | change]))
    files = {"shared": {}, "x": {"x": {"question": "?", "points": {"a": {}, "b": {}}}}}
    monkeypatch.setattr(read, "read_toml", lambda package, name: files[name])
    with pytest.raises(InputError, match=says):
        read.read_all(["x"])


def test_a_statement_has_one_row(monkeypatch):
    monkeypatch.setattr(claims, "_csv", lambda path: pd.DataFrame([ROW, ROW]))
    with pytest.raises(
        InputError, match=r"claims\.csv has several rows of mocose-ema-needed"
    ):
        claims.rows.__wrapped__()


def test_a_statement_that_asks_the_papers_again_has_its_effect():
    found = claims.statements()
    asked = found[found["effect_of"] != ""]
    assert len(asked) > 20 and set(asked["effect_of"]) <= set(found.index)
    again, paper = (
        found.loc[x, "paper_effect"]
        for x in ("whole-ema-not-099", "mocose-ema-not-099")
    )
    assert again == paper == "+1.37"
