"""Trains the authors' own model for some steps, in their environment, for test_authors.

Call it with a checkout of their code as current folder, by a Python that has transformers 4:

    python authors_steps.py INPUTS RESULT

Both are files of torch.save. INPUTS holds a dictionary:

- config: fields of a BertConfig, and of theirs
- weights: embeddings, encoder, pooler, projection and predictor, by their names
- queue: random keys at the start, (K, width), newest first
- horizon: steps of the cosine of the moving average; None leaves that of their code
- rate, weight_decay: of the optimiser
- ids, mask: (steps, batch, length)

RESULT gets the losses, all parameters and the queue. Nothing of their code is changed, and their
Trainer has nothing of its own in a training step: that of transformers takes its place. All is in
double precision and without dropout. Two packages that their model imports, but does not use
here, need not be there; nor does a GPU.
"""

import os
import sys
import tempfile
from unittest.mock import MagicMock

import torch
from transformers import BertConfig, Trainer, TrainingArguments

NOT_USED = "icecream", "nlpaug", "nlpaug.augmenter", "nlpaug.augmenter.word"
NO_DROPOUT = "embedding_drop_prob", "hidden_dropout_prob", "attention_probs_dropout_prob"
AVERAGED = "encoder", "pooler", "projection"  # what has a moving average in the target

for missing in (*NOT_USED, "nlpaug.augmenter.sentence"):
    sys.modules[missing] = MagicMock()
if not torch.cuda.is_available():
    torch.Tensor.cuda = lambda tensor, *_, **__: tensor
sys.path.insert(0, os.getcwd())
from mocose import MoCoSEModel  # noqa: E402


class InOrder(Trainer):
    """Takes the sentences as they come, and notes every loss."""

    losses = ()

    def _get_train_sampler(self):
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False):
        loss = super().compute_loss(model, inputs)
        self.losses = [*self.losses, loss.item()]
        return loss


def model_of(given):
    """Their model at the start, as their notebook makes it."""
    config = BertConfig(**given["config"], **dict.fromkeys(NO_DROPOUT, 0.0))
    model = MoCoSEModel(config)
    absent, unknown = model.load_state_dict(given["weights"], strict=False)
    rest = {n for n in absent if not n.startswith("target_")}
    assert not unknown and rest <= {"queue", "queue_ptr", "online_embeddings.position_ids"}
    model.queue = given["queue"].T.contiguous()
    model.prepare()
    model.target_encoder.requires_grad_(False)
    model.target_pooler.requires_grad_(False)
    for name in AVERAGED:
        average = getattr(model, f"target_{name}")
        average.total_step = given["horizon"] or average.total_step
    return model


def main(inputs, result):
    given = torch.load(inputs)
    torch.set_default_dtype(torch.float64)
    model, (steps, batch, length) = model_of(given), given["ids"].shape
    ids, mask = (given[n].reshape(-1, 1, length).expand(-1, 2, -1) for n in ("ids", "mask"))
    names = "input_ids", "attention_mask", "token_type_ids"
    rows = [dict(zip(names, row)) for row in zip(ids, mask, torch.zeros_like(ids))]
    with tempfile.TemporaryDirectory() as folder:
        rates = dict(learning_rate=given["rate"], weight_decay=given["weight_decay"])
        rates |= dict(per_device_train_batch_size=batch, num_train_epochs=1.0, no_cuda=True)
        arguments = TrainingArguments(folder, save_strategy="no", report_to=[], **rates)
        trainer = InOrder(model, arguments, train_dataset=rows)
        trainer.train()
    assert len(trainer.losses) == steps
    for name in AVERAGED:  # what their model does at the start of the next step
        getattr(model, f"target_{name}").update(getattr(model, f"online_{name}"))
    found = {"losses": trainer.losses, "queue": model.queue.T}
    torch.save(found | {"parameters": dict(model.named_parameters())}, result)


if __name__ == "__main__":
    main(*sys.argv[1:])
