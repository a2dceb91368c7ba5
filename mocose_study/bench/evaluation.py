"""Time of the evaluations: seven STS tasks ours and theirs, seven transfer tasks, the probe."""

import time
from collections.abc import Callable

import numpy as np

from mocose_lib.evaluation import sts, transfer
from mocose_lib.encoder import Encoder, token_ids
from mocose_study.systems import simcse_st
from mocose_study.systems.base import load_encoder
from mocose_study.systems.probe import Probe
from mocose_study.data.sources import folder
from mocose_study.bench.clock import Clock, in_turns, timed
from mocose_study.bench.material import config_of
from mocose_study.bench.sizes import Sizes
from mocose_study.bench.training import our_mocose

THEIR_BATCH, OUR_BATCH = 16, 128  # their evaluator's default, and that of Encoder.encode


def benchmark() -> str:
    """The real sets where a data folder is given, else the generated ones."""
    return "real" if folder() else "generated"


def our_sts(encoder: Encoder, name: str) -> dict[str, float]:
    """Spearman x 100 of the seven tasks, all pairs of a task pooled."""
    token_ids.cache_clear()  # their evaluator tokenises every time
    scores = sts.test_benchmark(name).score(encoder.encode)
    return {task: scores[f"{task} all"] for task in sts.test_benchmark(name).tasks}


def their_sts(model, name: str, batch_size: int) -> dict[str, float]:
    """The same of sentence-transformers' evaluator, a task after the other."""
    evaluator = simcse_st.library(".sentence_transformer.evaluation").EmbeddingSimilarityEvaluator
    found = {}
    for task, frame in sts.test_benchmark(name).tasks.items():
        columns = (list(frame[c]) for c in ("sentence1", "sentence2"))
        judge = evaluator(*columns, list(frame["score"]), batch_size=batch_size,
                          main_similarity="cosine", write_csv=False)  # fmt: skip
        found[task] = 100 * judge(model)["spearman_cosine"]
    return found


def clocked(work: Callable[[], dict | None]) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    row = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return row | {"scores": found} if found else row


def transfer_turn(encoder: Encoder, name: str) -> dict[str, float]:
    """Seconds of all transfer tasks, and those of them that went into encoding."""
    inside = []
    token_ids.cache_clear()

    def encode(sentences) -> np.ndarray:
        start = time.perf_counter()
        vectors = encoder.encode(sentences)
        inside.append(time.perf_counter() - start)
        return vectors

    row = clocked(lambda: transfer.evaluate(encode, name) and None)
    return row | {"encoding": sum(inside)}


def probing(encoder: Encoder, name: str, clock: Clock) -> None:
    """Looks at the geometry over and over, as training does every `probe_every` steps."""
    probe = Probe(encoder, name)
    while True:
        clock.step()
        probe()


def measure(sizes: Sizes, bar) -> list[dict]:
    """A row a turn; `scores` of the STS turns, so that one sees that both measure the same."""
    rows, name = [], benchmark()
    for label in sizes.encoders:
        config = config_of(label, sizes.texts[-1], "float32", sizes.sentences)
        encoder = load_encoder(config, "cpu")
        model = simcse_st.make_model(config, "cpu").float().eval()
        model.max_seq_length = encoder.max_length
        turns = {
            "STS": lambda encoder=encoder: clocked(lambda: our_sts(encoder, name)),
            "transfer": lambda encoder=encoder: transfer_turn(encoder, name),
            "probe": lambda encoder=encoder: timed(
                lambda clock: probing(encoder, name, clock), sizes.seconds),
            "step": lambda config=config: timed(
                lambda clock: our_mocose(config, clock), sizes.seconds),
        } | {
            f"sentence-transformers STS, batch {size}": lambda model=model, size=size: clocked(
                lambda: their_sts(model, name, size))
            for size in (THEIR_BATCH, OUR_BATCH)
        }  # fmt: skip
        case = {"encoder": label, "benchmark": name}
        rows += [{**case, **row} for row in in_turns(turns, sizes.rounds, bar)]
    return rows


def turns(sizes: Sizes) -> int:
    return 6 * sizes.rounds * len(sizes.encoders)
