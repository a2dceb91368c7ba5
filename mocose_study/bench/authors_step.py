"""Times training steps of the authors' MoCoSE; prints one line of JSON.

It runs in their environment with the checkout as its current folder, and imports nothing of this
study. Their notebook's settings apply. A plain loop stands in for the trainer of transformers, so
that its overhead does not count against them. Without a GPU, moving a tensor to one does nothing.
"""

import json
import sys
import time

import torch

WARM = 3  # steps that do not count
NOTEBOOK = dict(mlp_layers=2, proj_layers=1, fgsm=5e-9, embedding_drop_prob=0.1, token_drop_prob=0)
NOTEBOOK |= dict(feature_drop_prob=0, token_shuffle=False, contextual_wordembs_aug=False)
NOTEBOOK |= dict(age_test=False, neg_queue_slice_span=256)


def make_model(shape, ours):
    sys.path.insert(0, ".")
    from mocose import MoCoSEModel
    from transformers import BertConfig

    config = BertConfig(**shape)
    config.update({**NOTEBOOK, "out_size": config.hidden_size, "ema_decay": ours["ema_decay"]})
    config.update({"K": ours["queue_size"], "K_start": ours["queue_init"]})
    model = MoCoSEModel(config).train()
    for part in (model.target_encoder, model.target_pooler):
        part.requires_grad_(False)
    return model


def steps(request):
    """Trains for ever; yields the time after every step."""
    ours, ids = request["config"], torch.tensor(request["ids"]).unsqueeze(1)  # (n, 1, length)
    model = make_model(request["encoder"], ours)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=ours["lr"], weight_decay=ours["weight_decay"])
    while True:
        order, size = torch.randperm(len(ids)), ours["batch_size"]
        for rows in order[: len(ids) // size * size].split(size):
            batch = ids[rows]
            mask = (batch != request["padding"]).long()
            found = model(batch, mask, torch.zeros_like(batch))
            optimizer.zero_grad()
            found.loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, ours["max_grad_norm"])
            optimizer.step()
            yield time.perf_counter()


if __name__ == "__main__":
    torch.set_num_threads(1)
    if not torch.cuda.is_available():
        torch.Tensor.cuda = lambda self, *arguments, **options: self
    request, times = json.load(sys.stdin), []
    for now in steps(request):
        times.append(now)
        if len(times) > WARM + 1 and now - times[WARM] >= request["seconds"]:
            break
    count = len(times) - 1 - WARM
    print(json.dumps({"seconds": (times[-1] - times[WARM]) / count, "steps": count}))
