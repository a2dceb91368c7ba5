"""Opens model and tokenizer of a folder or of the hub, or says what is wrong there."""

from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, logging

from .settings import InputError


@contextmanager
def readable(name: str | Path):
    """Says in one sentence that a folder is damaged, or the hub has no such model."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()  # of the weights, those that matter are checked
    try:
        yield
    except InputError:
        raise
    except Exception as cause:  # whatever other people's code makes of strange files
        reason = str(cause).strip().partition("\n")[0] or type(cause).__name__
        if "ignore_mismatched_sizes" in reason:
            reason = "its weights are misshapen: they do not fit its config.json"
        if Path(name).is_dir():
            raise damaged(name, reason) from cause
        why = f"encoder {str(name)!r} is no folder with a model, and the hub did not"
        told = f"{why} give it ({type(cause).__name__}); check name and connection."
        raise InputError(told) from cause
    finally:
        logging.set_verbosity(before)


def open_model(name: str | Path, dropout: float):
    """Model, tokenizer, and the weights of the pooler where it is trained.

    Nothing there is executed. Raises InputError for what no training could go on from.
    """
    own_code = {"trust_remote_code": False}
    config = AutoConfig.from_pretrained(name, **own_code)
    if getattr(config, "max_position_embeddings", 0) < 1:
        raise unlike_bert(name, config, "has no limit of positions")
    for rate, value in list(vars(config).items()):
        if "dropout" in rate and type(value) in (int, float):
            setattr(config, rate, dropout)
    options = {"config": config, "dtype": torch.float32, "output_loading_info": True}
    model, report = AutoModel.from_pretrained(name, **options, **own_code)
    for part in model.modules():  # models name the rate differently in their config
        if isinstance(part, nn.Dropout):
            part.p = dropout
    tokenizer = AutoTokenizer.from_pretrained(name, **own_code)
    for what in damages(model, tokenizer, report):
        raise damaged(name, what)
    if tokenizer.pad_token_id is None:  # padding is masked: any token will do
        first = tokenizer("")["input_ids"][0]
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(first)
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


def damaged(name: str | Path, reason: str) -> InputError:
    return InputError(f"encoder {str(name)!r} is damaged: {reason}.")


def damages(model: nn.Module, tokenizer, report: dict):
    """Whatever transformers would make up, or fail on in the middle of a training."""
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
    told = f"encoder {str(name)!r} is a {config.model_type}, which {what}"
    return InputError(f"{told}; give a model like BERT.")


@torch.no_grad()
def check_reading(name: str | Path, model: nn.Module) -> None:
    """Raises InputError unless the first token's vector depends on those behind it."""
    words = model.get_input_embeddings()(torch.tensor([[0, 1, 2], [0, 1, 3]]))
    refused = partial(unlike_bert, name, model.config)
    try:
        first, second = model.eval()(inputs_embeds=words).last_hidden_state[:, 0]
    except Exception as cause:
        raise refused("gives no vector for each token") from cause
    if torch.equal(first, second):
        raise refused("reads from left to right only")


def position_rows(model: nn.Module) -> tuple[int, int | None]:
    """The row that `model` reads for a first token's position, and the number of rows.

    RoBERTa and its relatives begin behind the padding's id. None: there is no table.
    """
    most = getattr(model.config, "max_position_embeddings", None)
    for name, part in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(part, nn.Embedding):
            first = 0 if part.padding_idx is None else part.padding_idx + 1
            return first, min(part.num_embeddings, most + first)
    return 0, most
