"""Systems without training: whitening and word vectors, each against its definition."""

import lzma
import zipfile

import numpy as np
import pytest

from mocose_lib import Encoder, InputError
from mocose_lib.evaluation.sts import cosine, spearman
from mocose_study.data import benchmarks
from mocose_study.runs.measure import scores
from mocose_study.systems import fit
from mocose_study.systems.base import sentences_of, statistics_texts
from mocose_study.systems.whitening import whitening
from mocose_study.systems.word_vectors import read_vectors


def correlated(width=8):
    rng = np.random.default_rng(0)
    return rng.normal(size=(400, width)) @ rng.normal(size=(width, width)) + 3


def test_whitening_is_algorithm_1_and_keeps_the_largest_variance():
    """(x - mean) W, after which covariance is 1; the sign of a direction is free."""
    vectors = correlated()
    whole = whitening(vectors).transform(vectors)
    np.testing.assert_allclose(np.cov(whole.T), np.eye(8), atol=1e-4)
    values, directions = np.linalg.eigh(np.cov(vectors.T))  # ascending
    centred, largest = vectors - vectors.mean(0), directions[:, ::-1][:, :3]
    expected = centred @ largest / np.sqrt(values[::-1][:3])
    found = whitening(vectors, 3).transform(vectors)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-6)


def test_directions_without_variance_are_left_out_instead_of_blown_up():
    flat = np.hstack([correlated(width=3), np.zeros((400, 1))])
    assert whitening(flat).transform(flat).shape == (400, 3)
    told = "kept_dimensions = 4, but the 400 vectors vary in 3"
    with pytest.raises(InputError, match=told):
        whitening(flat, 4)


@pytest.mark.parametrize("statistics", ["task", "corpus"])
def test_whitening_on_its_own_statistics(small, statistics):
    texts = dict(statistics=statistics, corpus_size=200, pooling="first_last")
    config = small(method="whitening", **texts)
    found = fit(config).encode(statistics_texts(config))
    np.testing.assert_allclose(np.cov(found.T), np.eye(found.shape[1]), atol=1e-4)
    # 16 wide, less one: behind LayerNorms the features of a text sum to 0
    assert found.dtype == np.float32 and found.shape[1] == 15


def test_each_test_task_is_whitened_by_its_own_sentences(small):
    """Scores of the tasks, against Algorithm 1 on each of them, written once more."""
    config = small(method="whitening", statistics="task", pooling="first_last")
    fitted = fit(config)
    found = scores(fitted.encode, config, fitted.of_task)
    encode = fit(small(method="untrained", pooling="first_last")).encode
    expected = []
    for name, table in benchmarks.test_tables(config.benchmark).items():
        a, b = (encode(table[f"sentence{side}"]).astype(float) for side in (1, 2))
        values, directions = np.linalg.eigh(np.cov(encode(sentences_of([table])).T))
        mean = encode(sentences_of([table])).astype(float).mean(0)
        kept = values > 1e-9 * values[-1]
        w = directions[:, kept] / np.sqrt(values[kept])
        similarity = cosine((a - mean) @ w, (b - mean) @ w)
        expected.append(spearman(similarity, np.asarray(table["score"], float)))
        # pairs of equal sentences have cosines that rounding alone puts in an order
        assert found[f"{name} all"] == pytest.approx(expected[-1], abs=0.3)
    assert found["sts_avg"] == pytest.approx(np.mean(expected), abs=0.1)
    pooled = scores(fitted.encode, config)
    assert found["sts_dev"] == pooled["sts_dev"]
    assert abs(found["snli2017 test all"] - pooled["snli2017 test all"]) > 0.1


def test_a_sentence_is_the_average_of_its_known_words(small, tmp_path):
    """Tokens that are unknown as a whole are cut; without a known word: all vectors."""
    path = tmp_path / "v.txt.xz"
    path.write_bytes(lzma.compress(b"do 1 0\nn't 0 1\nu.s. 3 3\nit 5 0\n's 0 5\n"))
    fitted = fit(small(method="word_vectors", vectors=str(path)))
    vectors = fitted.encode(["Don't xyzzy", "it's", "U.S.", "xyzzy", "It do IT U.S."])
    expected = [[0.5, 0.5], [2.5, 2.5], [3, 3], [1.8, 1.8], [3.5, 0.75]]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert vectors.dtype == np.float32


def test_of_an_archive_the_widest_vectors_are_read(tmp_path):
    """As glove.6B.zip, which has four files."""
    path, texts = tmp_path / "glove.zip", ["a 1\nb 2\n", "a 1 2\nb 3 4\n", "a 9\n"]
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in zip("abc", texts, strict=True):
            archive.writestr(name, text)
    assert read_vectors(path).to_numpy().tolist() == [[1, 2], [3, 4]]
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match=r"^glove\.zip "):
        read_vectors(path)


XZ = lzma.compress(b"a 1 2\nb 3 4\n" * 100)
LINES = ["a 1 2\nb 3\n", "a 1 2\nb 1 2\nc 1 2 3\n", "a 1 two\nb 1 2\n", "word\n", "\n"]
DAMAGED = XZ[:40] + bytes([XZ[40] ^ 255]) + XZ[41:]


@pytest.mark.parametrize("content", [*map(str.encode, LINES), DAMAGED])
def test_a_bad_file_of_vectors_is_refused_in_one_sentence(tmp_path, content):
    path = tmp_path / ("bad.txt.xz" if content == DAMAGED else "bad.txt")
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"^bad\.txt"):
        read_vectors(path)


def test_a_pooler_that_no_checkpoint_brought_scores_nothing(small, tiny, tmp_path):
    bare = Encoder.load(tiny).save(tmp_path / "bare")  # which leaves the pooler out
    config = small(method="untrained", encoder=str(bare), pooling="cls_pooler")
    with pytest.raises(InputError, match="has no pooler for"):
        fit(config).encode(["A sentence."])
