"""Sections: configs can be had, points stand in the papers' tables, numbers turn."""

import inspect

import pytest

from mocose_study.config import PRESETS, PROFILES, InputError, configure
from mocose_study.results.tables import table_of
from mocose_study.runs.files import run_ids
from mocose_study.sections import FUNCTIONS, SECTIONS
from mocose_study.sections.section import paper_table
from mocose_study.sections.systems import FGSM

# Rows of the papers' tables that no point reproduces, and why.
OTHER_ENCODERS = ("roberta", "bert-large", "sbert")  # a profile's question
OTHER_PAIRS = ("qqp", "flickr30k", "paranmt", "nli_neutral", "nli_all", "anli, ")
OTHERS = (*OTHER_ENCODERS, *OTHER_PAIRS, ", sample")  # we take all pairs that we have
WITHOUT_POINT = {
    "mocose_table2": {
        "glove, own": "word vectors are compared in Table 1",
        "skip_thought, own": "no open model of the time",
    },
    "simcse_table7": {"contradiction+neutral, 1.0": "the triplets have no neutral"},
}
CT = {"method": "ct", "pooling": "mean"}
PARAMETERS = [
    (name, parameter)
    for name, points in FUNCTIONS.items()
    for parameter in inspect.signature(points).parameters.values()
]
each_section = pytest.mark.parametrize("name", SECTIONS)


@each_section
def test_a_section_has_its_configs_at_each_profile_and_no_two_points_are_one(name):
    section = SECTIONS[name]
    assert section.question.endswith((".", "?")) and section.notebook[:2].isdigit()
    for profile in PROFILES:
        configs = [section.config(x, profile, 0) for x in section.labels(profile)]
        distinct = {c.identity() for c in configs}
        assert profile == "large" or len(distinct) == len(configs)
    assert {*(section.small or ()), *section.hub} <= section.points.keys()
    assert len(section.labels("tiny")) + len(section.hub) == len(section.points)
    assert set(section.labels("base")) == section.points.keys()
    small = section.runs("quick")
    assert len(small) <= 5 and len({config.seed for _, config in small}) <= 1
    assert len(section.runs("tiny")) > len(section.points) * (name != "rate")


@each_section
def test_the_points_are_all_rows_of_the_papers_table(name):
    section = SECTIONS[name]
    if section.paper is None:
        return
    table = paper_table(section.paper)
    rows = {", ".join(row) for row in table.iloc[:, :-2].itertuples(index=False)}
    points = {point.get("paper", x) for x, point in section.points.items()}
    without = WITHOUT_POINT.get(section.paper, {})
    missing = rows - points - without.keys()
    assert not [row for row in missing if not any(x in row for x in OTHERS)]
    assert without.keys() <= rows - points
    named = {point["paper"] for point in section.points.values() if "paper" in point}
    if name not in ("main_results", "transfer", "postprocessing"):  # shared systems
        assert named <= rows


@pytest.mark.parametrize("walk", ["to_code", "to_described"])
def test_a_walk_ends_at_its_preset(walk):
    """Its differences together are the preset, but for what augmentations alone see."""
    steps = [dict(x) for label, x in SECTIONS[walk].points.items() if label[0] == "+"]
    together = {name: x for step in steps for name, x in step.items()} | FGSM
    preset = PRESETS[walk.removeprefix("to_")]
    unseen = {"augmented_views", "augment_at_evaluation"}
    assert {k: v for k, v in preset.items() if k not in unseen} == together


@pytest.mark.parametrize(
    ("name", "label", "preset", "fields"),
    [
        ("ema", "0.85", "study", {"ema_decay": 0.85}),
        ("to_code", "all of these", "code", FGSM),
        ("predictor_dim", "2048", "study", {"predictor_dim": 341}),  # 2048 x 128 / 768
        ("collapse", "MoCoSE", "study", {"steps": 3_000}),
        ("rate", "CT, 0.0003, 300", "study", CT | {"lr": 3e-4, "steps": 300}),
        ("main_results", "CT", "study", CT | PROFILES["tiny"].best["CT"]),
    ],
)
def test_the_command_line_gives_the_run_of_the_point(name, label, preset, fields):
    """`mocose run --profile P --FIELD V` is the section's point with that value."""
    own = configure("tiny", preset, seed=3, **fields)
    assert run_ids([own]) == run_ids([SECTIONS[name].config(label, "tiny", 3)])


def name_of(value) -> str:
    return getattr(value, "name", value)


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS, ids=name_of)
def test_other_numbers_make_other_points_which_small_profiles_run(name, parameter):
    first, *others = parameter.default
    others = others or [type(first)(first / 2) or 0.5]
    section = FUNCTIONS[name](**{parameter.name: others})
    assert section.name == name and section.configs("quick")
    assert set(section.labels("quick")) == section.points.keys() - set(section.hub)
    assert section.points.keys() != SECTIONS[name].points.keys()
    wrong = "x" if isinstance(first, str) else -5.0
    with pytest.raises(InputError) as told:
        FUNCTIONS[name](**{parameter.name: [wrong]}).configs("quick")
    assert "\n" not in str(told.value) and len(str(told.value)) < 500


@pytest.mark.parametrize("value", [0.5, "0.5", [], {"a": 1}, None])
def test_a_parameter_that_is_no_list_is_one_sentence(value):
    with pytest.raises(InputError, match=r"decays = .* is no list"):
        FUNCTIONS["ema"](decays=value)


def test_a_section_says_its_widths_and_seeds():
    assert SECTIONS["predictor_dim"].config("2048", "base", 0).predictor_dim == 2048
    assert len(SECTIONS["ema"].seeds_at("tiny")) == 20
    # what draws nothing has one run
    runs = [label for label, _ in SECTIONS["collapse"].runs("tiny")]
    assert (runs.count("MoCoSE"), runs.count("untrained [CLS]")) == (5, 1)


def test_changes_and_one_more_point():
    changed = SECTIONS["ema"].changed({"steps": 7, "corpus_size": 900})
    section = changed.with_point("mine", {"queue_size": 64})
    assert {config.corpus_size for config in section.configs("quick")} == {900}
    assert {config.steps for config in section.configs("quick")} == {7}
    assert section.labels("quick") == ["0.5", "0.85", "mine"]
    mine = section.config("mine", "quick", 0)
    assert (mine.queue_size, mine.ema_decay) == (64, configure().ema_decay)
    with pytest.raises(InputError, match="no point of section ema 'ours'"):
        section.config("ours", "quick", 0)


def test_two_values_never_share_a_label():
    close = FUNCTIONS["ema"](decays=[0.5, 0.50000001]).points
    assert close["0.5"]["ema_decay"] == 0.5
    assert close["0.50000001"]["ema_decay"] == 0.50000001


def test_the_papers_numbers_are_found_by_label():
    assert SECTIONS["main_results"].paper_values()["MoCoSE"] == 77.27
    assert SECTIONS["main_results"].paper_values("STS12")["SimCSE"] == 68.40
    assert SECTIONS["simcse_dropout"].paper_values("STS-B dev")["same mask"] == 43.6


@pytest.mark.parametrize(("profile", "steps"), [("tiny", [300, 1000]), ("mini", [300])])
def test_a_systems_best_rate_and_length_are_what_dev_liked_best(profile, steps):
    rate = FUNCTIONS["rate"](rates=[3e-5, 1e-4, 3e-4, 1e-3, 3e-3], lengths=steps)
    size, runs = PROFILES[profile], table_of(rate, profile, [100, 101, 102])
    runs["system"] = runs["label"].str.rsplit(", ", n=2).str[0]
    dev = runs.pivot_table("sts_dev", ["system", "steps", "lr"], "seed")
    # at mini the pace's length is the only one that all systems have tried
    for table, part in ((size.at_pace, dev.query("steps == 300")), (size.best, dev)):
        for system, own in part.groupby("system"):
            tied = own[own[100] > own[100].max() - 0.1]  # two more seeds decide
            best = size.fields | table.get(system, {})
            assert tied.mean(axis=1).idxmax() == (system, best["steps"], best["lr"])


def test_the_decays_of_a_table_stand_in_order():
    columns = [x["cell"][1] for x in SECTIONS["batch_decay"].points.values()]
    assert columns == sorted(columns) and len({*columns}) == 5
