"""Words put in by masked language models, among them the shipped encoder."""

import hashlib
from collections import Counter

import numpy as np
import pytest
import torch
from texts import ODD, ROOT, SENTENCES, rng, words
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

from mocose_study.rewriting import contextual, language_models
from mocose_study.rewriting.word_edits import WORD, replaced

SHIPPED = ROOT / "data" / "encoders" / "tiny-cls"


@pytest.fixture(scope="module")
def shipped():
    return contextual.ContextualWords(language_models.load(str(SHIPPED), "cpu", masked=True))


def full_logits(filler, text):
    """Of a whole text, without batch and padding: (masks, vocabulary)."""
    ids = filler.tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        logits = filler.model(**ids).logits[0]
    return logits[ids["input_ids"][0] == filler.tokenizer.mask_token_id]


def probable(filler, logits, n):
    """The n most probable whole words and their logits."""
    vocabulary = filler.tokenizer.get_vocab()
    allowed = {i: w for w, i in vocabulary.items() if w.isalpha() and len(w) > 1}
    order = sorted(allowed, key=lambda i: -logits[i])[:n]
    return {allowed[i]: float(logits[i]) for i in order}


def test_the_shipped_encoder_replaces_whole_words_by_probable_ones(shipped):
    texts, rate = SENTENCES[:10], 0.4
    for text, other in zip(texts, shipped.rewrite(texts, rate, rng(), insert=False), strict=True):
        a, b = words(text), words(other)
        places = [i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
        assert len(places) == max(1, int(rate * len(a))) and WORD.split(text) == WORD.split(other)
        drawn = [list(WORD.finditer(text))[i] for i in places]
        logits = full_logits(shipped, replaced(text, drawn, ["[MASK]"] * len(drawn)))
        for place, row in zip(places, logits.tolist(), strict=True):
            expected = probable(shipped, row, contextual.TOP + 1)  # one more: rounding
            assert b[place].lower() in expected and b[place].lower() != a[place].lower()
            assert b[place][0].isupper() == a[place][0].isupper()


def test_words_are_drawn_by_their_probability(shipped):
    text, n = "The hen slept.", 2_000
    drawn = iter([[list(WORD.finditer(text))[1]]] * n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contextual, "drawn_words", lambda *a: next(drawn))
        found = Counter(words(t)[1] for t in shipped.rewrite([text] * n, 0.1, rng(), insert=False))
    logits = full_logits(shipped, "The [MASK] slept.")[0].tolist()
    weights = {w: np.exp(x) for w, x in probable(shipped, logits, contextual.TOP).items()}
    hen = weights.pop("hen", 0.0) / sum(weights.values())
    assert hen < 0.01  # so rare that its second draw shifts nothing
    for word, weight in weights.items():
        expected = n * weight / sum(weights.values())
        assert abs(found[word] - expected) < 5 * np.sqrt(expected) + 1, word


def test_insertion_adds_whole_words_before_the_sentences_own(shipped):
    found = shipped.rewrite(SENTENCES, 0.4, rng(), insert=True)
    for text, more in zip(SENTENCES, found, strict=True):
        a, b = words(text), words(more)
        assert len(b) == len(a) + max(1, int(0.4 * len(a)))
        left = iter(b)
        assert all(word in left for word in a)  # a is a subsequence of b
        assert len(more.split()) == len(text.split()) + len(b) - len(a)


def test_masked_models_leave_what_is_no_word(shipped):
    replaced, more = (shipped.rewrite(ODD, 1.0, rng(), insert=i) for i in (False, True))
    assert replaced[1:] == more[1:] == ODD[1:]
    assert WORD.split(replaced[0]) == WORD.split(ODD[0]) and "3.5 %" in more[0]


def test_the_draw_depends_on_the_generator_and_not_on_the_batches(shipped, monkeypatch):
    """Where the words change, `kinds.toml` needs a new version: runs on record have the old ones."""
    first, again, other = (shipped.rewrite(SENTENCES, 0.2, rng(s), insert=False) for s in (1, 1, 2))
    assert first == again != other
    monkeypatch.setattr(contextual, "BATCH", 1_000)
    assert shipped.rewrite(SENTENCES, 0.2, rng(1), insert=False) == first
    digest = hashlib.sha256("\n".join(first).encode()).hexdigest()
    assert digest == "da837e20093f5284bdb3082318df45f4a113f5e3b379d14d2784cd5c06900183"


def test_behind_the_models_last_position_nothing_changes(masked):
    filler = contextual.ContextualWords(language_models.load(str(masked), "cpu", masked=True))
    text = " ".join(SENTENCES[:12])
    other = filler.rewrite([text], 1.0, rng(), insert=False)[0]
    same = [x == y for x, y in zip(words(text), words(other), strict=True)]
    assert not any(same[:20]) and all(same[80:]) and same == sorted(same)


def test_a_roberta_with_byte_level_words(tmp_path):
    """Its words start with a space; what continues a word is never put in."""
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "Ġhen", "Ġcock", "Ġduck", "en", "Ġ", "."]
    bpe = Tokenizer(models.WordLevel({t: i for i, t in enumerate(tokens)}, unk_token="<unk>"))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    bpe.decoder = decoders.ByteLevel()
    special = dict(zip(("bos", "pad", "eos", "unk", "mask"), tokens, strict=False))
    special = {f"{name}_token": token for name, token in special.items()}
    PreTrainedTokenizerFast(tokenizer_object=bpe, **special).save_pretrained(tmp_path)
    sizes = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    places = dict(max_position_embeddings=22, pad_token_id=1, bos_token_id=0, eos_token_id=2)
    settings = RobertaConfig(vocab_size=len(tokens), **sizes, **places)
    RobertaForMaskedLM(settings).save_pretrained(tmp_path)
    lm = language_models.load(str(tmp_path), "cpu", masked=True)
    filler = contextual.ContextualWords(lm)
    assert lm.positions == 20 and list(filler.words.values()) == ["hen", "cock", "duck"]
    found = filler.rewrite([" ".join(["hen"] * 8)], 1.0, rng(), insert=False)[0].split()
    assert set(found) == {"cock", "duck"}
