"""SimCSE here and sentence-transformers' MultipleNegativesRankingLoss train alike.

Both see the same batches without dropout; AdamW and clipping are torch's on both sides.
"""

import pytest
import torch
from making import built
from texts import open_sentences

from mocose_study.systems.simcse import SimCSE

STEPS, BATCH = 10, 8


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_without_dropout_their_losses_are_ours_at_every_step(small, pooling):
    theirs = pytest.importorskip("sentence_transformers")
    from sentence_transformers import losses
    from sentence_transformers.models import Pooling, Transformer

    config = small(method="simcse", pooling=pooling, mlp="never", dropout=0.0)
    ours = built(SimCSE, config).train()
    rates = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    options = dict(config_kwargs=dict.fromkeys(rates, 0.0))
    options |= dict(max_seq_length=config.max_length)
    transformer = Transformer(config.encoder, **options)
    weights = ours.encoder.model.state_dict()
    transformer.auto_model.load_state_dict(weights, strict=False)
    parts = [transformer, Pooling(transformer.get_embedding_dimension(), pooling)]
    model = theirs.SentenceTransformer(modules=parts, device="cpu")
    mnrl = losses.MultipleNegativesRankingLoss(model, scale=1 / config.temperature)

    def their_loss(texts):
        return mnrl([model.tokenize(texts) for _ in range(2)], torch.zeros(BATCH))

    def our_loss(texts):
        ids = ours.encoder.tokenize(texts, config.max_length)
        return ours.loss(ids, ids, torch.Generator())

    texts, curves = open_sentences(STEPS * BATCH, start=50), []
    for system, loss_of in ((ours, our_loss), (model.train(), their_loss)):
        optimizer, curve = torch.optim.AdamW(system.parameters(), lr=1e-3), []
        for step in range(STEPS):
            loss = loss_of(texts[step * BATCH :][:BATCH])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(system.parameters(), config.max_grad_norm)
            optimizer.step()
            curve.append(loss.item())
        curves.append(curve)
    assert curves[0] == pytest.approx(curves[1], abs=2e-6)
    assert len(set(curves[0])) == STEPS
