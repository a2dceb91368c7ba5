"""What is asked of a folder, its model and its tokenizer before they make an encoder."""

from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import logging

from .settings import InputError


def damaged(name: str | Path, why: str) -> InputError:
    return InputError(f"encoder {str(name)!r} is damaged: {why}.")


@contextmanager
def readable(name: str | Path):
    """Says in one sentence that a folder cannot be read, or that the hub has no such model."""
    if not Path(name).is_dir() and str(name).count("/") != 1:
        hub = "a name of the hub like 'google-bert/bert-base-uncased'"
        why = f"encoder {str(name)!r} is no folder with a model"
        raise InputError(f"{why}; give one, or {hub}.")
    told = logging.get_verbosity()
    logging.set_verbosity_error()  # `check_complete` tells of the weights that matter
    try:
        yield
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        SafetensorError,
        RuntimeError,
    ) as cause:
        if Path(name).is_dir():
            raise damaged(name, str(cause).partition("\n")[0]) from cause
        why = f"the hub did not give it ({type(cause).__name__}); check the name or the connection."
        raise InputError(
            f"encoder {str(name)!r} is no folder with a model, and {why}"
        ) from cause
    finally:
        logging.set_verbosity(told)


def check_complete(name: str | Path, tokenizer, report: dict) -> None:
    """Raises InputError where transformers would make up weights or an empty vocabulary."""
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise damaged(name, "its tokenizer has no words")
    mismatched = [entry[0] for entry in report.get("mismatched_keys", ())]
    if lost := [
        key for key in (*report["missing_keys"], *mismatched) if "pooler" not in key
    ]:
        raise damaged(
            name, f"{len(lost)} of its weights are missing or misshapen, as {lost[0]!r}"
        )


def adapt(config, known: int, dropout: float) -> None:
    """Cuts lists with an entry for each of `known` layers, and sets every dropout."""
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    for name, value in list(vars(config).items()):
        if "layer" in name and isinstance(value, list | tuple) and len(value) == known:
            setattr(config, name, value[: config.num_hidden_layers])
        if "dropout" in name and type(value) in (int, float):
            setattr(config, name, dropout)


def content(tokenizer):
    """All that decides the ids that `tokenizer` gives now: equal to nothing where it is hidden."""
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is None:
        return object()
    backend.no_truncation()  # what its last call left
    backend.no_padding()
    split = getattr(tokenizer, "split_special_tokens", False)
    return backend.to_str(), tokenizer.truncation_side, split


def position_rows(model: nn.Module) -> tuple[int, int | None]:
    """The row that `model` reads for a first token's position, and how many rows it has (or None).

    RoBERTa and its relatives begin behind the padding's id.
    """
    named = dict(model.named_modules()).items()
    table = next(
        (part for name, part in named if name.endswith("position_embeddings")), None
    )
    if not hasattr(table, "weight"):
        return 0, getattr(model.config, "max_position_embeddings", None)
    rows: list[int] = []

    def note(_, given):
        rows.append(int(given[0].min()))
        raise LookupError  # nothing behind it has to be computed

    hook = table.register_forward_pre_hook(note)
    with suppress(LookupError), torch.no_grad():
        model(inputs_embeds=model.get_input_embeddings().weight[None, :1])
    hook.remove()
    return (rows or [0])[0], len(table.weight)
