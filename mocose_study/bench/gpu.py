"""On a GPU: a MoCoSE step of BERT-base beside its floor, and many small runs side by side."""

from mocose_study.systems.base import load_encoder
from mocose_study.bench import floor
from mocose_study.bench.clock import in_turns, timed
from mocose_study.bench.grid import side_by_side
from mocose_study.bench.material import BASE, LENGTH, config_of
from mocose_study.bench.sizes import Sizes
from mocose_study.bench.training import our_mocose


def measure(sizes: Sizes, bar, device: str = "cuda", encoder: str = BASE) -> list[dict]:
    """A row a turn: seconds a step, or a run of the grid."""
    config = config_of(encoder, "full", "bf16", sizes.sentences)
    products = floor.step_products(config, load_encoder(config, "cpu"), LENGTH)
    turns = {
        "MoCoSE bf16": lambda: timed(
            lambda clock: our_mocose(config, clock, device), sizes.seconds),
        "floor bf16": lambda: {
            "seconds": floor.flops(products) / floor.peak("bf16", sizes.seconds, device)},
        "one at a time": lambda: side_by_side(1, 1, sizes, device),
        "side by side": lambda: side_by_side(sizes.gpu_runs, 1, sizes, device),
    }  # fmt: skip
    return [{"encoder": encoder, **row} for row in in_turns(turns, sizes.rounds, bar)]


def turns(sizes: Sizes) -> int:
    return 4 * sizes.rounds
