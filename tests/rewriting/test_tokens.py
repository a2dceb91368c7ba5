"""Changes of token ids: crop, word deletion, and the masks of BERT."""

import numpy as np
import pytest
from texts import generator

from mocose_study.rewriting.tokens import crop, delete, mask_tokens


@pytest.mark.parametrize("share", [0.1, 0.8])
def test_a_crop_is_a_stretch_and_a_deletion_keeps_the_order(share):
    ids, g = [1, *range(10, 30), 2], generator()
    starts = set()
    for _ in range(300):
        cut = crop(ids, share, g)
        inner = cut[1:-1]
        assert cut[0] == 1 and cut[-1] == 2 and len(inner) == round(20 * (1 - share))
        assert inner == list(range(inner[0], inner[0] + len(inner)))
        starts.add(inner[0])
        left = delete(ids, share, g)
        assert left[0] == 1 and left[-1] == 2 and left[1:-1] == sorted(set(left[1:-1]))
        assert len(left) == 22 - int(share * 20)
    assert len(starts) == 21 - round(20 * (1 - share))


def test_one_word_at_least_is_deleted_and_one_word_stays():
    assert len(delete([1, 10, 11, 12, 2], 0.01, generator())) == 4
    assert delete([1, 10, 2], 0.5, generator()) == crop([1, 10, 2], 0.5, generator()) == [1, 10, 2]
    assert crop([1, 2], 0.5, generator()) == [1, 2]


def test_masked_words_are_chosen_as_bert_does():
    rng = np.random.default_rng(0)
    ids = rng.integers(10, 400, (200, 50))
    ids[:, 0], ids[:, -1] = 2, 0
    shown, places = mask_tokens(ids, (0, 2, 4), 0.15, 4, (10, 400), rng)
    chosen = np.zeros(ids.shape, bool)
    chosen.flat[places] = True
    assert not chosen[:, [0, -1]].any() and np.array_equal(shown[~chosen], ids[~chosen])
    assert len(places) == chosen.sum() == int(0.15 * 200 * 48)
    assert (shown[chosen] == 4).mean() == pytest.approx(0.8, abs=0.04)
    assert (shown[chosen] == ids[chosen]).mean() == pytest.approx(0.1, abs=0.03)
