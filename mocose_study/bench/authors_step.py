"""Times training steps of the authors' MoCoSE; prints one line of JSON.

It runs in their environment with the checkout as its current folder, and imports nothing of this
study. Their notebook's settings apply. A plain loop stands in for the trainer of transformers, so
that its overhead does not count against them. Without a GPU, `.cuda()` does nothing.
"""

import json
import sys
import time

import numpy as np
import torch

WARM = 3  # steps that do not count


def make_model(request):
    sys.path.insert(0, ".")
    from mocose import MoCoSEModel
    from transformers import BertConfig

    config, ours = BertConfig(**request["encoder"]), request["config"]
    settings = dict(out_size=config.hidden_size, mlp_layers=2, proj_layers=1, fgsm=5e-9)
    settings.update(embedding_drop_prob=0.1, token_drop_prob=0, feature_drop_prob=0)
    settings.update(token_shuffle=False, contextual_wordembs_aug=False, age_test=False)
    settings.update(K=ours["queue_size"], K_start=ours["queue_init"], ema_decay=ours["ema_decay"])
    settings.update(neg_queue_slice_span=256)
    for name, value in settings.items():
        setattr(config, name, value)
    model = MoCoSEModel(config).train()
    for part in (model.target_encoder, model.target_pooler):
        part.requires_grad_(False)
    return model


def steps(request):
    """Trains for ever; yields after every step."""
    model, ours = make_model(request), request["config"]
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=ours["lr"], weight_decay=ours["weight_decay"])
    ids = torch.from_numpy(np.load(request["ids"])).unsqueeze(1)  # (sentences, 1, length)
    size = ours["batch_size"]
    while True:
        order = torch.randperm(len(ids))
        for start in range(0, len(ids) - size + 1, size):
            batch = ids[order[start : start + size]]
            mask = (batch != request["padding"]).long()
            found = model(batch, mask, torch.zeros_like(batch))
            optimizer.zero_grad()
            found.loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, ours["max_grad_norm"])
            optimizer.step()
            yield


def main():
    with open(sys.argv[1]) as file:
        request = json.load(file)
    torch.set_num_threads(1)
    if not torch.cuda.is_available():
        torch.Tensor.cuda = lambda self, *arguments, **options: self
    times = []
    for _ in steps(request):
        times.append(time.perf_counter())
        if len(times) > WARM + 1 and times[-1] - times[WARM] >= request["seconds"]:
            break
    count = len(times) - 1 - WARM
    print(json.dumps({"seconds": (times[-1] - times[WARM]) / count, "steps": count}))


if __name__ == "__main__":
    main()
