"""Unsupervised SimCSE as sentence-transformers trains it: the reference for `simcse`.

Theirs are tokens, forward passes, pooling, MultipleNegativesRankingLoss on pairs (x, x), and the
trainer with its optimiser, schedule and clipping. Ours are the encoder's weights at the start, the
sentences of each batch, the numbers of the Config, and the evaluation. Nothing but the encoder is
trained, which equals `simcse` with `mlp` "never". An interrupted run starts anew.
"""

import time
from importlib import import_module
from itertools import islice
from tempfile import TemporaryDirectory
from types import ModuleType

import datasets
import numpy as np
import torch
from torch.utils.data import BatchSampler, SequentialSampler
from transformers import PrinterCallback

from mocose_lib import Encoder, InputError
from mocose_lib.batches import batches
from mocose_lib.trainer import Progress
from mocose_study.config import Config
from mocose_study.data.corpora import column, load_corpus
from mocose_study.data.encoders import source

from .base import Fitted, load_encoder, training_ids


def library(part: str = "") -> ModuleType:
    """sentence-transformers, or a part of it. Raises InputError where a package is missing."""
    try:
        import_module("accelerate")  # which their trainer needs
        return import_module(f"sentence_transformers{part}")
    except ImportError as cause:
        raise InputError(
            f"method 'simcse_reference' needs the package {cause.name!r}, which is not installed; "
            "pip install sentence-transformers accelerate."
        ) from cause


def make_model(config: Config, encoder: Encoder):
    """Their model of the run's encoder, with its weights: a transformer and a pooling."""
    theirs, modules = library(), library(".sentence_transformer.modules")
    rates = ("hidden_dropout_prob", "attention_probs_dropout_prob")
    layers = {"num_hidden_layers": encoder.model.config.num_hidden_layers}
    transformer = modules.Transformer(
        str(source(config.encoder)),
        config_kwargs=layers | dict.fromkeys(rates, config.dropout),
        max_seq_length=config.max_length,
        model_kwargs={"dtype": torch.float32},
    )
    transformer.model.load_state_dict(encoder.model.state_dict(), strict=False)  # without pooler
    pooling = modules.Pooling(transformer.get_embedding_dimension(), config.pooling)
    # their trainer describes each model, and would ask the hub about it
    card = theirs.SentenceTransformerModelCardData(local_files_only=True)
    parts = [transformer, pooling]
    return theirs.SentenceTransformer(modules=parts, device=encoder.device, model_card_data=card)


def make_loss(config: Config, model) -> torch.nn.Module:
    losses = library(".sentence_transformer.losses")
    return losses.MultipleNegativesRankingLoss(model, scale=1 / config.temperature)


def inputs(config: Config, encoder: Encoder, bar: bool = False) -> datasets.Dataset:
    """The sentences of all batches, each beside itself. Raises InputError as `library`."""
    library()
    lengths = column(training_ids(config, encoder), "length")
    rows = np.concatenate([*islice(batches(lengths, config), config.steps)])
    texts = load_corpus(config.corpus, config.corpus_size)["sentence"][:]
    texts = [texts[row] for row in rows]
    return datasets.Dataset.from_dict({"anchor": texts, "positive": texts})


def in_order(dataset, batch_size: int, drop_last: bool, **_) -> BatchSampler:
    return BatchSampler(SequentialSampler(dataset), batch_size, drop_last)


def make_trainer(config: Config, model, data: datasets.Dataset, folder: str, bar: bool):
    """Their trainer, told what the Config says; it keeps the last step."""
    arguments = library().SentenceTransformerTrainingArguments(
        output_dir=folder,
        seed=config.seed,
        batch_sampler=in_order,
        per_device_train_batch_size=config.batch_size,
        max_steps=config.steps,
        learning_rate=config.lr,
        lr_scheduler_type="linear",
        warmup_steps=config.warmup_steps,
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        use_cpu=model.device.type == "cpu",
        dataloader_pin_memory=False,
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=not bar,
    )
    arguments._n_gpu = min(1, arguments.n_gpu)  # several would each get a batch of this size
    loss = make_loss(config, model)
    trainer = library().SentenceTransformerTrainer(model, arguments, data, loss=loss)
    trainer.remove_callback(PrinterCallback)
    return trainer


def fit(config: Config, checkpoint=None, device="cpu", bar=True) -> Fitted:
    started = time.monotonic()
    encoder = load_encoder(config, device)
    data = inputs(config, encoder)
    model = make_model(config, encoder)
    with TemporaryDirectory() as folder:
        make_trainer(config, model, data, folder, bar).train()
    encoder.model.load_state_dict(model[0].model.state_dict(), strict=False)  # without pooler
    return Fitted(encoder.encode, Progress(config.steps, time.monotonic() - started), encoder)
