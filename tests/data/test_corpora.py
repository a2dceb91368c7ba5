"""Corpora, their token ids, and their cache. Every sentence is made up or open."""

import errno
import gzip
import hashlib
import lzma

import farm
import pytest
from texts import full, open_sentences, raising

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


def arrows(study):
    paths = (study / "data" / "cache").rglob("*.arrow")
    return {path: path.stat().st_mtime_ns for path in paths}


def test_a_corpus_is_its_non_empty_lines_with_their_documents(folder):
    corpus = corpora.load_corpus("farm", 5)
    assert corpus["sentence"][:] == SENTENCES
    numbers = corpus["document"][:]
    assert numbers[0] == numbers[1] != numbers[2] and numbers == sorted(numbers)
    for size in (2, 4):  # the limit holds over all files, not for each
        assert corpora.load_corpus("farm", size)["sentence"][:] == SENTENCES[:size]


@pytest.mark.parametrize("ending", [".txt", ".xz", ".gz"])
def test_a_text_file_of_ones_own_is_a_corpus(study, ending):
    """Byte order marks are no part of a sentence."""
    pack = {".xz": lzma.compress, ".gz": gzip.compress}.get(ending, bytes)
    path, marked = study / f"mine{ending}", "\n".join(farm.LINES).encode("utf-8-sig")
    path.write_bytes(pack(marked + b"\n" + marked))
    lines = [line.strip() for line in farm.LINES]
    assert list(corpora.text_lines([path, path])) == 2 * [*lines, *lines, ""]
    assert corpora.load_corpus(str(path), 10)["sentence"][:] == SENTENCES * 2


def test_the_open_corpus_comes_with_the_package(study):
    assert corpora.load_corpus("open", 3)["sentence"][:] == open_sentences(3)
    (study / "data" / "open").unlink()  # of this study; the checkout has it
    assert corpora.corpus_files("open")[0].exists()


XZ = lzma.compress(b"One.\n")
USELESS = {
    "blank": ("a.txt", b"\n  \n", "a.txt' has no sentences"),
    "binary": ("a.txt", b"One.\nT\0wo.\n", "a.txt is no text: line 2 holds a NUL"),
    "latin": ("a.txt", b"A.\nTwo \xff.\n", "a.txt cannot be read as UTF-8 .* line 2"),
    "repeated": ("a.txt", b"One.\n" * 9, "repeats one sentence"),
    "cut early": ("a.txt.xz", XZ[:10], "a.txt.xz cannot be read"),
    "cut late": ("a.txt.xz", XZ[:-5], "a.txt.xz cannot be read"),
    "plain": ("a.txt.xz", b"One.\nTwo.\n", "a.txt.xz cannot be read"),
    "no file": ("no/such.txt", None, "there is no corpus"),
    "no name": ("caf\udce9.txt", None, r"'caf\\udce9.txt' is no readable name"),
    "no hub": ("wiki1m", None, "the hub did not give"),
}


@pytest.mark.parametrize("name, content, told", USELESS.values(), ids=USELESS)
def test_a_useless_corpus_is_one_sentence(study, monkeypatch, name, content, told):
    monkeypatch.chdir(study)
    if content is not None:
        (study / name).write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        corpora.load_corpus(name, 2)
    assert "\n" not in str(caught.value)


def test_each_cell_of_a_table_is_a_sentence_but_its_heading(study):
    (path := study / "mine.tsv").write_text("a\tb\nOne.\tTwo.\nThree.\t\n")
    found = corpora.load_corpus(str(path), 3)["sentence"][:]
    assert found == ["One.", "Two.", "Three."]


# --- the cache ---
def test_the_cache_follows_the_content(study):
    own = study / "mine.txt"
    for word in ("first", "other"):  # of one length: size and name are the same
        own.write_text(f"A {word} version.\nOf two lines.\n")
        assert corpora.load_corpus(str(own), 2)["sentence"][0] == f"A {word} version."


def test_token_ids_are_the_tokenizers_own_and_are_made_once(encoder, study):
    corpus, words = corpora.load_corpus("open", 30), encoder.tokenizer
    table = corpora.tokenized(corpus, words, 12)
    ids = table["input_ids"][:]
    assert ids == encoder.tokenize(corpus["sentence"][:], 12)
    assert max(map(len, ids)) == 12
    assert table["document"][:] == corpus["document"][:]
    before = arrows(study)
    corpora.tokenized(corpora.load_corpus("open", 30), words, 12)
    assert arrows(study) == before
    words.add_tokens(["zebra"])  # another tokenizer has ids of its own
    corpora.tokenized(corpus, words, 12)
    assert len(arrows(study)) == len(before) + 1
    words.truncation_side = "left"  # so has one that cuts the beginning
    assert corpora.tokenized(corpus, words, 12)["input_ids"][:] != ids


@pytest.mark.parametrize("length", [0, 99])
def test_a_cached_table_that_is_cut_off_is_one_sentence(study, length):
    corpora.load_corpus("open", 50)
    (path,) = arrows(study)
    whole = path.read_bytes()
    path.unlink()  # an open Dataset keeps the old one
    path.write_bytes(whole[:length])
    with pytest.raises(InputError, match="cache is damaged or cannot be written"):
        corpora.load_corpus("open", 50)


def test_a_full_disk_is_one_sentence_and_not_blamed_for_a_text(study, monkeypatch):
    (study / "mine.txt.gz").touch()
    refused = raising(PermissionError(errno.EACCES, "Permission denied"))
    monkeypatch.setitem(corpora.OPENERS, ".gz", refused)
    told = r"mine\.txt\.gz cannot be read as .*Permission denied"
    with pytest.raises(InputError, match=told):
        corpora.load_corpus(str(study / "mine.txt.gz"), 2)
    monkeypatch.setattr(corpora.datasets.Dataset, "from_generator", full)
    with pytest.raises(InputError, match=r"cannot be written \(.*No space left on"):
        corpora.load_corpus("open", 50)


# --- checksums ---
def test_checksums_are_held_against_the_files(folder, caplog):
    corpora.load_corpus("farm", 5)
    corpora.load_corpus("farm", 4)
    told = "corpus/part_0.txt.xz is not checked: no SHA256SUMS"
    assert caplog.text.count(told) == 1
    path = folder / "corpus" / "part_0.txt.xz"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{digest}  corpus/part_0.txt.xz\n")
    assert sources.local("corpus/part_0.txt.xz") == path
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(InputError, match="damaged: its checksum"):
        corpora.load_corpus("farm", 5)
