"""Supervised SimCSE and contrastive tension: their losses against independent computations."""

import math

import numpy as np
import pytest
import torch
from texts import open_sentences
from torch import nn
from torch.nn import functional as F

from mocose_lib import InputError
from mocose_lib.loss import info_nce
from mocose_study.systems import METHODS
from mocose_study.systems.base import load_encoder
from mocose_study.systems.ct import ContrastiveTension, tension
from mocose_study.systems.simcse_supervised import SupervisedSimCSE, read_triplets, triplet_loss

SENTENCES = open_sentences(32, start=50)


def vectors(n, rows=5, dim=4):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(rows, dim, generator=generator) for _ in range(n)]


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0, 3.0])
def test_the_supervised_loss_in_loops(weight):
    query, keys, hard = vectors(3)
    total = 0.0
    for i in range(5):
        below = 0.0
        for j in range(5):
            positive, negative = (
                math.exp(float(F.cosine_similarity(query[i], x[j], dim=0)) / 0.3)
                for x in (keys, hard)
            )
            below += positive + (weight if i == j else 1) * negative
        above = math.exp(float(F.cosine_similarity(query[i], keys[i], dim=0)) / 0.3)
        total -= math.log(above / below) / 5
    assert triplet_loss(query, keys, hard, 0.3, weight).item() == pytest.approx(total, rel=1e-4)


def test_by_hand_and_as_info_nce_with_the_contradictions_as_negatives():
    """One row: its key is itself, its contradiction orthogonal: log(1 + exp(-1))."""
    a, b = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    assert triplet_loss(a, a, b, 1.0).item() == pytest.approx(0.31326, abs=1e-5)
    query, keys, hard = vectors(3)
    expected = info_nce(query, keys, hard, 0.05, batch_negatives=True)
    torch.testing.assert_close(triplet_loss(query, keys, hard, 0.05), expected)


def triplets(path, rows=24, columns=("sent0", "sent1", "hard_neg")):
    lines = ["\t".join(columns)]
    lines += ["\t".join(SENTENCES[(i + j) % 32] for j in range(len(columns))) for i in range(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_with_dot_products_long_vectors_count(small):
    query, keys, hard = vectors(3, rows=4, dim=6)
    logits = torch.cat([query @ keys.T, query @ hard.T], dim=1)
    expected = F.cross_entropy(logits, torch.arange(4))
    found = triplet_loss(query, keys, hard, 1.0, similarity="dot")
    torch.testing.assert_close(found, expected)
    assert not torch.isclose(found, triplet_loss(query, keys, hard, 1.0))


def test_without_hard_negatives_it_is_simcse_on_pairs(small, tmp_path):
    path = str(triplets(tmp_path / "t.tsv"))
    config = small(
        method="simcse_supervised", hard_negatives=False, dropout=0.0, triplets=path)  # fmt: skip
    torch.manual_seed(0)
    encoder = load_encoder(config, "cpu")
    system = SupervisedSimCSE(config, encoder, SupervisedSimCSE.inputs(config, encoder))
    ids = system.encoder.tokenize(SENTENCES)
    first, second, third = ids[:4], ids[4:8], ids[1:5]
    found = system.triplet_loss(first, second, third, torch.Generator())
    assert found == system.loss(first, second, torch.Generator())


def test_triplets_are_read_and_the_quoted_kind_too(tmp_path):
    frame = read_triplets(triplets(tmp_path / "t.tsv"))
    assert list(frame.columns) == ["sent0", "sent1", "hard_neg"] and len(frame) == 24
    (tmp_path / "t.csv").write_text('sent0,sent1,hard_neg\n"a, b",c,"null"\n')
    assert read_triplets(tmp_path / "t.csv").values.tolist() == [["a, b", "c", "null"]]


def test_a_file_without_contradictions_is_refused(tmp_path):
    path = triplets(tmp_path / "pairs.tsv", columns=("sent0", "sent1"))
    with pytest.raises(InputError, match=r"pairs\.tsv has no contradictions"):
        read_triplets(path)
    path.write_text("sent0\tsent1\thard_neg\na\tb\t\nc\td\t\n")
    with pytest.raises(InputError, match="has no contradictions"):
        read_triplets(path)
    path.write_text("sent0\tsent1\thard_neg\na\tb\tc\nd\t\te\n")
    with pytest.raises(InputError, match="lacks a text in column 'sent1'"):
        read_triplets(path)


def test_supervised_simcse_trains(small, tmp_path):
    path = str(triplets(tmp_path / "t.tsv"))
    config = small(method="simcse_supervised", triplets=path, mlp="always", mlm_weight=0.1)
    fitted = METHODS["simcse_supervised"](config, bar=False)
    assert fitted.progress.step == 6 and np.isfinite(fitted.encode(SENTENCES)).all()


def test_tension_in_loops():
    a, b = vectors(2)
    same = torch.tensor([1.0, 0, 0, 1, 0])
    total = 0.0
    for x, y, is_same in zip(a, b, same, strict=True):
        share = 1 / (1 + math.exp(-float(x @ y)))
        total -= math.log(share if is_same else 1 - share)
    assert tension(a, b, same).item() == pytest.approx(total, rel=1e-4)


class Given(nn.Module):
    """Stands for a SentenceTransformer whose embeddings are known."""

    def forward(self, features):
        return {"sentence_embedding": features["vectors"]}


def test_tension_equals_sentence_transformers():
    module = "sentence_transformers.sentence_transformer.losses"
    losses = pytest.importorskip(module, reason="sentence-transformers is for this comparison only")
    a, b = vectors(2, rows=8, dim=16)
    ids = torch.arange(8)[:, None]
    theirs = losses.ContrastiveTensionLoss(Given())
    anchor = ids // 4 * 4  # groups of a sentence and three others
    mask = torch.ones_like(ids)
    found = theirs([
        {"vectors": a, "input_ids": anchor, "attention_mask": mask},
        {"vectors": b, "input_ids": ids, "attention_mask": mask},
    ])  # fmt: skip
    same = (anchor == ids).flatten().float()
    torch.testing.assert_close(tension(a, b, same), found)


def test_every_sentence_stands_beside_itself_and_its_negatives(small):
    config = small(method="ct", ct_negatives=3, batch_size=8, dropout=0.0, pooling="mean")
    encoder = load_encoder(config, "cpu")
    system = ContrastiveTension(config, encoder, ContrastiveTension.inputs(config, encoder))
    found = system.loss(system.encoder.tokenize(SENTENCES[:8])).item()
    vector = torch.from_numpy(system.encoder.encode(SENTENCES[:8])).double()
    total = 0.0
    for group in (range(4), range(4, 8)):
        for j in group:
            logit = vector[group[0]] @ vector[j]
            total -= F.logsigmoid(logit if j == group[0] else -logit).item()
    assert found == pytest.approx(total, rel=1e-3)


def test_contrastive_tension_trains_two_encoders(small):
    config = small(method="ct", ct_negatives=3, batch_size=8, pooling="mean", max_grad_norm=0.1)
    fitted = METHODS["ct"](config, bar=False)
    assert fitted.progress.step == 6 and np.isfinite(fitted.encode(SENTENCES)).all()
    with pytest.raises(InputError, match="no multiple of ct_negatives"):
        small(method="ct", batch_size=12)
