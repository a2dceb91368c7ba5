"""Corpora, their token ids, and the tables of the cache. Every sentence here is made up or open."""

import errno
import gzip
import logging
import lzma

import farm
import pytest
from texts import open_sentences

from mocose_study.config import InputError
from mocose_study.data import corpora, sources

SENTENCES = [line.strip() for line in farm.LINES if line.strip()]


@pytest.fixture
def folder(study, monkeypatch):
    """A data folder with the corpus "farm" in two files."""
    place = farm.make(study / "pack")
    monkeypatch.setenv("MOCOSE_DATA", str(place))
    source = ["corpus/part_0.txt.xz", "corpus/part_1.txt.xz"]
    monkeypatch.setitem(corpora.CORPORA, "farm", source)
    return place


def arrows(study, key="*"):
    return sorted((study / "data" / "cache").glob(f"{key}.arrow"))


def test_a_corpus_is_its_non_empty_lines_with_their_documents(folder):
    corpus = corpora.load_corpus("farm", 5)
    assert corpus["sentence"][:] == SENTENCES
    documents = corpus["document"][:]
    assert documents[0] == documents[1] != documents[2] and documents == sorted(
        documents
    )
    for size in (2, 4):  # the limit holds over all files, not for each
        assert corpora.load_corpus("farm", size)["sentence"][:] == SENTENCES[:size]


def test_byte_order_marks_are_no_part_of_a_sentence(study):
    paths = [study / "a.txt", study / "b.txt.gz"]
    marked = "One.\n\nTwo.\n".encode("utf-8-sig")
    paths[0].write_bytes(marked + marked)
    paths[1].write_bytes(gzip.compress(marked))
    assert list(corpora.text_lines(paths)) == 2 * ["One.", "", "Two."] + [
        "",
        "One.",
        "",
        "Two.",
        "",
    ]


def test_the_open_corpus_comes_with_the_package(study):
    assert corpora.load_corpus("open", 3)["sentence"][:] == open_sentences(3)
    (study / "data" / "open").unlink()  # of this study; the checkout has it
    assert corpora.corpus_files("open")[0].exists()


@pytest.mark.parametrize("opened", [open, lzma.open, gzip.open])
def test_a_text_file_of_ones_own_is_a_corpus(study, opened):
    own = study / f"mine.txt{ {lzma.open: '.xz', gzip.open: '.gz'}.get(opened, '') }"
    with opened(own, "wt", encoding="utf-8") as file:
        file.write("\n".join(farm.LINES))
    assert corpora.load_corpus(str(own), 5)["sentence"][:] == SENTENCES


def test_a_data_set_of_the_hub_is_a_corpus(study, monkeypatch):
    found = corpora.datasets.Dataset.from_dict({"text": ["One.\nTwo.", "", " Three. "]})
    monkeypatch.setattr(corpora.sources, "revision_on_hub", lambda name, kind: "f00")
    monkeypatch.setattr(corpora.datasets, "load_dataset", lambda *_, **__: found)
    assert corpora.load_corpus("farm/text", 3)["sentence"][:] == [
        "One.",
        "Two.",
        "Three.",
    ]


def test_a_hub_that_goes_away_is_one_sentence(study, monkeypatch):
    def away(*_, **__):
        raise ConnectionError("Max retries exceeded")

    monkeypatch.setattr(corpora.sources, "revision_on_hub", lambda name, kind: "f00")
    monkeypatch.setattr(corpora.datasets, "load_dataset", away)
    with pytest.raises(
        InputError, match=r"hub did not give the corpus 'farm/text' \(Connection"
    ):
        corpora.load_corpus("farm/text", 3)


XZ = lzma.compress(b"One.\n")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.txt", b"One.\n", "corpus_size = 2, but corpus '.*' has 1 sentences"),
        ("a.txt", b"One.\nT\0wo.\n", "a.txt is no text: line 2 holds a NUL"),
        (
            "a.txt",
            b"One.\nTwo \xff.\n",
            "a.txt cannot be read as UTF-8 text after line 2",
        ),
        ("a.txt", b"One.\n" * 9, "repeats one sentence"),
        ("a.txt.xz", XZ[:10], "a.txt.xz cannot be read"),
        ("a.txt.xz", XZ[:-5], "a.txt.xz cannot be read"),
        ("a.txt.xz", b"One.\nTwo.\n", "a.txt.xz cannot be read"),
    ],
    ids="short binary latin repeated cut-early cut-late uncompressed".split(),
)
def test_a_useless_text_file_is_one_sentence(study, name, content, told):
    (study / name).write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        corpora.load_corpus(str(study / name), 2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no/such.txt", "there is no corpus"),
        ("no-such/data-set", "is no file, and the hub does not know it or is away"),
        ("wiki900k", "MOCOSE_DATA"),
        ("wiki1m", "the hub did not give"),
    ],
)
def test_a_corpus_that_is_not_there_is_one_sentence(study, name, told):
    with pytest.raises(InputError, match=told):
        corpora.load_corpus(name, 5)


def test_the_cache_follows_the_content(study):
    own = study / "mine.txt"
    for word in ("first", "other"):  # of one length: size and name are the same
        own.write_text(f"A {word} version.\nOf two lines.\n")
        assert corpora.load_corpus(str(own), 2)["sentence"][0] == f"A {word} version."


# --- token ids ---
def test_token_ids_are_the_tokenizers_own_and_are_made_once(encoder, study):
    corpus = corpora.load_corpus("open", 30)
    ids = corpora.tokenized(corpus, encoder.tokenizer, 12)
    texts = corpus["sentence"][:]
    assert ids["input_ids"][:] == encoder.tokenize(texts, 12)
    assert (
        ids["length"][:] == [len(x) for x in ids["input_ids"][:]]
        and max(ids["length"][:]) == 12
    )
    assert ids["document"][:] == corpus["document"][:]
    before = [(path, path.stat().st_mtime_ns) for path in arrows(study)]
    corpora.tokenized(corpora.load_corpus("open", 30), encoder.tokenizer, 12)
    assert [(path, path.stat().st_mtime_ns) for path in arrows(study)] == before
    encoder.tokenizer.add_tokens(["zebra"])  # another tokenizer has ids of its own
    corpora.tokenized(corpus, encoder.tokenizer, 12)
    assert len(arrows(study)) == len(before) + 1
    encoder.tokenizer.truncation_side = "left"  # so has one that cuts the beginning
    assert (
        corpora.tokenized(corpus, encoder.tokenizer, 12)["input_ids"][:]
        != ids["input_ids"][:]
    )


# --- the cache ---
@pytest.mark.parametrize("damage", ["flipped", "cut", "empty"])
def test_a_damaged_table_is_dropped_and_made_anew(study, caplog, damage):
    corpus = corpora.load_corpus("open", 50)
    (path,) = arrows(study)
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes(b ^ 0xFF for b in whole[middle : middle + 16])
    changed = {
        "flipped": flipped + whole[middle + 16 :],
        "cut": whole[:-99],
        "empty": b"",
    }
    path.unlink()  # the open Dataset keeps the old one
    path.write_bytes(changed[damage])
    caplog.set_level(logging.WARNING)
    assert corpora.load_corpus("open", 50)["sentence"][:] == corpus["sentence"][:]
    assert arrows(study) == [path] and path.read_bytes() == whole
    assert len(caplog.records) == 1 and "damaged; it is made anew" in caplog.text


def test_a_full_disk_is_one_sentence_and_leaves_nothing(study, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(corpora, "_write", full)
    with pytest.raises(
        InputError, match=r"cache cannot be written \(No space left on device\)"
    ):
        corpora.stored("abc", lambda: iter([{"sentence": ["One."]}]))
    assert not list((study / "data" / "cache").iterdir())


def test_a_text_that_cannot_be_read_is_not_blamed_on_the_disk(study, monkeypatch):
    def refused(*_):
        raise PermissionError(errno.EACCES, "Permission denied", "mine.txt.gz")

    (study / "mine.txt.gz").touch()
    monkeypatch.setitem(corpora.OPENERS, ".gz", refused)
    with pytest.raises(
        InputError, match=r"mine\.txt\.gz cannot be read as .*Permission denied"
    ):
        corpora.load_corpus(str(study / "mine.txt.gz"), 2)
    assert not list((study / "data" / "cache").iterdir())


# --- checksums ---
def test_checksums_are_held_against_the_files(folder):
    farm.write_sums(folder)
    assert sources.checked(folder, "sts/STS12.tsv").exists()
    path = folder / "corpus" / "part_0.txt.xz"
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(InputError, match="damaged: its checksum"):
        corpora.load_corpus("farm", 5)


def test_files_that_nothing_vouches_for_are_said_once(folder, caplog):
    caplog.set_level(logging.WARNING)
    corpora.load_corpus("farm", 5)
    corpora.load_corpus("farm", 4)
    assert [r.getMessage() for r in caplog.records] == [
        f"{folder} has no SHA256SUMS, so its files are not checked"
    ]
