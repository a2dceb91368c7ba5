"""Speed of a training step beside its peers and the machine's floor, and a run's parts.

The peers are the authors' code and sentence-transformers. The floor is the time of the
step's matrix products alone, at the speed of a large product. All take turns, so that
other work slows all of them. On a CPU each has one thread. In bf16 there is no FGSM.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from random import Random
from unittest.mock import MagicMock

import pandas as pd
import torch
from torch.utils.flop_counter import FlopCounterMode
from tqdm.auto import tqdm
from transformers import AutoConfig, AutoTokenizer, BertPreTrainedModel

from mocose_lib import Encoder, InputError, evaluate
from mocose_study.config import Config, vary
from mocose_study.data.atomic import write_atomically
from mocose_study.data.benchmarks import dev_tables
from mocose_study.data.corpora import load_corpus
from mocose_study.data.encoders import source
from mocose_study.data.files import study_folder
from mocose_study.fast.processor import processor
from mocose_study.runs.pool import outcomes
from mocose_study.runs.progress import now, step_ends
from mocose_study.systems import fit

WARM = 3  # steps before the clock starts
SENTENCES = 4_000
ENDLESS = {"steps": 1_000_000, "eval_every": 1_000_000, "corpus_size": SENTENCES}
ENDLESS |= {"batch_negatives": True, "mlp": "never"}
ENDLESS |= {"queue_init": 512, "fgsm_epsilon": 5e-9, "fgsm_gradient": "stale"}
SIDE = {"cpu": 1024, "cuda": 8192}  # of two square matrices, for the fastest product
OURS = {"authors' code": "MoCoSE", "sentence-transformers": "SimCSE", "floor": "MoCoSE"}
DROPOUT = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
OFF = "token_drop_prob feature_drop_prob token_shuffle contextual_wordembs_aug age_test"
NOTEBOOK = DROPOUT | dict.fromkeys(OFF.split(), 0) | {"neg_queue_slice_span": 256}
NOTEBOOK |= {"mlp_layers": 2, "proj_layers": 1, "embedding_drop_prob": 0.1}
UNUSED = ("icecream", "nlpaug", "nlpaug.augmenter.word", "nlpaug.augmenter.sentence")


def step_seconds(steps: int, train: Callable, *arguments) -> float:
    """Seconds of a step of `train(*arguments)`: a mean of `steps` after WARM."""
    ends = step_ends(WARM + steps, train, *arguments)
    if len(ends) < WARM + steps:
        raise ValueError(f"only {len(ends)} of {WARM + steps} steps were trained")
    return (ends[-1] - ends[WARM - 1]) / steps


def step_flops(steps: int, train: Callable, *arguments) -> float:
    """Operations of a step's matrix products, 2 m k n each; a mean over `steps`."""
    with FlopCounterMode(display=False) as counter:
        step_ends(steps, train, *arguments)
    return counter.get_total_flops() / steps


def peak(device: str, tries: int = 20, kind=torch.float32) -> float:
    """Operations a second of a large matrix product, the best of some."""
    n = SIDE[device]
    a, b = torch.randn(2, n, n, device=device, dtype=kind)
    return max(2 * n**3 / clocked(torch.matmul, a, b) for _ in range(tries))


def sentences() -> list[str]:
    return load_corpus("open", SENTENCES)["sentence"][:]


def clocked(work: Callable, *arguments) -> float:
    """Seconds of `work(*arguments)`."""
    start, _ = now(), work(*arguments)
    return now() - start


def sentence_transformers(config: Config, device: str) -> None:
    """SimCSE with their tokens, model and MultipleNegativesRankingLoss."""
    from sentence_transformers import SentenceTransformer, losses, models, util

    folder, options = str(source(config.encoder)), {"config_kwargs": DROPOUT}
    bert = models.Transformer(folder, max_seq_length=config.max_length, **options)
    pooling = models.Pooling(bert.get_embedding_dimension(), "cls")
    model = SentenceTransformer(modules=[bert, pooling], device=device)
    contrast = losses.MultipleNegativesRankingLoss(model, scale=1 / config.temperature)

    def loss(batch: list[str]) -> torch.Tensor:
        views = (model.preprocess(batch) for _ in range(2))
        return contrast([util.batch_to_device(view, device) for view in views], None)

    optimise(loss, model, config, sentences())


def authors_code(config: Config, device: str, folder: Path) -> None:
    """The authors' MoCoSE, all sentences padded to the greatest length.

    Call it in a separate process: it replaces what their code needs and no step uses,
    a GPU, further packages, and what transformers has dropped since.
    """
    sys.modules.update({name: MagicMock() for name in UNUSED})
    BertPreTrainedModel.all_tied_weights_keys = {}
    BertPreTrainedModel.get_head_mask = lambda self, mask, layers: [None] * layers
    BertPreTrainedModel.get_extended_attention_mask = lambda self, mask, *_: (
        (1 - mask[:, None, None].float()) * torch.finfo().min
    )
    if device == "cpu":
        torch.Tensor.cuda = lambda self: self
    sys.path.insert(0, str(folder))
    from mocose import MoCoSEModel

    shape, size = AutoConfig.from_pretrained(source(config.encoder)), config.queue_size
    asked = {"K": size, "K_start": size, "ema_decay": config.decays[0], "fgsm": 5e-9}
    shape.update(NOTEBOOK | asked | {"out_size": shape.hidden_size})
    model = MoCoSEModel(shape).to(device)
    model.target_encoder.requires_grad_(False)
    model.target_pooler.requires_grad_(False)
    tokenizer = AutoTokenizer.from_pretrained(source(config.encoder))
    whole = dict(padding="max_length", truncation=True, max_length=config.max_length)
    ids = tokenizer(sentences(), return_tensors="pt", **whole)["input_ids"].to(device)

    def loss(batch: torch.Tensor) -> torch.Tensor:
        mask = (batch != tokenizer.pad_token_id).long()
        return model(batch, mask, torch.zeros_like(batch)).loss

    optimise(loss, model, config, ids.unsqueeze(1))


def optimise(loss: Callable, model: torch.nn.Module, config: Config, examples) -> None:
    """Trains for ever, in a plain loop in place of the peers' own trainers."""
    model.train().float()  # the study's encoders are stored in float16
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, config.lr, weight_decay=config.weight_decay)
    size, half = config.batch_size, config.precision == "bf16"
    for start in cycle(range(0, len(examples) - size + 1, size)):
        optimizer.zero_grad()
        with torch.autocast(trained[0].device.type, torch.bfloat16, half):
            value = loss(examples[start : start + size])
        value.backward()
        torch.nn.utils.clip_grad_norm_(trained, config.max_grad_norm)
        optimizer.step()


def authors_seconds(time_step: Callable, folder: Path) -> float:
    ((_, seconds, error),) = outcomes(time_step, [(folder,)], 1)
    if error:
        raise InputError(f"the authors' code failed: {error!r}.")
    return seconds


def turns(config: Config, device: str, steps: int, authors: Path | None) -> dict:
    """Functions that time a step of each system, by its name."""
    step = partial(step_seconds, steps)
    alone = vary(config, method="simcse", fgsm_epsilon=0.0)
    flops = step_flops(2, fit, config, None, device, False)
    kind = torch.bfloat16 if config.precision == "bf16" else torch.float32
    timed = {
        "MoCoSE": partial(step, fit, config, None, device, False),
        "SimCSE": partial(step, fit, alone, None, device, False),
        "floor": lambda: flops / peak(device, kind=kind),
    }
    if find_spec("sentence_transformers"):
        theirs = partial(step, sentence_transformers, alone, device)
        timed["sentence-transformers"] = theirs
    if authors:
        theirs = partial(step, authors_code, config, device)
        timed["authors' code"] = partial(authors_seconds, theirs, authors)
    return timed


def run_parts(run: Config, device: str, step: float) -> dict[str, float]:
    """Seconds of a run's parts with such steps; token ids are kept for later runs."""
    encoder = Encoder.load(source(run.encoder), run.pooling).to(device)
    script = [sys.executable, "-c", "import mocose_study.runs.run"]
    read = clocked(encoder.tokenize, sentences(), run.max_length)
    look = partial(evaluate, encoder.encode, dev_tables(run.benchmark, run.dev))
    first, later = clocked(look), clocked(look)  # the first makes token ids, too
    return {
        "imports": clocked(subprocess.check_call, script),
        "token ids": read * run.corpus_size / SENTENCES,
        "steps": run.steps * step,
        "evaluations": first + (run.steps // run.eval_every - 1) * later,
    }


def bench(
    run: Config, device: str, repeats: int, steps: int, authors: Path | None = None
) -> Path:
    """Times a step of all in turns, and a run's parts; may raise InputError."""
    if min(repeats, steps) < 1:
        raise InputError("repeats and steps must be 1 or more.")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("device = 'cuda' needs a GPU for torch; leave it out.")
    if authors and not (authors / "mocose.py").is_file():
        raise InputError(f"{authors} has no mocose.py; give a checkout of their code.")
    torch.set_num_threads(1)
    half = {"precision": "bf16", "fgsm_epsilon": 0.0} if run.precision == "bf16" else {}
    config = Config(encoder=run.encoder, **ENDLESS | half)
    work, order = turns(config, device, steps, authors), Random(0)
    seconds = {system: [] for system in work}
    for _ in tqdm(range(repeats), "rounds"):
        for system in order.sample(list(work), len(work)):
            seconds[system].append(work[system]())
    record = {"encoder": Path(run.encoder).name, "machine": processor(device)}
    words = [record["encoder"], *(["bf16"] if half else []), record["machine"]]
    name = re.sub(r"\W+", "-", " ".join(words))
    record["GiB"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)  # of a GPU
    parts = run_parts(run, device, pd.Series(seconds["MoCoSE"]).median())
    record |= {"torch": torch.__version__, "seconds": seconds, "run": parts}
    path = study_folder() / "data" / "runs" / "bench" / f"{name}.json"
    return write_atomically(path, json.dumps(record, indent=1))


def table(record: dict) -> pd.DataFrame:
    """Milliseconds a step over the rounds; the ratio is to that of ours beside it."""
    ms = 1000 * pd.DataFrame(record["seconds"])
    ratio = ms / ms[[OURS.get(system, system) for system in ms]].to_numpy()
    summary = ms.agg(["median", "min", "max"]).T.assign(ratio=ratio.median())
    return summary.sort_values("median").rename_axis("system")
