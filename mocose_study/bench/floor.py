"""The floor of a step: its matrix products at the speed of the machine's best matrix product."""

import time
from dataclasses import dataclass

import torch

from mocose_lib import Encoder
from mocose_lib.model import Branch
from mocose_study.config import Config

DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}
LARGE = {  # m, k, n
    "cpu": ((2048, 512, 512), (2048, 1024, 1024), (4096, 256, 1024), (8192, 128, 128)),
    "cuda": ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 4096, 4096)),
}


@dataclass(frozen=True)
class Product:
    """`number` products of (m, k) with (k, n), each done `passes` times in a step."""

    number: int
    m: int
    k: int
    n: int
    passes: int

    @property
    def flops(self) -> int:
        """Two operations, a product and a sum, for each of m k n triples."""
        return 2 * self.number * self.m * self.k * self.n * self.passes


def encoder_products(
    settings, batch: int, length: int, passes: int, first_token: bool
) -> list[Product]:
    """Those of a BERT's layers; with `first_token` the last layer serves [CLS] alone."""
    width, heads = settings.hidden_size, settings.num_attention_heads
    inner = settings.intermediate_size
    found = []
    for layer in range(settings.num_hidden_layers):
        last = first_token and layer == settings.num_hidden_layers - 1
        queries = 1 if last else length  # a sentence's tokens whose vectors are needed
        found += [
            Product(1, batch * queries, width, width, passes),  # queries
            Product(2, batch * length, width, width, passes),  # keys, values
            Product(batch * heads, queries, width // heads, length, passes),  # scores
            Product(batch * heads, queries, length, width // heads, passes),  # mixture of values
            Product(1, batch * queries, width, width, passes),  # attention's output
            Product(1, batch * queries, width, inner, passes),
            Product(1, batch * queries, inner, width, passes),
        ]
    return found


def head_products(module: torch.nn.Module, batch: int, passes: int) -> list[Product]:
    """Those of the linear maps of a head, each applied to (batch, width)."""
    maps = [m for m in module.modules() if isinstance(m, torch.nn.Linear)]
    return [Product(1, batch, m.in_features, m.out_features, passes) for m in maps]


def step_flops(config: Config, encoder: Encoder, length: int, first_token: bool = True) -> int:
    """Operations of the products of a MoCoSE step with a full queue and FGSM left out.

    A trained product costs three: itself, its gradient by its input, and by its weights. The
    target's cost one. Of the similarities to the queue only the query has a gradient.
    """
    batch, settings = config.batch_size, encoder.model.config
    branch = Branch(encoder, config)
    online = (encoder.pooler, branch.projection, branch.predictor)
    products = [
        *encoder_products(settings, batch, length, 3, first_token),
        *(product for head in online for product in head_products(head, batch, 3)),
        *encoder_products(settings, batch, length, 1, first_token),
        *(product for head in online[:2] for product in head_products(head, batch, 1)),
        Product(1, batch, branch.dim, config.queue_size, 2),
    ]
    return sum(product.flops for product in products)


def peak(precision: str, seconds: float, device: str = "cpu") -> float:
    """Operations a second of the fastest of some large matrix products, best of many."""
    best, kind = 0.0, {"device": device, "dtype": DTYPES[precision]}
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for m, k, n in LARGE[device]:
        a, b = (torch.randn(shape, **kind) for shape in ((m, k), (k, n)))
        a @ b
        wait()
        until = time.perf_counter() + seconds / len(LARGE[device])
        while (start := time.perf_counter()) < until:
            a @ b
            wait()
            best = max(best, 2 * m * k * n / (time.perf_counter() - start))
    return best
