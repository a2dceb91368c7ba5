"""Configs: validated, canonical, and described in one sentence when they are impossible."""

import json
from typing import Literal, get_args, get_origin

import pytest
from texts import ROOT

from mocose_lib.settings import specification
from mocose_study.config import (
    FIELDS,
    PRESETS,
    PROFILES,
    Config,
    InputError,
    configure,
    vary,
)
from mocose_study.config import config as config_module
from mocose_study.config.config import REMOVED
from mocose_study.runs.files import run_id


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_can_be_had_under_every_preset(profile, preset):
    config = configure(profile, preset)
    assert all(getattr(config, k) == v for k, v in PRESETS[preset].items())


def test_a_config_comes_back_from_its_json():
    words = {"text_augmentation": "back_translation", "augmentation_models": ("a", "b")}
    for changes in (words, {"negatives_slice": ((0, 64), (96, 128)), "seed": 3}):
        config = configure("tiny", "code", **{"fgsm_epsilon": 0.0, **changes})
        assert Config.from_dict(json.loads(config.identity())) == config
        assert Config.from_dict(json.loads(config.identity()) | REMOVED) == config


def test_the_committed_runs_keep_their_names():
    """Also those that were made before a field was added or removed."""
    for path in sorted((ROOT / "data" / "runs" / "tiny").glob("*-*.json"))[::80]:
        config = Config.from_dict(json.loads(path.read_text())["config"])
        assert run_id(config) == path.stem


BASES = [  # some values are possible only beside others
    Config(),
    Config(fgsm_epsilon=0.0, precision="bf16"),
    Config(shared_embeddings=True),
    Config(shared_embeddings=True, detach_keys=False),
    Config(queue_size=0, queue_init=0),
    Config(text_augmentation="synonym"),
    Config(method="simcse", fgsm_epsilon=0.0),
]


def others(kind, value):
    """Values of a field's type that are not `value`."""
    if get_origin(kind) is Literal:
        found = get_args(kind)
    elif kind is bool:
        found = (True, False)
    elif kind is str:
        found = ("another",)
    elif kind is float:
        found = (value + 0.125, value / 2, 1.0)
    elif get_origin(kind) is tuple:
        found = (("another",), ((0, 128),))
    else:  # int, or int | None
        found = ((value or 1) + 1, 1)
    return [other for other in found if other != value]


def variations(name):
    """(a config, the same but for this field), wherever that is possible."""
    for base in BASES:
        for other in others(specification(Config)[name][0], getattr(base, name)):
            try:
                yield base, vary(base, **{name: other})
            except InputError:
                continue


@pytest.mark.parametrize("name", FIELDS)
def test_configs_that_differ_in_one_field_have_different_names(name):
    base, other = next(variations(name))
    assert other.identity() != base.identity()
    assert vary(other, **{name: getattr(base, name)}).identity() == base.identity()


def test_equal_configs_have_one_text():
    """0 == 0.0: a grid that writes dropout=0 names the same run as one that writes 0.0."""
    one, other = (
        Config(dropout=0, ema_decay=1, lr=0),
        Config(dropout=0.0, ema_decay=1.0, lr=0.0),
    )
    assert one == other and one.identity() == other.identity()


def test_a_later_field_leaves_the_names_of_finished_runs_alone(monkeypatch):
    monkeypatch.setattr(config_module, "ADDED_LATER", {})
    before = Config().identity()
    assert '"lr"' in before
    monkeypatch.setattr(config_module, "ADDED_LATER", {"lr": Config().lr})
    assert '"lr"' not in Config().identity() and '"lr"' in Config(lr=0.05).identity()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: configure("quick", **x),
        lambda x: vary(Config(), **x),
        Config.from_dict,
    ],
    ids=["configure", "vary", "from_dict"],
)
def test_a_wrong_field_name_gets_the_nearest_one(make):
    with pytest.raises(InputError, match="'ema_decay'"):
        make({"ema_decai": 0.9})


def test_traceable_distance_by_hand():
    """Equation 4 at the paper's own point, 1/(1-0.85) + 512/64 = 14.67, and as a plain sum."""
    paper = Config(ema_decay=0.85, queue_size=512, batch_size=64)
    assert paper.traceable_distance == pytest.approx(14.6667, abs=1e-4)
    trace = sum((1 - 0.85) * 0.85**i * (i + 1) for i in range(2_000))
    without = Config(ema_decay=0.85, queue_size=0, queue_init=0)
    assert without.traceable_distance == pytest.approx(trace)
    assert Config(ema_decay=1.0).traceable_distance == float("inf")


def test_presets_set_every_row_of_the_comparison():
    """Each difference between the paper and the authors' public code is a field."""
    rows = set(
        "temperature batch_negatives similarity heads ema_schedule ema_decay_end ema_horizon "
        "shared_embeddings detach_keys fgsm_gradient queue_growth target_dropout optimizer "
        "selection".split()
    )
    assert rows <= set(PRESETS["code"])
    assert rows - {"ema_horizon"} <= set(
        PRESETS["described"]
    )  # its cosine spans all steps
