"""Whatever decides a run's numbers is part of its name, by content."""

import shutil

import farm
import pytest
import torch
from transformers import AutoModel

from mocose_study.config import Config, InputError, configure
from mocose_study.data import contents, encoders
from mocose_study.data.sources import revision_on_hub
from mocose_study.sections import GRIDS


@pytest.fixture
def own(study, tiny):
    """A Config of which every input is a file of one's own."""
    encoder = shutil.copytree(tiny, study / "encoder")
    (study / "text.txt").write_text("One duck swam.\nTwo ducks sang.\n")
    for name in ("pairs", "dev"):
        (study / f"{name}.tsv").write_text(farm.table())
    files = {"corpus": "text.txt", "benchmark": "pairs.tsv", "dev": "dev.tsv"}
    own = {field: str(study / name) for field, name in files.items()}
    return Config(encoder=str(encoder), corpus_size=2, batch_size=2, **own)


def swap(text):
    """Changes a file in place, and keeps its size."""
    return lambda path: path.write_text(path.read_text().replace(*text))


def other_weights(path):
    model = AutoModel.from_pretrained(path.parent)
    torch.nn.init.normal_(next(model.parameters()))
    path.unlink()
    model.save_pretrained(path.parent)


@pytest.mark.parametrize(
    ("file", "change", "fields"),
    [
        ("text.txt", swap(("swam", "sank")), {"corpus"}),
        ("pairs.tsv", swap(("4.5", "3.5")), {"benchmark"}),
        ("dev.tsv", swap(("4.5", "3.5")), {"dev"}),
        ("encoder/tokenizer.json", swap(('"[MASK]"', '"[MUSK]"')), {"encoder"}),
        ("encoder/model.safetensors", other_weights, {"encoder"}),
        (
            "encoder/pretraining.json",
            lambda path: path.write_text("{}"),
            set(),
        ),  # its history
        ("encoder/README.md", lambda path: path.write_text("Good."), set()),
    ],
)
def test_a_file_changed_in_place_is_another_input(study, own, file, change, fields):
    before = contents.digests(own)
    change(study / file)
    after = contents.digests(own)
    assert {name for name in before if before[name] != after[name]} == fields


def test_another_data_folder_has_other_contents(study, monkeypatch):
    config, found = Config(benchmark="real", method="untrained", fgsm_epsilon=0.0), []
    for name, text in (("a", "4.5"), ("b", "3.5")):
        farm.make(study / name)
        (study / name / "sts" / "STS14.tsv").write_text(
            farm.table().replace("4.5", text)
        )
        monkeypatch.setenv("MOCOSE_DATA", str(study / name))
        found.append(contents.digests(config)["benchmark"])
    assert found[0] != found[1]


def test_without_the_data_the_record_says_what_the_studys_runs_have_read(
    real_data, monkeypatch
):
    config = configure("tiny", transfer=True)
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    recorded = contents.digests(config)
    monkeypatch.setenv("MOCOSE_DATA", str(real_data))
    assert contents.digests(config) == recorded


def test_an_encoder_of_the_hub_is_fetched_and_named_by_its_revision(tiny, monkeypatch):
    for name in ("bert-base-uncased", "bert-large-uncased", "roberta-base"):
        assert len(encoders.digest(name)) == 40
    known = {"some/encoder": "f00"}
    monkeypatch.setattr(encoders, "revision_on_hub", known.get)
    asked = []

    def snapshot(name, revision, allow_patterns, local_files_only):
        asked.append((name, revision))
        return str(tiny)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert (
        encoders.digest("some/encoder") == "f00"
        and encoders.digest("other/one") == "other/one"
    )
    assert encoders.source("some/encoder") == tiny and asked == [
        ("some/encoder", "f00")
    ]
    with pytest.raises(InputError, match="neither a folder under data/encoders"):
        encoders.source("other/one")


def test_the_revision_is_that_of_the_copy_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    refs = tmp_path / "datasets--farm--text" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text("f00\n")
    assert revision_on_hub("farm/text", "dataset") == "f00"
    assert revision_on_hub("farm/nothing", "dataset") is None


def test_what_the_hub_alone_has_is_named_by_its_commit(monkeypatch):
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    monkeypatch.setattr(encoders, "revision_on_hub", lambda name: None)
    supervised = configure("base", method="simcse_supervised", pooling="cls")
    found = []
    for commit in ("f00", "f01", None):
        monkeypatch.setattr(
            contents, "revision_on_hub", lambda *name, commit=commit: commit
        )
        found.append(contents.digests(supervised))
    for what in ("corpus", "triplets"):
        assert len({digests[what] for digests in found}) == 3
    assert len({digests["benchmark"] for digests in found}) == 1


def test_no_run_of_the_offline_profiles_asks_a_hub(monkeypatch):
    for room in (encoders, contents):
        monkeypatch.setattr(
            room, "revision_on_hub", lambda *name: pytest.fail(f"asked for {name}")
        )
    for grid in GRIDS.values():
        for config in grid.configs("tiny", [0]):
            contents.digests(config)


def test_runs_of_an_encoder_that_is_not_here_are_found_by_its_recorded_digest(
    tiny, tmp_path, monkeypatch
):
    """Those after a part of the pre-training lie in no checkout."""
    monkeypatch.setattr(encoders, "shipped", lambda name: tmp_path / name)
    folder = shutil.copytree(tiny, tmp_path / "encoders" / "tiny-1M")
    found = encoders.digest("tiny-1M")
    shutil.rmtree(folder)
    assert encoders.digest("tiny-1M") == "tiny-1M"
    folder.with_suffix(".digest").write_text(found)
    assert encoders.digest("tiny-1M") == found


def test_a_runs_name_does_not_hang_on_the_current_folder(tmp_path, monkeypatch):
    """A file there that is called like one of the study's is not what a run reads."""
    config = configure("quick")
    before = contents.digests(config)
    for name in ("images2014", "snli2017"):
        (tmp_path / "open").mkdir(exist_ok=True)
        (tmp_path / "open" / f"{name}.tsv").write_text("another file")
    monkeypatch.chdir(tmp_path)
    assert contents.digests(config) == before
