"""A trained encoder as a folder that sentence-transformers and transformers read."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors.torch import load_file, save_file
from transformers.utils import cached_file

from .settings import InputError

POOLER = "2_Dense/model.safetensors"  # where the pooler of "cls_pooler" is written


def save(encoder, folder: Path, normalize: bool) -> Path:
    """Writes what `Encoder.save` promises: beside first, then each file in its place.

    config.json goes first and comes last: a mixture of two models does not load. Raises
    InputError for a folder with another program's model.
    """
    if (folder / "config.json").is_file() and not (folder / "mocose.json").is_file():
        why = "holds a model that was not saved here; choose another folder."
        raise InputError(f"{folder} {why}")
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".saving-*"):  # by a kill
        shutil.rmtree(left, ignore_errors=True)
    with TemporaryDirectory(prefix=".saving-", dir=folder) as beside:
        beside = Path(beside)
        _write(encoder, beside, normalize)
        (folder / "config.json").unlink(missing_ok=True)
        files = [path for path in beside.rglob("*") if path.is_file()]
        for new in sorted(files, key=lambda path: path == beside / "config.json"):
            old = folder / new.relative_to(beside)
            old.parent.mkdir(exist_ok=True)
            new.replace(old)
    return folder


def _write(encoder, folder: Path, normalize: bool) -> None:
    length = encoder.max_length
    texts = {"mocose.json": {"pooling": encoder.pooling, "max_length": length}}
    texts |= {"sentence_bert_config.json": {"max_seq_length": length}}
    texts["modules.json"] = []
    for i, (kind, settings, weights) in enumerate(_modules(encoder, normalize)):
        path, name = f"{i}_{kind}" if i else "", f"sentence_transformers.models.{kind}"
        module = {"idx": i, "name": str(i), "path": path, "type": name}
        texts["modules.json"].append(module)
        (folder / path).mkdir(exist_ok=True)
        if settings:
            texts[f"{path}/config.json"] = settings
        if weights:
            save_file(weights, folder / path / "model.safetensors")
    for name, content in texts.items():
        text = json.dumps(content, indent=1) + "\n"
        (folder / name).write_text(text, encoding="utf-8")
    config = encoder.model.config
    config.output_hidden_states = encoder.pooling == "first_last"
    encoder.model.save_pretrained(folder)
    config.output_hidden_states = False
    encoder.tokenizer.save_pretrained(folder)
    for file in folder.rglob("*.safetensors"):  # which safetensors makes private
        file.chmod((folder / "mocose.json").stat().st_mode)


def _modules(encoder, normalize: bool):
    """Name, settings and weights of the modules, in the order of their use."""
    width, layers = encoder.width, encoder.model.config.num_hidden_layers
    mean = encoder.pooling in ("mean", "first_last")
    yield "Transformer", {}, {}
    dimension = {"word_embedding_dimension": width}
    if encoder.pooling == "first_last":
        ends = torch.tensor([0.5, *[0.0] * (layers - 1), 0.5])
        shape = {"layer_start": 0, "num_hidden_layers": layers} | dimension
        yield "WeightedLayerPooling", shape, {"layer_weights": ends}
    modes = {"pooling_mode_cls_token": not mean, "pooling_mode_mean_tokens": mean}
    yield "Pooling", dimension | modes, {}
    if encoder.pooling == "cls_pooler":
        shape = {"in_features": width, "out_features": width, "bias": True}
        shape["activation_function"] = "torch.nn.modules.linear.Identity"
        weights = encoder.pooler.state_dict().items()
        yield "Dense", shape, {f"linear.{name}": value for name, value in weights}
    if normalize:
        yield "Normalize", {}, {}


def noted(name: str | Path, pooling: str | None) -> tuple[str, int, dict | None]:
    """Pooling, max_length and the weights of a trained pooler that `save` left there.

    Raises InputError where sentence-transformers left modules, unless `pooling` takes
    their place.
    """
    quiet = ("missing_entries", "connection_errors", "gated_repo")
    quiet = {f"_raise_exceptions_for_{kind}": False for kind in quiet}
    if not (file := cached_file(name, "mocose.json", **quiet)):
        if not pooling and cached_file(name, "modules.json", **quiet):
            told = f"{name} has modules of sentence-transformers"
            raise InputError(f"{told}; name the pooling that is to take their place.")
        return "cls", 128, None
    left, pooler = json.loads(Path(file).read_text(encoding="utf-8")), None
    if left["pooling"] == "cls_pooler":
        weights = load_file(cached_file(name, POOLER)).items()
        pooler = {key.removeprefix("linear."): value for key, value in weights}
    return left["pooling"], left["max_length"], pooler
