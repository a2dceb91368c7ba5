"""Whatever decides a run's numbers is part of its name, by content."""

import shutil

import farm
import pytest

from mocose_study.config import Config, InputError, configure
from mocose_study.data import contents, encoders
from mocose_study.data.sources import revision_on_hub
from mocose_study.runs.files import run_ids
from mocose_study.systems import SYSTEMS

READS = ("encoder", "corpus")


FILES = {  # what a run may read, and the field that names it
    "text.txt": ["corpus"],
    "pairs.tsv": ["benchmark"],
    "dev.tsv": ["dev"],
    "encoder/tokenizer.json": ["encoder"],
    "encoder/model.safetensors": ["encoder"],
    "encoder/pretraining.json": [],
    "encoder/README.md": [],
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_changed_in_place_is_another_input(study, tiny, file):
    shutil.copytree(tiny, study / "encoder")
    for name in ("text.txt", "pairs.tsv", "dev.tsv", "encoder/README.md"):
        (study / name).write_text(farm.table())
    (study / "encoder" / "pretraining.json").write_text("{}")
    files = {"corpus": "text.txt", "benchmark": "pairs.tsv", "dev": "dev.tsv"}
    own = {x: str(study / name) for x, name in (files | {"encoder": "encoder"}).items()}
    config = Config(corpus_size=2, batch_size=2, **own)
    before, path = contents.digests(config, READS), study / file
    path.write_bytes(path.read_bytes()[::-1])  # of the same size
    after = contents.digests(config, READS)
    assert [name for name in before if before[name] != after[name]] == FILES[file]


def test_another_data_folder_has_other_contents(study, monkeypatch):
    seen = set()
    for name, text in (("a", "4.5"), ("b", "3.5")):
        path = farm.make(study / name) / "sts" / "STS14.tsv"
        path.write_text(farm.table().replace("4.5", text))
        monkeypatch.setenv("MOCOSE_DATA", str(study / name))
        seen.add(contents.digests(Config(benchmark="real"), ())["benchmark"])
    assert len(seen) == 2


def test_without_the_data_the_record_says_what_was_read(real_data, monkeypatch):
    config = configure("tiny", transfer=True)
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    recorded = contents.digests(config, READS)
    monkeypatch.setenv("MOCOSE_DATA", str(real_data))
    assert contents.digests(config, READS) == recorded


def test_an_encoder_of_the_hub_is_named_by_its_revision(tmp_path, monkeypatch):
    roberta, asked = "FacebookAI/roberta-base", []
    assert encoders.fingerprint(roberta) == encoders.PINNED[roberta]
    monkeypatch.setattr(encoders, "revision_on_hub", {"some/encoder": "f00"}.get)
    assert encoders.fingerprint("some/encoder") == "f00"
    assert encoders.fingerprint("other/one") == "other/one"

    def snapshot(name, revision, allow_patterns):
        asked.append((name, revision, allow_patterns[-1]))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    (tmp_path / "pytorch_model.bin").touch()  # the other form is asked for first
    assert encoders.source("some/encoder") == tmp_path
    forms = ("*.safetensors", "*.bin")
    assert asked == [("some/encoder", "f00", form) for form in forms]
    with pytest.raises(InputError, match="neither a folder under data/encoders"):
        encoders.source("other/one")


def test_the_revision_is_that_of_the_copy_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    # one that was fetched by its commit, which leaves no `refs`
    (tmp_path / "datasets--farm--text" / "snapshots" / "f00").mkdir(parents=True)
    assert revision_on_hub("farm/text", "dataset") == "f00"
    assert revision_on_hub("farm/nothing", "dataset") is None


def test_what_the_hub_alone_has_is_named_by_its_commit(monkeypatch):
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    seen = []
    for commit in ("f00", "f01", None):
        monkeypatch.setattr(contents, "revision_on_hub", lambda *_, it=commit: it)
        seen.append(contents.digests(configure("base"), ("corpus", "triplets")))
    for what, number in {"corpus": 3, "triplets": 3, "benchmark": 1}.items():
        assert len({digests[what] for digests in seen}) == number


def test_a_runs_name_does_not_hang_on_the_runs_beside_it(monkeypatch):
    monkeypatch.setattr(encoders, "revision_on_hub", lambda name: None)
    configs = [Config(text_augmentation=kind) for kind in ("none", "paraphrase")]
    assert run_ids(configs) == [run_ids([config])[0] for config in configs]


def test_no_run_of_an_offline_profile_asks_a_hub(monkeypatch):
    asked = lambda *name: pytest.fail(f"asked for {name}")  # noqa: E731
    for room in (encoders, contents):
        monkeypatch.setattr(room, "revision_on_hub", asked)
    for name, system in SYSTEMS.items():
        contents.digests(configure("tiny", method=name), system.reads)


def test_a_runs_name_does_not_hang_on_the_current_folder(tmp_path, monkeypatch):
    """A file there that is called like one of the study's is not what a run reads."""
    configs = configure("quick"), configure("base")
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    before = [contents.digests(config, READS) for config in configs]
    for name in ("open/snli2017.tsv", "sts/STS12.tsv", "tiny/config.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("another file")
    monkeypatch.chdir(tmp_path)
    assert [contents.digests(config, READS) for config in configs] == before
    assert encoders.locate("./tiny").samefile(tmp_path / "tiny")
