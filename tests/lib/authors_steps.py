"""Trains the authors' own model for some steps, in their environment, for test_authors.

With a checkout of their code as current folder, and a Python that has transformers 4:

    python authors_steps.py INPUTS RESULT

Both are files of torch.save. INPUTS holds a dictionary:

- config: fields of a BertConfig, and of theirs
- weights: embeddings, encoder, pooler, projection and predictor, by their names
- queue: random keys at the start, (K, width), newest first
- horizon: steps of the cosine of the moving average
- rate, weight_decay: of the optimiser; ids, mask: (steps, batch, length)
- dropout: its rate; seed: of its masks; dtype: of all numbers

RESULT gets losses, parameters and queue. Nothing of their code is changed. Their
Trainer differs from that of transformers in the evaluation alone: the latter trains
here. All is on the CPU. Two packages that their model imports, but does not use here,
need not be there.
"""

import os
import sys
import tempfile
from unittest.mock import MagicMock

import torch
from transformers import BertConfig, Trainer, TrainingArguments

AUGMENTERS = "nlpaug nlpaug.augmenter nlpaug.augmenter.word nlpaug.augmenter.sentence"
DROPOUT = "embedding_drop_prob", "hidden_dropout_prob", "attention_probs_dropout_prob"
AVERAGED = "encoder", "pooler", "projection"  # the parts of the target

sys.modules |= {package: MagicMock() for package in ("icecream", *AUGMENTERS.split())}
torch.Tensor.cuda = lambda tensor: tensor
sys.path.insert(0, os.getcwd())
from mocose import MoCoSEModel  # noqa: E402


class InOrder(Trainer):
    """Takes the sentences as they come, and notes every loss."""

    losses = ()

    def _get_train_sampler(self):
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, return_outputs=False):
        self.losses += (loss := super().compute_loss(model, inputs),)
        return loss


def model_of(given):
    """Their model at the start, as their notebook makes it."""
    dropout = dict.fromkeys(DROPOUT, given["dropout"])
    model = MoCoSEModel(BertConfig(**given["config"], **dropout))
    absent, unknown = model.load_state_dict(given["weights"], strict=False)
    absent = {name for name in absent if not name.startswith(("target_", "queue"))}
    assert not unknown and absent <= {"online_embeddings.position_ids"}
    model.queue = given["queue"].T.contiguous()
    model.prepare()
    model.target_encoder.requires_grad_(False)
    model.target_pooler.requires_grad_(False)
    for name in AVERAGED:
        getattr(model, f"target_{name}").total_step = given["horizon"]
    return model


def main(inputs, result):
    given = torch.load(inputs)
    torch.set_default_dtype(given["dtype"])
    model, (steps, batch, length) = model_of(given), given["ids"].shape
    views = [given[n].view(-1, 1, length).expand(-1, 2, -1) for n in ("ids", "mask")]
    names = "input_ids", "attention_mask", "token_type_ids"
    every = zip(*views, torch.zeros_like(views[0]), strict=True)
    rows = [dict(zip(names, row, strict=True)) for row in every]
    with tempfile.TemporaryDirectory() as folder:
        sizes = dict(per_device_train_batch_size=batch, num_train_epochs=1.0)
        sizes |= dict(learning_rate=given["rate"], weight_decay=given["weight_decay"])
        sizes |= dict(no_cuda=True, save_strategy="no", report_to=[])
        sizes |= dict(seed=given["seed"])
        trainer = InOrder(model, TrainingArguments(folder, **sizes), None, rows)
        trainer.train()
    assert len(trainer.losses) == steps
    for name in AVERAGED:  # what their model does at the start of the next step
        getattr(model, f"target_{name}").update(getattr(model, f"online_{name}"))
    found = {"losses": torch.stack(trainer.losses).detach(), "queue": model.queue.T}
    torch.save(found | {"parameters": dict(model.named_parameters())}, result)


if __name__ == "__main__":
    main(*sys.argv[1:])
