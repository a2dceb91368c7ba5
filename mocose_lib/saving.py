"""A trained encoder as a folder that sentence-transformers, transformers and this library read."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from .settings import InputError

# poolings in folders of sentence-transformers before 6
OLDER = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


def save(encoder, folder: Path, normalize: bool) -> Path:
    """Writes what `Encoder.save` promises, with modules that sentence-transformers ships.

    `normalize` adds one for vectors of length 1. Raises InputError for another program's model.
    """
    if (folder / "config.json").is_file() and not (folder / "mocose.json").is_file():
        raise InputError(
            f"{folder} holds a model that was not saved here; choose another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict = {"sentence_bert_config.json": {"max_seq_length": encoder.max_length}}
    texts |= {
        "mocose.json": {"pooling": encoder.pooling, "max_length": encoder.max_length}
    }
    texts["modules.json"] = []
    for i, (kind, settings, weights) in enumerate(_modules(encoder, normalize)):
        path, name = f"{i}_{kind}" if i else "", f"sentence_transformers.models.{kind}"
        texts["modules.json"].append(
            {"idx": i, "name": str(i), "path": path, "type": name}
        )
        (folder / path).mkdir(exist_ok=True)
        if settings:
            texts[f"{path}/config.json"] = settings
        if weights:
            save_file(weights, folder / path / "model.safetensors")
    for name, content in texts.items():
        (folder / name).write_text(
            json.dumps(content, indent=1) + "\n", encoding="utf-8"
        )
    config = encoder.model.config
    config.output_hidden_states = encoder.pooling == "first_last"
    encoder.model.save_pretrained(folder)
    config.output_hidden_states = False
    encoder.tokenizer.save_pretrained(folder)
    return folder


def _modules(encoder, normalize: bool):
    """Name, settings and weights of every module, in the order in which they are applied."""
    width, layers = encoder.width, encoder.model.config.num_hidden_layers
    mean = encoder.pooling in ("mean", "first_last")
    yield "Transformer", {}, {}
    if encoder.pooling == "first_last":
        ends = torch.tensor([0.5, *[0.0] * (layers - 1), 0.5])
        shape = {
            "layer_start": 0,
            "num_hidden_layers": layers,
            "word_embedding_dimension": width,
        }
        yield "WeightedLayerPooling", shape, {"layer_weights": ends}
    modes = {"pooling_mode_cls_token": not mean, "pooling_mode_mean_tokens": mean}
    yield "Pooling", {"word_embedding_dimension": width} | modes, {}
    if encoder.pooling == "cls_pooler":
        shape = {"in_features": width, "out_features": width, "bias": True}
        shape["activation_function"] = "torch.nn.modules.linear.Identity"
        weights = encoder.pooler.state_dict().items()
        yield "Dense", shape, {f"linear.{name}": value for name, value in weights}
    if normalize:
        yield "Normalize", {}, {}


def noted(folder: Path) -> dict:
    """Pooling and maximum length that `save` noted, or those of sentence-transformers' modules."""
    own, modules = _json(folder / "mocose.json", {}), _json(folder / "modules.json", [])
    path = next((m["path"] for m in modules if m["type"].endswith(".Pooling")), None)
    if own or path is None:
        return own
    modes = _json(folder / path / "config.json", {})
    older = "".join(mode for flag, mode in OLDER.items() if modes.get(flag))
    most = _json(folder / "tokenizer_config.json", {}).get("model_max_length", 128)
    length = (
        _json(folder / "sentence_bert_config.json", {}).get("max_seq_length") or most
    )
    return {"pooling": modes.get("pooling_mode", older), "max_length": length}


def load_pooler(pooler: nn.Linear, folder: Path) -> bool:
    """Puts the saved weights of "cls_pooler" into `pooler`, and says whether the folder has them."""
    modules = _json(folder / "modules.json", [])
    paths = [folder / m["path"] for m in modules if m["type"].endswith(".Dense")]
    for path in paths:
        state = load_file(path / "model.safetensors")
        pooler.load_state_dict({k.removeprefix("linear."): v for k, v in state.items()})
    return bool(paths)


def _json(file: Path, default):
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else default
