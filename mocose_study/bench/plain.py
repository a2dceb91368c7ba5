"""MoCoSE written straight down, in float32: what its authors' code does in a step, and no more.

The stand-in for that code in the benchmark. Every batch is tokenised when its turn comes and padded
to its longest sentence, both branches compute every token of every layer, dropout is torch's, FGSM
adds the sign of the last step's gradient, the queue grows by concatenation and is cut, the moving
average goes parameter by parameter. Only the weights' shapes come from the library (`Branch`), so
that both start equal.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mocose_lib.batches import batches
from mocose_study.config import Config
from mocose_study.fast.dropout import replace_dropout
from mocose_lib.encoder import Encoder
from mocose_lib.model import Branch, target_of

# On the machine of reference a step of 2 layers x 128 takes 273 ms in the authors' code, and 167 ms
# in a straightforward float32 loop.
AUTHORS = 273 / 167


def embed(branch: Branch, words: Tensor, mask: Tensor) -> Tensor:
    """[CLS] of the last layer, pooler, projection, predictor: (batch, dim)."""
    states = branch.encoder.model(inputs_embeds=words, attention_mask=mask).last_hidden_state
    return branch.predictor(branch.projection(branch.encoder.pooler(states[:, 0])))


def losses(config: Config, encoder: Encoder, sentences: Sequence[str], lengths) -> Iterator[float]:
    """Trains, and yields the loss of every step; `lengths` are the sentences' in tokens."""
    replace_dropout(encoder.model, nn.Dropout)
    torch.manual_seed(config.seed)
    online = Branch(encoder, config)
    target = target_of(online, config).train()
    online.train()
    generator = torch.Generator().manual_seed(config.seed)
    queue = F.normalize(torch.randn(config.queue_init, online.dim, generator=generator), dim=-1)
    own = list(encoder.model.parameters())
    fresh = [p for p in online.parameters() if not any(p is q for q in own)]
    groups = [{"params": own, "lr": config.lr}, {"params": fresh, "lr": config.head_lr}]
    optimizer = torch.optim.AdamW(groups, weight_decay=config.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / config.steps)
    gradient = None
    for _, rows in zip(range(config.steps), batches(lengths, config), strict=False):
        batch = encoder.tokenizer(
            [sentences[row] for row in rows], padding=True, truncation=True,
            max_length=config.max_length, return_tensors="pt",
        )  # fmt: skip
        ids, mask = batch["input_ids"], batch["attention_mask"]
        words, target_words = (b.encoder.words(ids) for b in (online, target))
        words.retain_grad()
        noise = _fgsm(gradient, words.shape, config.fgsm_epsilon)
        query = embed(online, words + noise, mask)
        with torch.no_grad():
            keys = F.normalize(embed(target, target_words + noise, mask), dim=-1)
        query = F.normalize(query, dim=-1)
        positive = (query * keys).sum(1, keepdim=True)
        logits = torch.cat([positive, query @ queue.T], dim=1) / config.temperature
        loss = F.cross_entropy(logits, torch.zeros(len(ids), dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        gradient = words.grad
        torch.nn.utils.clip_grad_norm_(online.parameters(), config.max_grad_norm)
        optimizer.step()
        schedule.step()
        current = dict(online.named_parameters())
        for name, average in target.named_parameters():
            kept = config.ema_decay * average.data
            average.data = kept + (1 - config.ema_decay) * current[name].data
        queue = torch.cat([keys, queue])[: config.queue_size]
        yield loss.item()


def _fgsm(gradient: Tensor | None, shape: torch.Size, epsilon: float) -> Tensor:
    """epsilon times the sign of another batch's gradient, cut or filled up to `shape`."""
    noise = torch.zeros(shape)
    if gradient is not None:
        rows, length = (min(a, b) for a, b in zip(shape, gradient.shape[:2], strict=False))
        noise[:rows, :length] = epsilon * gradient[:rows, :length].sign()
    return noise
