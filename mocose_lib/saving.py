"""A trained encoder as a folder, which sentence-transformers reads, too."""

import copy
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers.utils import cached_file

from .settings import InputError

APPLIED = {"Transformer", "Pooling", "Normalize"}  # the last one changes no cosine
POOLINGS = {"cls": "cls", "cls_token": "cls", "mean": "mean", "mean_tokens": "mean"}
BESIDE = ("default_prompt_name", "truncate_dim", "do_lower_case", "processing_kwargs")
THEIRS = "config_sentence_transformers.json"  # which `save` never writes
MODELS = ("config.json", "modules.json", "adapter_config.json")  # of any program


def save(encoder, folder: str | Path, normalize: bool = False) -> Path:
    """Writes a folder that SentenceTransformer, AutoModel and `Encoder.load` read.

    `normalize` adds a module for vectors of length 1. The pooler is a module where the
    pooling uses it, else it is left out. All is written to .saving first. The old
    config.json goes, and the new one comes last: no mixture of models loads. Raises
    InputError for a folder with another program's model, and for an untrained pooler.
    """
    folder = Path(folder)
    encoder.check_pooler()
    other = any((folder / name).is_file() for name in MODELS)
    if other and not (folder / "mocose.json").is_file():
        raise InputError(
            f"{folder} holds a model that was not saved here; choose another folder."
        )
    beside = folder / ".saving"
    shutil.rmtree(beside, ignore_errors=True)  # left by a kill
    _write(encoder, beside, normalize)
    for name in ("config.json", THEIRS):
        (folder / name).unlink(missing_ok=True)
    files = [path for path in beside.rglob("*") if path.is_file()]
    last = beside / "config.json"
    for file in sorted(files, key=lambda x: (x.name != "mocose.json", x == last)):
        place = folder / file.relative_to(beside)
        place.parent.mkdir(exist_ok=True)
        file.replace(place)
    shutil.rmtree(beside)
    return folder


def _write(encoder, folder: Path, normalize: bool) -> None:
    most = encoder.max_length
    texts = {"mocose.json": {"pooling": encoder.pooling, "max_length": most}}
    texts |= {"sentence_bert_config.json": {"max_seq_length": most}, "modules.json": []}
    for i, (kind, settings, weights) in enumerate(_modules(encoder, normalize)):
        path, name = f"{i}_{kind}" if i else "", f"sentence_transformers.models.{kind}"
        module = {"idx": i, "name": str(i), "path": path, "type": name}
        texts["modules.json"].append(module)
        (folder / path).mkdir(parents=True, exist_ok=True)
        if settings:
            texts[f"{path}/config.json"] = settings
        if weights:
            save_file(weights, folder / path / "model.safetensors")
    for name, content in texts.items():
        text = json.dumps(content, indent=1) + "\n"
        (folder / name).write_text(text, encoding="utf-8")
    encoder.model.save_pretrained(folder)
    config = copy.copy(encoder.model.config)
    config.output_hidden_states = encoder.pooling == "first_last"
    config.save_pretrained(folder)
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


def noted(name: str | Path, named: str | None) -> dict:
    """The settings that `save` or sentence-transformers left in a folder.

    They are pooling, max_length, the model's subfolder, the pooler's weights. Raises
    InputError for what is not applied here, unless a pooling is `named`.
    """
    quiet = ("missing_entries", "connection_errors", "gated_repo")
    quiet = {f"_raise_exceptions_for_{kind}": False for kind in quiet}

    def read(file: str, default, subfolder: str = ""):
        path = cached_file(name, file, subfolder=subfolder, **quiet)
        return json.loads(Path(path).read_text(encoding="utf-8")) if path else default

    modules = read("modules.json", [])
    paths = {m["type"].rpartition(".")[2]: m["path"] for m in modules}
    folder = paths.get("Transformer", "")
    left = {"pooling": "cls", "max_length": 128, "subfolder": folder, "pooler": None}
    theirs = read(THEIRS, {}) if modules else {}  # also where they saved after us
    own = {} if theirs else read("mocose.json", {})
    if own or not modules:
        if "Dense" in paths:
            file = f"{paths['Dense']}/model.safetensors"
            weights = load_file(cached_file(name, file)).items()
            left["pooler"] = {k.removeprefix("linear."): v for k, v in weights}
        return left | own
    bert = read("sentence_bert_config.json", {}, folder)
    words = read("tokenizer_config.json", {}, folder)
    beside = theirs | bert
    refused = sorted(paths.keys() - APPLIED) + [x for x in BESIDE if beside.get(x)]
    modes = read(f"{paths['Pooling']}/config.json", {}) if "Pooling" in paths else {}
    flags = [k[13:] for k, on in modes.items() if on and k.startswith("pooling_mode_")]
    pooling = str(modes.get("pooling_mode") or " + ".join(flags))
    if pooling not in POOLINGS:
        refused.append(f"pooling {pooling or 'that is missing'}")
    if refused and not named:
        message = f"{name} has what is not applied here: {', '.join(refused)}"
        raise InputError(f"{message}; name a pooling to leave it out.")
    length = bert.get("max_seq_length") or words.get("model_max_length", 128)
    return left | {"pooling": POOLINGS.get(pooling), "max_length": length}
