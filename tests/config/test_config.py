"""Configs: validated, canonical, and described in one sentence when they are impossible."""

import json
from dataclasses import FrozenInstanceError
from typing import Literal, get_args, get_origin

import pytest

from mocose_lib.settings import specification
from mocose_study.config import FIELDS, PRESETS, PROFILES, Config, InputError, configure, vary
from mocose_study.config import config as config_module


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_can_be_had_under_every_preset(profile, preset):
    config = configure(profile, preset)
    assert all(getattr(config, k) == v for k, v in PRESETS[preset].items())


@pytest.mark.parametrize("changes", [
    dict(negatives_slice=((0, 64), (96, 128)), seed=3),
    dict(fgsm_epsilon=0.0, text_augmentation="back_translation", augmentation_models=("a", "b")),
])  # fmt: skip
def test_a_config_comes_back_from_its_json(changes):
    config = configure("tiny", "as_published", **changes)
    assert Config.from_dict(json.loads(config.identity())) == config


def test_a_config_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Config().seed = 1


BASES = [  # some values are possible only beside others
    Config(), Config(precision="bf16"), Config(shared_embeddings=True),
    Config(shared_embeddings=True, detach_keys=False), Config(queue_size=0, queue_init=0, batch_negatives=True),
    Config(text_augmentation="synonym"),
]  # fmt: skip


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
    one, other = Config(dropout=0, ema_decay=1, lr=0), Config(dropout=0.0, ema_decay=1.0, lr=0.0)
    assert one == other and one.identity() == other.identity()


def test_a_later_field_leaves_the_names_of_finished_runs_alone(monkeypatch):
    monkeypatch.setattr(config_module, "ADDED_LATER", {})
    before = Config().identity()
    assert '"lr"' in before
    monkeypatch.setattr(config_module, "ADDED_LATER", {"lr": Config().lr})
    assert '"lr"' not in Config().identity() and '"lr"' in Config(lr=0.05).identity()


IMPOSSIBLE = {
    "queue_init": dict(queue_size=64, queue_init=65),
    "queue_size = 0": dict(queue_size=0, queue_init=0),
    "negatives_slice (256, 768)": dict(negatives_slice=((256, 768),)),
    "negatives_slice (5, 5)": dict(negatives_slice=((5, 5),)),
    "batch_size = 1": dict(batch_size=1),
    "larger than corpus_size": dict(batch_size=64, corpus_size=63),
    "whitened_on = 101 is larger than corpus_size = 100": dict(whitened_on=101, corpus_size=100),
    "predictor_dim": dict(predictor_dim=64, projection_layers=0),
    "detach_keys": dict(detach_keys=False),
    "target_projection_trained": dict(target_projection_trained=True),
    "rounded away": dict(fgsm_epsilon=5e-9, precision="bf16"),
    "temperature": dict(temperature=0.0),
    "projection_layers": dict(projection_layers=4),
    "dropout": dict(dropout=1.0),
    "pooling": dict(pooling="max"),
    "steps": dict(steps=2.5),
    "seed": dict(seed=True),
    "lr": dict(lr="fast"),
    "ema_decay": dict(ema_decay=1.01),
    "temperature = nan": dict(temperature=float("nan")),
    "encoder_layers": dict(encoder_layers=0),
    "negatives_slice = (1, 2)": dict(negatives_slice=(1, 2)),
    "negatives_slice = ((1, 2, 3),)": dict(negatives_slice=((1, 2, 3),)),
    "negatives_slice = ((0, 0.5),)": dict(negatives_slice=((0, 0.5),)),
    "simcse has no position_shuffle": dict(method="simcse", feature_cutoff=0.1),
    "untrained has no position_shuffle": dict(method="untrained", position_shuffle=True),
    "simcse has no FGSM": dict(method="simcse", fgsm_epsilon=5e-9, precision="float32"),
    "ct has no text_augmentation": dict(method="ct", text_augmentation="typos"),
    "ct has no crop": dict(method="ct", word_deletion=0.5),
    "'typos' needs 0": dict(text_augmentation="typos", augmentation_models=("a",)),
    "'back_translation' needs 2": dict(text_augmentation="back_translation", augmentation_models=("a",)),
    "augmentation_rate = 0": dict(augmentation_rate=0.0),
    "augmentation_models = ('a', 1)": dict(augmentation_models=("a", 1)),
}


@pytest.mark.parametrize("named", IMPOSSIBLE)
def test_an_impossible_value_gives_one_sentence_that_names_it(named):
    with pytest.raises(InputError) as caught:
        Config(**IMPOSSIBLE[named])
    text = str(caught.value)
    assert named in text
    assert "\n" not in text and text.endswith(".")


@pytest.mark.parametrize(
    "make",
    [lambda x: configure("quick", **x), lambda x: vary(Config(), **x), Config.from_dict],
    ids=["configure", "vary", "from_dict"],
)
def test_a_wrong_field_name_gets_the_nearest_one(make):
    with pytest.raises(InputError, match="'ema_decay'"):
        make({"ema_decai": 0.9})


def test_a_slice_that_is_no_list_is_refused_from_json_too():
    with pytest.raises(InputError, match="negatives_slice = 5"):
        Config.from_dict({"negatives_slice": 5})


@pytest.mark.parametrize("arguments", [("huge",), ("quick", "as_rumoured")])
def test_an_unknown_profile_or_preset_lists_those_there_are(arguments):
    with pytest.raises(InputError, match="choose one of"):
        configure(*arguments)


def test_the_largest_queue_slice_and_fill_are_possible():
    assert Config(queue_size=512, queue_init=512, negatives_slice=((0, 512),)).queue_init == 512
    assert Config(queue_size=0, queue_init=0, batch_negatives=True).queue_size == 0


@pytest.mark.parametrize(
    "values",
    [
        dict(temperature=1e-11), dict(temperature=1e30), dict(temperature=float("inf")),
        dict(lr=1.0), dict(max_grad_norm=float("inf")), dict(fgsm_epsilon=2.0, crop=0.0),
        dict(warmup_steps=101, steps=100), dict(token_cutoff=0.999), dict(mlm_weight=1e9),
    ],
)  # fmt: skip
def test_nobody_wants_such_a_value(values):
    with pytest.raises(InputError):
        Config(**values)


def test_traceable_distance_by_hand():
    """Equation 4 at the paper's own point, 1/(1-0.85) + 512/64 = 14.67, and as a plain sum."""
    assert Config(ema_decay=0.85, queue_size=512, batch_size=64).traceable_distance == pytest.approx(14.6667, abs=1e-4)
    trace = sum((1 - 0.85) * 0.85**i * (i + 1) for i in range(2_000))
    assert Config(queue_size=0, queue_init=0, batch_negatives=True).traceable_distance == pytest.approx(trace)
    assert Config(ema_decay=1.0).traceable_distance == float("inf")


def test_presets_set_every_row_of_the_comparison():
    """papers/README.md, "What the authors' public implementation does": each row is a field."""
    rows = {
        "temperature", "batch_negatives", "similarity", "heads", "ema_decay_end", "ema_horizon",
        "ema_moment", "shared_embeddings", "detach_keys", "fgsm_gradient", "queue_growth",
        "target_dropout", "optimizer", "selection",
    }  # fmt: skip
    assert rows <= set(PRESETS["as_published"])
    assert rows - {"ema_horizon"} <= set(PRESETS["as_described"])  # its cosine spans all steps
