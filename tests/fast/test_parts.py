"""A batch that is encoded part by part gives what the whole batch gives."""

import pytest
import torch
from texts import open_sentences

from mocose_lib import Encoder
from mocose_lib.loss import info_nce
from mocose_study.fast import parts
from mocose_study.systems import METHODS

SENTENCES = open_sentences(10, start=300)


def passed(encoder: Encoder) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors, and the gradient of InfoNCE with the batch as negatives."""
    encoder.zero_grad()
    ids, mask = encoder.pad(encoder.tokenize(SENTENCES))
    vectors = encoder(encoder.words(ids), mask)
    info_nce(vectors, vectors.flip(1), vectors[:0], 0.05, batch_negatives=True).backward()
    return vectors.detach(), torch.cat([p.grad.flatten() for p in encoder.model.parameters()])


@pytest.mark.parametrize("pooling", ["cls", "mean", "first_last"])
@pytest.mark.parametrize("rows", [1, 4, 10, 64])
def test_parts_give_the_vectors_and_gradients_of_the_whole(tiny, pooling, rows):
    encoder = Encoder.load(tiny, pooling)
    whole = passed(encoder)
    parts.encode_by_parts(encoder, rows)
    for found, expected in zip(passed(encoder), whole, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-4)


def test_the_second_pass_of_a_part_drops_what_the_first_one_dropped(tiny):
    """A gradient by differences: it fits only if both passes have the same dropout."""
    encoder = Encoder.load(tiny, dropout=0.3).double().train()
    parts.encode_by_parts(encoder, 3)
    ids, mask = encoder.pad(encoder.tokenize(SENTENCES))
    words = encoder.words(ids).detach().requires_grad_()

    def total(x):
        torch.manual_seed(5)
        return encoder(x, mask).pow(3).sum()  # the sum of squares is LayerNorm's, whatever x is

    (gradient,) = torch.autograd.grad(total(words), words)
    step = 1e-6 * torch.randn(words.shape, generator=torch.Generator().manual_seed(0)).double()
    with torch.no_grad():
        risen = total(words + step) - total(words - step)
    torch.testing.assert_close(risen, 2 * (gradient * step).sum(), rtol=1e-4, atol=0)


def test_no_activations_of_the_layers_are_kept(tiny):
    kept = []
    encoder = Encoder.load(tiny)
    for rows in (None, 2):
        if rows:
            parts.encode_by_parts(encoder, rows)
        ids, mask = encoder.pad(encoder.tokenize(SENTENCES))
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda x, sizes=sizes: sizes.append(x.numel()) or x, lambda x: x
        ):
            encoder(encoder.words(ids), mask)
        kept.append(sum(sizes))
    assert kept[1] < kept[0] / 4


def test_a_run_by_parts_trains_to_its_end(small):
    config = small(encode_rows=5)
    assert METHODS["mocose"](config, bar=False).progress.step == config.steps
