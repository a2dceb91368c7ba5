"""Supervised SimCSE and contrastive tension, each against its loss in loops."""

import math

import numpy as np
import pytest
import torch
from making import HEADER, built, triplets
from texts import open_sentences
from torch.nn import functional as F

from mocose_lib import InputError
from mocose_study.systems import ct
from mocose_study.systems import simcse_supervised as supervised

SENTENCES = open_sentences(32, start=50)
PLACES = [(0, 0), (1, 2), (2, 1), (1, 1)]  # columns of triplets


@pytest.mark.parametrize("weight", [None, 0.0, 0.5, 1.0])  # None: no hard negatives
def test_the_supervised_loss_of_a_batch_in_loops(small, tmp_path, weight):
    path = str(triplets(tmp_path / "t.tsv", open_sentences(96)))
    options = dict(triplets=path, dropout=0.0, mlp="never", temperature=0.3)
    own = dict(hard_negatives=weight is not None, hard_negative_weight=weight or 0.0)
    config = small(method="simcse_supervised", **options, **own)
    system = built(supervised.SupervisedSimCSE, config)
    sides = (system.columns[i]["input_ids"][:4] for i in range(3))
    query, keys, hard = map(system.vectors, sides)

    def e(a, b):
        return math.exp(F.cosine_similarity(a, b, dim=0).item() / 0.3)

    total = 0.0
    for i in range(4):
        below = sum(e(query[i], key) for key in keys)
        if weight is not None:
            below += sum(e(query[i], hard[j]) * weight ** (i == j) for j in range(4))
        total -= math.log(e(query[i], keys[i]) / below) / 4
    loss = system.batch_loss(np.arange(4), torch.Generator()).item()
    assert loss == pytest.approx(total, rel=1e-4)


def test_contradictions_may_be_the_positives(small, tmp_path):
    path = str(triplets(tmp_path / "t.tsv", SENTENCES[:30]))
    options = dict(method="simcse_supervised", triplets=path, hard_negatives=False)
    usual, swapped = (
        built(supervised.SupervisedSimCSE, small(positives=kind, **options)).columns
        for kind in ("same", "contradiction")
    )
    same = [usual[i]["input_ids"] == swapped[j]["input_ids"] for i, j in PLACES]
    assert same == [True, True, True, False]


USELESS = {
    "sent0\tsent1\thard_neg\na\tb\t\n": "p.tsv lacks a text in column 'hard_neg'",
    "": "p.csv cannot be read as a table",
    'a,b\n"c,d\n': "p.csv cannot be read as a table",
}


def test_triplets_are_quoted_or_not_and_a_useless_file_is_one_sentence(tmp_path):
    frame = supervised.read_triplets(triplets(tmp_path / "t.tsv", SENTENCES[:24]))
    assert list(frame.columns) == HEADER and len(frame) == 8
    (tmp_path / "t.csv").write_text('sent0,sent1,hard_neg\n"a, b",c,"null"\n')
    (row,) = supervised.read_triplets(tmp_path / "t.csv").to_numpy().tolist()
    assert row == ["a, b", "c", "null"]
    for text, told in USELESS.items():
        path = tmp_path / told[:5]
        path.write_text(text)
        with pytest.raises(InputError, match=f"^{told}"):
            supervised.read_triplets(path)


def test_every_sentence_stands_beside_itself_and_its_negatives(small, monkeypatch):
    monkeypatch.setattr(ct, "GROUP", 4)
    config = small(method="ct", batch_size=8, dropout=0.0, pooling="mean")
    system = built(ct.ContrastiveTension, config)
    found = system.loss(system.encoder.tokenize(SENTENCES[:8])).item()
    vector = torch.from_numpy(system.encoder.encode(SENTENCES[:8])).double()
    total = 0.0
    for group in (range(4), range(4, 8)):
        for j in group:
            logit = vector[group[0]] @ vector[j]
            total -= F.logsigmoid(logit if j == group[0] else -logit).item()
    assert found == pytest.approx(total, rel=1e-3)
