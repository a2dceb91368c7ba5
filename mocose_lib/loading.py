"""Opens the model and tokenizer of a folder or the hub, or says what is wrong."""

import logging
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging as notices

from .settings import InputError, Range, check

log = logging.getLogger(__name__)


@contextmanager
def readable(name: str | Path):
    """Says in one sentence that a folder is damaged, or the hub has no such model."""
    why = f"encoder {str(name)!r} is no folder with a model"
    if not os.path.isdir(str(name)) and str(name).count("/") != 1:  # "" is none
        raise InputError(f"{why}; give one, or an owner/name of the hub.")
    verbosity = notices.get_verbosity()
    notices.set_verbosity_error()  # of the weights, those that matter are checked
    try:
        yield
    except InputError:
        raise
    except Exception as cause:  # whatever other people's code makes of strange files
        reason = str(cause).strip().partition("\n")[0] or type(cause).__name__
        if "ignore_mismatched_sizes" in reason:
            reason = "its weights are misshapen: they do not fit its config.json"
        hub = f"and the hub did not give it ({type(cause).__name__})"
        said = f"{why}, {hub}; check name and connection."
        if Path(name).is_dir() or isinstance(cause, ValueError):
            said = f"encoder {str(name)!r} is damaged: {reason.rstrip('.:')}."
        raise InputError(said) from cause
    finally:
        notices.set_verbosity(verbosity)


def open_model(name: str | Path, layers: int | None, dropout: float, noted: dict):
    """Model with its first `layers` layers, tokenizer, and weights of a trained pooler.

    Nothing there is executed. Raises InputError for what no training could go on from.
    """
    where = {"subfolder": noted["subfolder"], "trust_remote_code": False}
    config = AutoConfig.from_pretrained(name, **where)
    known = getattr(config, "num_hidden_layers", 0)
    if getattr(config, "max_position_embeddings", 0) < 1 or known < 1:
        raise unlike_bert(name, config, "has no limit of positions")
    if known > 1000:  # a damaged number, which takes minutes to build
        raise ValueError(f"its config.json asks for {known} layers")
    layers = check("layers", layers, Annotated[int, Range(1, known)] | None)
    config.num_hidden_layers = layers or known
    adapt(config, known, dropout)
    options = {"config": config, "dtype": torch.float32, "output_loading_info": True}
    model, report = AutoModel.from_pretrained(name, **options, **where)
    for part in model.modules():  # models name the rate differently in their config
        if isinstance(part, nn.Dropout):
            part.p = dropout
    tokenizer = AutoTokenizer.from_pretrained(name, **where)
    for what in damages(model, tokenizer, report):
        raise ValueError(what)
    if tokenizer.pad_token_id is None:  # padding is masked: any token will do
        tokenizer.pad_token_id = tokenizer("")["input_ids"][0]
    with TemporaryDirectory() as folder:  # saving must not fail after the training
        config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    check_reading(name, model)
    return model, tokenizer, trained_pooler(model, report["missing_keys"])


def trained_pooler(model: nn.Module, missing) -> dict | None:
    """The weights of the pooler, where they were loaded; `model` loses it."""
    if (pooler := getattr(model, "pooler", None)) is None:
        return None
    model.pooler = nn.Identity()  # that of `Encoder` takes its place
    state = getattr(pooler, "dense", pooler).state_dict()
    width, shapes = model.config.hidden_size, [tuple(v.shape) for v in state.values()]
    lost = any("pooler" in key for key in missing) or shapes != [(width,) * 2, (width,)]
    return None if lost else state


def adapt(config, known: int, dropout: float) -> None:
    """Cuts lists with an entry for each of `known` layers; sets all dropout rates."""
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    for name, value in list(vars(config).items()):
        sized = isinstance(value, list | tuple) and len(value) == known
        if sized and ("layer" in name or "window" in name):  # not pos_att_type
            setattr(config, name, value[: config.num_hidden_layers])
        if "dropout" in name and type(value) in (int, float):
            setattr(config, name, dropout)


def damages(model: nn.Module, tokenizer, report: dict):
    """What transformers would invent, or fail on in the middle of a training."""
    if lost := [key for key in report["missing_keys"] if "pooler" not in key]:
        yield f"{len(lost)} of its weights are missing, as {lost[0]!r}"
    if not all(p.isfinite().all() for p in model.parameters()):
        yield "its weights hold NaN or infinity"
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        yield "its tokenizer has no words"
    rows = len(model.get_input_embeddings().weight)
    if (most := max(tokenizer.get_vocab().values())) >= rows:
        yield f"its tokenizer has the id {most}, its model {rows} embeddings"
    if not tokenizer("")["input_ids"]:
        yield "its tokenizer puts no token before or behind a sentence"


def unlike_bert(name: str | Path, config, what: str) -> InputError:
    message = f"encoder {str(name)!r} is a {config.model_type}, which {what}"
    return InputError(f"{message}; give a model like BERT.")


@torch.no_grad()
def check_reading(name: str | Path, model: nn.Module) -> None:
    """Raises InputError for a model unlike BERT; warns of one that reads padding."""
    a, b, c, d, *_ = (x for x in range(5) if x != model.config.pad_token_id)
    ids = torch.tensor([[a, b, c], [a, d, c], [a, b, d]])
    given = {"attention_mask": torch.tensor([[1, 1, 0]] * 3)}
    try:
        words = model.eval().get_input_embeddings()(ids)
        vectors = model(inputs_embeds=words, **given).last_hidden_state
        first, other, padded = vectors.reshape(3, 3, model.config.hidden_size)[:, 0]
        same = torch.allclose(model(ids, **given)[0], vectors, atol=1e-4)
    except Exception as cause:
        raise unlike_bert(name, model.config, "has no vector for each token") from cause
    if not same:
        raise unlike_bert(name, model.config, "does more with ids than embed them")
    if torch.equal(first, other):
        raise unlike_bert(name, model.config, "reads from left to right only")
    if not torch.allclose(first, padded, atol=1e-4):
        log.warning("%s reads padding, too: its scores change with batch_size", name)


def position_rows(model: nn.Module) -> tuple[int, int | None]:
    """The row that `model` reads for a first token's position, and the number of rows.

    RoBERTa and its relatives begin behind the padding's id. None: there is no table.
    """
    named = dict(model.named_modules()).items()
    tables = [part for name, part in named if name.endswith("position_embeddings")]
    if not tables or not hasattr(tables[0], "weight"):
        return 0, getattr(model.config, "max_position_embeddings", None)
    rows: list[int] = []

    def note(_, given):
        first, *_, last = given[0].flatten().tolist()
        if first < last:  # else the model embeds padding of its own
            rows.append(first)
            raise LookupError  # nothing behind it has to be computed

    hook = tables[0].register_forward_pre_hook(note)
    with suppress(LookupError), torch.no_grad():
        model(inputs_embeds=model.get_input_embeddings().weight[None, :2])
    hook.remove()
    return (rows or [0])[0], len(tables[0].weight)
