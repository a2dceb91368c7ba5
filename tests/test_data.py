"""Sources, checksums and the order of the data. Every sentence here is made up or generated."""

import hashlib
import lzma

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from mocose_study.data import corpora as data, sources, tasks, world
from mocose_lib.batches import batches
from mocose_study.config import Config, InputError
from mocose_study.systems.base import load_encoder, training_ids

LINES = ["One duck swam.", "Two ducks sang.", "", "A hen slept.", "  The cock crowed.  ", "", "Rain fell."]


@pytest.fixture
def folder(study, monkeypatch):
    """A data folder of the right form: a corpus in two files, one STS task, checksums."""
    place = study / "pack"
    (place / "corpus").mkdir(parents=True)
    (place / "sts").mkdir()
    halves = LINES[:4], LINES[4:]
    for i, lines in enumerate(halves):
        with lzma.open(place / "corpus" / f"part_{i}.txt.xz", "wt", encoding="utf-8") as file:
            file.write("\n".join(lines))
    world.sts_pairs("captions", 20).to_csv(place / "sts" / "STS12.tsv", sep="\t", index=False, quoting=3)
    monkeypatch.setenv("MOCOSE_DATA", str(place))
    source = data.Corpus(("corpus/part_0.txt.xz", "corpus/part_1.txt.xz"))
    monkeypatch.setitem(data.CORPORA, "farm", source)
    for cached in (sources.sha256, sources.checksums, sources.checked):
        cached.cache_clear()
    return place


def write_sums(folder):
    lines = [
        f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(folder).as_posix()}\n"
        for p in sorted(folder.rglob("*.*"))
    ]
    (folder / "SHA256SUMS").write_text("".join(lines))


def test_a_corpus_is_its_non_empty_lines_with_their_documents(folder):
    corpus = data.load_corpus("farm", 5)
    assert corpus["sentence"][:] == [line.strip() for line in LINES if line]
    documents = corpus["document"][:]
    assert documents[0] == documents[1] != documents[2] and documents == sorted(documents)
    for size in (2, 4):  # the limit holds over all files, not for each
        assert data.load_corpus("farm", size)["sentence"][:] == [line.strip() for line in LINES if line][:size]


def test_a_text_file_of_ones_own_is_a_corpus(study):
    own = study / "mine.txt"
    own.write_text("\n".join(LINES), encoding="utf-8")
    assert len(data.load_corpus(str(own), 5)) == 5


@pytest.mark.parametrize(("load", "make", "task"), [
    (tasks.sts_pairs, "sts_pairs", world.DEV_TASK),
    (tasks.transfer_task, "classification", "topic"),
])  # fmt: skip
def test_generated_tables_are_made_once_and_read_as_they_were_made(
    study, monkeypatch, load, make, task
):
    monkeypatch.setitem(tasks.ROWS_GENERATED, "generated", 30)
    first = load(task, benchmark="generated")
    assert_frame_equal(first, getattr(world, make)(task, 30))
    monkeypatch.setattr(world, "_distinct", None)  # nothing can be made from here on
    assert_frame_equal(load(task, benchmark="generated"), first)


def test_the_cache_follows_the_content(study):
    own = study / "mine.txt"
    own.write_text("A first version.\nOf two lines.\n")
    assert data.load_corpus(str(own), 2)["sentence"][0] == "A first version."
    own.write_text("A second version.\nOf two lines.\n")
    sources.sha256.cache_clear()
    assert data.load_corpus(str(own), 2)["sentence"][0] == "A second version."


def test_too_few_sentences_is_one_sentence(folder):
    with pytest.raises(InputError, match="has 5 sentences; corpus_size = 6"):
        data.load_corpus("farm", 6)


def test_an_unknown_corpus_and_one_without_a_folder(study, monkeypatch):
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    with pytest.raises(InputError, match="choose one of"):
        data.load_corpus("nowhere", 5)
    with pytest.raises(InputError, match="MOCOSE_DATA"):
        data.load_corpus("wiki900k", 5)


def test_the_hub_that_cannot_be_reached_is_one_sentence(study, monkeypatch):
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    with pytest.raises(InputError, match="hub"):
        data.load_corpus("wiki1m", 5)


def test_sts_without_folder_and_hub_is_one_sentence(study, monkeypatch):
    monkeypatch.delenv("MOCOSE_DATA", raising=False)
    monkeypatch.setattr(tasks.datasets, "load_dataset", lambda *a, **k: (_ for _ in ()).throw(ConnectionError()))
    with pytest.raises(InputError, match="give a local folder"):
        tasks.sts_pairs("STS12")


def test_a_data_folder_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("MOCOSE_DATA", "/nowhere/at/all")
    with pytest.raises(InputError, match="does not exist"):
        sources.folder()


def test_checksums_are_held_against_the_files(folder):
    write_sums(folder)
    assert sources.checked(folder, "sts/STS12.tsv").exists()
    path = folder / "corpus" / "part_0.txt.xz"
    path.write_bytes(path.read_bytes() + b"x")
    sources.sha256.cache_clear()
    with pytest.raises(InputError, match="damaged"):
        data.load_corpus("farm", 5)


def test_missing_damaged_and_wrong_files_are_one_sentence_each(folder):
    with pytest.raises(InputError, match="missing"):
        tasks.sts_pairs("STS13")
    (folder / "sts" / "STS13.tsv").write_text("score\tsentence1\n3\tA hen.\n")
    with pytest.raises(InputError, match="columns"):
        tasks.sts_pairs("STS13")
    (folder / "sts" / "STS14.tsv").write_text("subset\tscore\tsentence1\tsentence2\nfarm\t5.5\tA hen.\tA cock.\n")
    with pytest.raises(InputError, match="0 to 5"):
        tasks.sts_pairs("STS14")
    (folder / "sts" / "STS15.tsv").write_bytes(b"subset\tscore\n\xff\xfe\x00")
    with pytest.raises(InputError, match="STS15"):
        tasks.sts_pairs("STS15")
    (folder / "sts" / "STS16.tsv").write_text("")
    with pytest.raises(InputError, match="STS16"):
        tasks.sts_pairs("STS16")


@pytest.mark.parametrize("cut", [10, -5])
def test_a_cut_off_corpus_file_is_one_sentence(folder, cut):
    path = folder / "corpus" / "part_1.txt.xz"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="part_1"):
        data.load_corpus("farm", 5)


def test_pairs_come_as_they_are_written(folder):
    frame = tasks.sts_pairs("STS12")
    assert tuple(frame.columns) == tasks.PAIR_COLUMNS and len(frame) == 20
    assert frame["sentence1"].tolist() == world.sts_pairs("captions", 20)["sentence1"].tolist()


def test_a_quote_and_the_word_null_are_ordinary_text(folder):
    (folder / "sts" / "STS13.tsv").write_text(
        'subset\tscore\tsentence1\tsentence2\nfarm\t2\tnull\t"A hen\nfarm\t3\tNA\tA cock"\n'
    )
    frame = tasks.sts_pairs("STS13")
    assert frame["sentence1"].tolist() == ["null", "NA"] and frame["sentence2"].tolist() == ['"A hen', 'A cock"']


def test_token_ids_are_the_tokenizers_own_and_are_made_once(encoder, study):
    corpus = data.load_corpus("generated", 30)
    ids = data.tokenized(corpus, encoder.tokenizer, 12)
    texts = corpus["sentence"][:]
    assert ids["input_ids"][:] == encoder.tokenize(texts, 12)
    assert ids["length"][:] == [len(x) for x in ids["input_ids"][:]] and max(ids["length"][:]) == 12
    files = sorted((study / "data" / "cache").glob("*.arrow"))
    data.tokenized(data.load_corpus("generated", 30), encoder.tokenizer, 12)
    assert sorted((study / "data" / "cache").glob("*.arrow")) == files
    bare = data.tokenized(corpus, encoder.tokenizer, None)
    assert bare["input_ids"][0] == encoder.tokenizer(texts[0], add_special_tokens=False)["input_ids"]


def test_more_tokens_than_the_encoder_reads_is_one_sentence(small):
    config = small(max_length=76)
    with pytest.raises(InputError, match="reads only 75"):
        training_ids(config, load_encoder(config, "cpu"))


# --- batches ---
LENGTHS = np.random.default_rng(0).integers(5, 12, 100)


def take(n, start=0, lengths=LENGTHS, **changes):
    config = Config(**{"batch_size": 8, "batch_lengths": "mixed", **changes})
    stream = batches(lengths, config, start)
    return [next(stream).tolist() for _ in range(n)]


@pytest.mark.parametrize("kind", ["mixed", "equal"])
def test_an_epoch_has_every_row_at_most_once(kind):
    per_epoch = 100 // 8 if kind == "mixed" else sum(n // 8 for n in np.bincount(LENGTHS))
    for epoch in range(2):
        batches = take(2 * per_epoch, batch_lengths=kind)[epoch * per_epoch :][:per_epoch]
        rows = [row for batch in batches for row in batch]
        assert len(rows) == len(set(rows)) == 8 * per_epoch


def test_equal_batches_have_one_length_and_come_in_random_order():
    found = [{LENGTHS[i] for i in batch} for batch in take(9, batch_lengths="equal")]
    assert all(len(lengths) == 1 for lengths in found)
    order = [lengths.pop() for lengths in found]
    assert order != sorted(order)


def test_batches_of_one_length_have_the_sentences_that_fill_it():
    config = dict(batch_lengths="one", max_length=9)
    full = int((LENGTHS == 9).sum()) // 8
    rows = [row for batch in take(full, **config) for row in batch]
    assert full >= 1 and {LENGTHS[row] for row in rows} == {9}
    assert len(rows) == len(set(rows))
    with pytest.raises(InputError, match="'one' asks for"):
        take(1, batch_lengths="one", max_length=30)


@pytest.mark.parametrize("kind", ["mixed", "equal"])
@pytest.mark.parametrize("start", [1, 5, 12, 30])
def test_a_resumed_run_goes_on_where_it_stopped(kind, start):
    assert take(10, start, batch_lengths=kind) == take(start + 10, batch_lengths=kind)[start:]


def test_the_order_depends_on_the_seed_and_nothing_else():
    assert take(5) == take(5, temperature=0.1, queue_size=256, lr=0.1, dropout=0.2)
    assert take(5) != take(5, seed=1)


def test_every_epoch_has_its_own_order():
    found = take(24)
    assert found[:12] != found[12:]


def test_no_length_with_enough_sentences_is_one_sentence():
    with pytest.raises(InputError, match="mixed"):
        take(1, lengths=np.arange(100), batch_lengths="equal")
