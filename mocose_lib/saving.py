"""A trained encoder as a folder that sentence-transformers, transformers and this library read.

The modules are those that sentence-transformers ships: Transformer, WeightedLayerPooling (for
"first_last"), Pooling, Dense (for "cls_pooler") and Normalize.
"""

import json
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import nn

TYPE = "sentence_transformers.models"


def save(encoder, folder: Path, normalize: bool, card: str) -> Path:
    """See `Encoder.save`."""
    folder.mkdir(parents=True, exist_ok=True)
    config = encoder.model.config
    first_last = encoder.pooling == "first_last"
    config.output_hidden_states = first_last
    encoder.model.save_pretrained(folder)
    config.output_hidden_states = False
    encoder.tokenizer.save_pretrained(folder)
    modules = [("", "Transformer")]
    if first_last:
        modules.append(("LayerPooling", "WeightedLayerPooling"))
    modules.append(("Pooling", "Pooling"))
    if encoder.pooling == "cls_pooler":
        modules.append(("Dense", "Dense"))
    if normalize:
        modules.append(("Normalize", "Normalize"))
    paths = [f"{i}_{path}" if path else "" for i, (path, _) in enumerate(modules)]
    listing = [
        {"idx": i, "name": str(i), "path": path, "type": f"{TYPE}.{kind}"}
        for i, (path, (_, kind)) in enumerate(zip(paths, modules, strict=True))
    ]
    _json(folder / "modules.json", listing)
    _json(folder / "sentence_bert_config.json", {"max_seq_length": encoder.max_length})
    _json(folder / "mocose.json", {"pooling": encoder.pooling})
    for path, (_, kind) in zip(paths, modules, strict=True):
        _module(encoder, kind, folder / path)
    if card:
        (folder / "README.md").write_text(card, encoding="utf-8")
    return folder


def _module(encoder, kind: str, folder: Path) -> None:
    """Settings and weights of one module of sentence-transformers."""
    width, layers = encoder.width, encoder.model.config.num_hidden_layers
    if kind == "Pooling":
        mean = encoder.pooling in ("mean", "first_last")
        _json(folder / "config.json", {
            "word_embedding_dimension": width, "pooling_mode_cls_token": not mean,
            "pooling_mode_mean_tokens": mean,
        })  # fmt: skip
    elif kind == "WeightedLayerPooling":
        _json(folder / "config.json", {
            "word_embedding_dimension": width, "layer_start": 0, "num_hidden_layers": layers,
        })  # fmt: skip
        ends = encoder.pooler.weight.new_zeros(layers + 1)
        ends[0] = ends[-1] = 0.5
        save_file({"layer_weights": ends}, folder / "model.safetensors")
    elif kind == "Dense":
        _json(folder / "config.json", {
            "in_features": width, "out_features": width, "bias": True,
            "activation_function": "torch.nn.modules.linear.Identity",
        })  # fmt: skip
        state = {f"linear.{name}": value for name, value in encoder.pooler.state_dict().items()}
        save_file(state, folder / "model.safetensors")
    elif kind == "Normalize":
        folder.mkdir(exist_ok=True)


def _json(path: Path, content) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def pooling_of(name: str | Path) -> str | None:
    """The pooling that `save` noted in the folder; None where it was not written by `save`."""
    noted = Path(name) / "mocose.json"
    return json.loads(noted.read_text())["pooling"] if noted.is_file() else None


def load_pooler(pooler: nn.Linear, name: str | Path) -> None:
    """Puts the saved weights of "cls_pooler" into `pooler`, where the folder has them."""
    for path in Path(name).glob("*_Dense/model.safetensors"):
        state = load_file(path)
        pooler.load_state_dict({key.removeprefix("linear."): v for key, v in state.items()})
