"""The other parts: where a step's time goes, evaluations, a grid, memory, a run's start, a GPU."""

import multiprocessing
import os
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial

import psutil
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import AutoTokenizer

from mocose_lib import Encoder, evaluate
from mocose_lib.encoder import token_ids
from mocose_lib.evaluation import transfer
from mocose_study.config import Config, vary
from mocose_study.data import benchmarks
from mocose_study.data.corpora import BATCH, ids_of, load_corpus, tokenized
from mocose_study.data.encoders import locate
from mocose_study.data.labelled import transfer_tasks
from mocose_study.data.sources import folder
from mocose_study.fast import logistic
from mocose_study.systems import simcse_st
from mocose_study.systems.base import load_encoder
from mocose_study.systems.probe import Probe

from .clock import WARM, Cases, Clock, Enough, apart, clocked, processes, run, timed
from .training import BASE, LENGTH, OPEN, Sizes, at_peak, config_of, fit

# Parts of the names of torch's operators; the first kind that fits counts.
KINDS = {
    "matrix products": ("mm", "linear", "matmul"),
    "dropout: random numbers": ("bernoulli", "random_"),
    "optimiser and clipping": ("adam", "vector_norm", "optimizer"),
    "moving average": ("lerp",),
    "embedding table": ("embedding", "index_select"),
    "copies and casts": ("copy", "_to_"),
    "GELU, LayerNorm, softmax": ("gelu", "layer_norm", "softmax"),
}
ELEMENTWISE, REST = "other elementwise operations", "Python and autograd"
THEIR_BATCH, OUR_BATCH = 16, 128  # their evaluator's default, and that of Encoder.encode
NOTES = 50  # of the memory, in all
TEXT = {"open": OPEN, "wiki900k": 900_000}  # sentences of the corpora that are laid out


def kind_of(operator: str) -> str:
    name = operator.lower()
    fits = (kind for kind, parts in KINDS.items() if any(part in name for part in parts))
    return next(fits, ELEMENTWISE)


def milliseconds(config: Config, seconds: float) -> dict[str, float]:
    """Milliseconds of a MoCoSE step by kind of operation; REST is what no operator took."""
    clock, profiler = Clock(seconds), profile(activities=[ProfilerActivity.CPU])

    def tick() -> None:
        clock.tick()
        if len(clock.wall) == WARM + 1:  # the first steps do not count
            profiler.start()

    run(tick, fit, config)
    profiler.stop()
    step = clock.result()
    found = dict.fromkeys((*KINDS, ELEMENTWISE), 0.0)
    for event in profiler.key_averages():
        if event.key.startswith(("aten::", "Optimizer")):
            found[kind_of(event.key)] += event.self_cpu_time_total / 1e3 / step["steps"]
    return found | {REST: max(0.0, 1e3 * step["seconds"] - sum(found.values()))}


def breakdown(sizes: Sizes, precisions: tuple[str, ...]) -> list[dict]:
    """A row for every encoder, precision and kind, each step in a process of its own."""
    rows = []
    for encoder in sizes.encoders:
        for precision in precisions:
            config = config_of(encoder, "full", precision, sizes.sentences)
            case = {"encoder": encoder, "precision": precision}
            for kind, found in apart(milliseconds, config, sizes.seconds).items():
                rows.append({**case, "kind": kind, "milliseconds": found})
    return rows


def our_sts(encoder: Encoder, name: str) -> dict[str, float]:
    """Spearman x 100 of the tasks, all pairs of a task pooled."""
    token_ids.cache_clear()  # their evaluator tokenises every time
    tables = benchmarks.test_tables(name)
    scores = evaluate(encoder.encode, tables)
    return {task: scores[f"{task} all"] for task in tables}


def their_sts(model, name: str, batch_size: int) -> dict[str, float]:
    """The same of sentence-transformers' evaluator, a task after the other."""
    evaluator = simcse_st.library(".sentence_transformer.evaluation").EmbeddingSimilarityEvaluator
    options = dict(batch_size=batch_size, main_similarity="cosine", write_csv=False)
    found = {}
    for task, frame in benchmarks.test_tables(name).items():
        columns = (list(frame[c]) for c in ("sentence1", "sentence2", "score"))
        found[task] = 100 * evaluator(*columns, **options)(model)["spearman_cosine"]
    return found


def transfer_turn(encoder: Encoder) -> dict[str, float]:
    """Seconds of all transfer tasks, and those of them that went into encoding."""
    token_ids.cache_clear()
    tasks, inside = transfer_tasks(), []

    def encode(sentences):
        start = time.perf_counter()
        vectors = encoder.encode(sentences)
        inside.append(time.perf_counter() - start)
        return vectors

    row = clocked(lambda: transfer.evaluate(encode, tasks, logistic.fit_predict) and None)
    return row | {"encoding": sum(inside)}


def probing(encoder: Encoder, name: str, seconds: float) -> dict[str, float]:
    """What a look at the geometry takes, as training has one every `probe_every` steps."""
    probe, clock = Probe(encoder.encode, name), Clock(seconds)
    with suppress(Enough):
        while True:
            probe()
            clock.tick()
    return clock.result()


def evaluation(sizes: Sizes) -> Cases:
    """STS ours and theirs, the probe beside a step, and, with a data folder, transfer tasks."""
    name = "real" if folder() else "open"
    for label in sizes.encoders:
        config = config_of(label, sizes.texts[-1], "float32", sizes.sentences)
        encoder = load_encoder(config, "cpu")
        model = simcse_st.make_model(config, encoder).eval()
        model.max_seq_length = encoder.max_length
        turns = {
            "STS": partial(clocked, our_sts, encoder, name),
            "probe": partial(probing, encoder, name, sizes.seconds),
            "step": partial(timed, sizes.seconds, fit, config),
        }
        if folder():
            turns["transfer"] = partial(transfer_turn, encoder)
        for size in (THEIR_BATCH, OUR_BATCH):
            work = partial(clocked, their_sts, model, name, size)
            turns[f"sentence-transformers STS, batch {size}"] = work
        yield {"encoder": label, "benchmark": name}, turns


def grid_work(threads: int, device: str, sizes: Sizes, ready) -> tuple[float, float]:
    """One uncounted step, then, all processes at once, some runs: when they began and ended."""
    torch.set_num_threads(threads)
    steps = sizes.grid_steps
    config = vary(config_of("2x128", "natural", "float32", 2_000), eval_every=steps, steps=steps)
    fit(vary(config, steps=1), device)
    ready.wait()
    start = time.time()
    for seed in range(sizes.grid_runs):
        fitted = fit(vary(config, seed=seed), device)
        evaluate(fitted.encode, benchmarks.test_tables(config.benchmark))
    return start, time.time()


def side_by_side(number: int, threads: int, sizes: Sizes, device: str = "cpu") -> dict:
    """Seconds a run: from the common start to the last end, over all runs."""
    with multiprocessing.get_context("spawn").Manager() as manager:
        ready = manager.Barrier(number, timeout=600)
        found = processes(number, grid_work, threads, device, sizes, ready)
        starts, ends = zip(*found, strict=True)
    seconds = (max(ends) - min(starts)) / (number * sizes.grid_runs)
    return {"processes": number, "threads": threads, "seconds": seconds}


def grid(sizes: Sizes) -> Cases:
    """Single-threaded runs side by side, or one at a time on all cores."""
    cores = os.cpu_count() or 1
    ways = {"one at a time": (1, cores), "side by side": (cores, 1)}
    yield {}, {name: partial(side_by_side, *way, sizes) for name, way in ways.items()}


def resident_memory(sizes: Sizes) -> list[dict]:
    """step, megabytes of a process that trains on batches of ever new shapes."""
    config = config_of("2x128", "natural", "float32", sizes.sentences, batch_lengths="mixed")
    process, seen = psutil.Process(), []

    def tick() -> None:
        seen.append({"step": len(seen), "megabytes": process.memory_info().rss / 2**20})
        if len(seen) > sizes.memory_steps:
            raise Enough

    run(tick, fit, config)
    return seen[:: max(1, sizes.memory_steps // NOTES)]


def start() -> list[dict]:
    """what, seconds: the text laid out once, and what a run does before its first step."""
    tokenizer, found = AutoTokenizer.from_pretrained(locate("tiny")), {}
    for name, size in TEXT.items():
        if name == "open" or folder():
            text = load_corpus(name, size).iter(BATCH)
            ids = (ids_of(tokenizer, rows["sentence"], LENGTH) for rows in text)
            found[f"{size:,} sentences"] = clocked(sum, map(len, ids))["seconds"]
    command = [sys.executable, "-c", "import mocose_study.runs.run"]
    found["imports"] = clocked(subprocess.check_call, command)["seconds"]
    found |= apart(warm)
    return [{"what": what, "seconds": seconds} for what, seconds in found.items()]


def warm() -> dict[str, float]:
    """Seconds for a run's encoder, text and first evaluation, once all of them are in the cache."""
    name, begun = "real" if folder() else "open", time.perf_counter()
    encoder = Encoder.load(locate("tiny"))
    tokenized(load_corpus("open", TEXT["open"]), encoder.tokenizer, LENGTH)
    loaded = time.perf_counter()
    evaluate(encoder.encode, benchmarks.dev_tables(name))
    return {"encoder and text": loaded - begun, "first evaluation": time.perf_counter() - loaded}


def gpu(sizes: Sizes, device: str = "cuda", encoder: str = BASE) -> Cases:
    """A MoCoSE step of BERT-base beside its floor, and many small runs side by side."""
    config = config_of(encoder, "full", "bf16", sizes.sentences)
    turns = {
        "MoCoSE bf16": partial(timed, sizes.seconds, fit, config, device),
        "floor bf16": partial(at_peak, config, "bf16", sizes.seconds, device),
        "one at a time": partial(side_by_side, 1, 1, sizes, device),
        "side by side": partial(side_by_side, sizes.gpu_runs, 1, sizes, device),
    }
    yield {"encoder": encoder}, turns
