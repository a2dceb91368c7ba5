"""Configs: presets, profiles, and one sentence for what cannot be."""

import json

import numpy as np
import pytest

from mocose_lib import InputError, Settings
from mocose_study.config import FIELDS, PRESETS, PROFILES, Config, configure, vary


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_can_be_had_under_every_preset(profile):
    for preset, fields in PRESETS.items():
        config = configure(profile, preset)
        assert fields == {name: getattr(config, name) for name in fields}
        assert config.batch_size >= 2 and config.eval_every <= config.steps


def test_the_base_of_every_profile_has_the_authors_settings():
    """But for encoder, text, rate, length and precision; large has a smaller batch."""
    ours = "encoder corpus corpus_size benchmark lr steps eval_every fgsm_epsilon"
    ours = {*ours.split(), "precision", "triplets", "vectors"}
    for profile in PROFILES:
        config, authors = configure(profile), Config()
        differ = {x for x in FIELDS if getattr(config, x) != getattr(authors, x)}
        assert differ - ours <= ({"batch_size"} if profile == "large" else set())
    assert (authors.ema_decay, authors.queue_size) == ((0.75, 0.95), 512)
    assert (authors.random_keys, authors.temperature) == (128, 0.05)
    assert authors.batch_size == 64


def test_another_batch_size_sees_as_many_sentences():
    base, twice = configure("tiny"), configure("tiny", batch_size=128)
    assert (twice.steps, twice.eval_every) == (base.steps / 2, base.eval_every / 2)
    assert configure("tiny", batch_size=128, steps=7).steps == 7
    assert configure("tiny", batch_size=32).steps == 2 * base.steps


def test_a_preset_is_mended_by_an_option_and_fits_the_method():
    assert configure("quick", "code", selection="last").selection == "last"
    assert configure("quick", "code").fgsm_epsilon == 5e-9
    assert configure("quick", "code", method="simcse").fgsm_epsilon == 0


def test_presets_set_every_difference_between_paper_and_code():
    code = """ema_decay ema_horizon shared_embeddings detach_keys selection
    target_projection_trained augmented_views augment_at_evaluation fgsm_epsilon
    fgsm_gradient queue_growth optimizer"""
    assert {*code.split()} <= PRESETS["code"].keys()
    described = {"batch_negatives", "heads", "head_dropout", "fgsm_epsilon"}
    assert described <= PRESETS["described"].keys() and not PRESETS["study"]


def test_the_text_of_a_config_has_each_field_and_gives_the_config_back():
    """So two that differ in a field have different run ids, and equal ones have one."""
    config = configure("tiny", negatives_slice=[[0, 64]], ema_decay=[0.5, 0.9])
    assert vary(config, steps=np.int64(7)).steps == 7
    assert (config.negatives_slice, config.ema_decay) == (((0, 64),), (0.5, 0.9))
    read = json.loads(config.identity())
    assert read.keys() == FIELDS.keys() and Config(**read) == config
    assert Config(seed=1).identity() != Config().identity()
    one, other = Config(dropout=0, lr=0), Config(dropout=0.0, lr=0.0)
    assert one == other and one.identity() == other.identity()


MAKERS = (lambda **x: configure("quick", **x), lambda **x: vary(Config(), **x))


@pytest.mark.parametrize("make", MAKERS)
def test_a_wrong_name_gets_the_nearest_one(make):
    with pytest.raises(InputError, match="'ema_decai'; did you mean 'ema_decay'"):
        make(ema_decai=0.9)
    with pytest.raises(InputError, match="no field 'x'; known are seed"):
        make(x=0.9)


def test_traceable_distance_by_hand():
    """Equation 4 at the paper's best point, 1/(1-0.85) + 512/64, and as a plain sum."""
    paper = Config(ema_decay=0.85, queue_size=512, batch_size=64)
    assert paper.traceable_distance == pytest.approx(14.6667, abs=1e-4)
    trace = sum((1 - 0.85) * 0.85**i * (i + 1) for i in range(2_000))
    without = Settings(ema_decay=0.85, queue_size=0)
    assert without.traceable_distance == pytest.approx(trace)
    assert Config(ema_decay=1.0).traceable_distance == float("inf")
