"""Texts written anew: typos, words of a masked model, answers of another."""

import hashlib
from collections import Counter

import numpy as np
import pytest
import torch
import transformers as hf
from conftest import tokenizer
from texts import ODD, ROOT, SENTENCES, rng
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from mocose_study.rewriting import rewrite
from mocose_study.rewriting.rewrite import WORD, ContextualWords, drawn_words, replaced

SHIPPED = ROOT / "data" / "encoders" / "tiny"


def words(text: str) -> list[str]:
    return WORD.findall(text)


# --- words ---
def test_words_by_hand():
    found = words("The 3rd hen's b2b e-mail, O'Neil I said: don’t.")
    assert found == ["The", "hen's", "mail", "said", "don’t"]
    text = "A hen (brown) slept."
    first, _, last = WORD.finditer(text)
    assert replaced(text, [first, last], ["cat", "ran"]) == "A cat (brown) ran."
    assert replaced(text, [], []) == text and drawn_words("7 % !", 0.5, rng()) == []


@pytest.mark.parametrize("rate, number", [(0.01, 1), (0.39, 3), (1.0, 10)])
def test_the_share_is_rounded_down_and_at_least_one(rate, number):
    text = "one two three four five six seven eight nine ten"
    seen = set()
    for seed in range(50):
        starts = [word.start() for word in drawn_words(text, rate, rng(seed))]
        assert len(starts) == number and starts == sorted(set(starts))
        seen |= {*starts}
    assert len(seen) == 10  # every word has its turn


# --- typos ---
def test_errors_by_hand():
    cats = rewrite.errors("cats")
    assert cats["omission"] == ["cts", "cas", "cat"]
    assert cats["doubling"] == ["caats", "catts", "catss"]
    assert cats["transposition"] == ["ctas", "cast"]
    assert set(rewrite.errors("as")["slip"]) == {"aa", "ad", "aw", "ae", "az", "ax"}
    for pair in ("believe beleive", "accommodate acommodate", "don't dont"):
        word, wrong = pair.split()
        assert wrong in rewrite.errors(word)["sounds"]


def test_typos_are_a_function_of_the_generator_and_leave_what_is_no_word():
    """Where these change, `text_augment.VERSION` has to."""
    typos = (rewrite.with_typos(SENTENCES, 0.3, rng(s)) for s in (1, 1, 2))
    first, again, other = typos
    digest = hashlib.sha256("\n".join(first).encode()).hexdigest()
    assert first == again != other and digest[:16] == "6e623a9a69c371f8"
    wrong = rewrite.with_typos(ODD, 1.0, rng())
    assert wrong[1:3] == ODD[1:3] and "(" in wrong[0] and "3.5 %" in wrong[0]


# --- words of a masked language model ---
@pytest.fixture(scope="module")
def shipped():
    return ContextualWords(*rewrite.load(str(SHIPPED), True))


def probable(filler, text: str) -> dict[str, float]:
    """The most probable words at the one mask of a text, and their logits."""
    ids = filler.tokenizer(text, return_tensors="pt")
    place = ids["input_ids"][0].tolist().index(filler.tokenizer.mask_token_id)
    with torch.no_grad():
        logits = filler.model(**ids).logits[0, place].tolist()
    vocabulary = filler.tokenizer.get_vocab().items()
    allowed = {w: logits[i] for w, i in vocabulary if w.isalpha() and len(w) > 1}
    best = sorted(allowed, key=lambda w: -allowed[w])[: rewrite.TOP]
    return {w: allowed[w] for w in best}


def test_words_are_drawn_by_their_probability(shipped, monkeypatch):
    text, n = "The hen slept.", 2_000
    hen = [list(WORD.finditer(text))[1]]
    monkeypatch.setattr(rewrite, "drawn_words", lambda *_: hen)
    texts = shipped.rewrite([text] * n, 0.1, rng())
    found = Counter(words(t)[1] for t in texts)
    weights = {w: np.exp(x) for w, x in probable(shipped, "The [MASK] slept.").items()}
    weights.pop("hen", None)  # so rare that its second draw shifts nothing
    assert set(found) <= set(weights)
    for word, weight in weights.items():
        expected = n * weight / sum(weights.values())
        assert abs(found[word] - expected) < 5 * np.sqrt(expected) + 1, word


def test_as_many_words_are_replaced_as_are_drawn(shipped, monkeypatch):
    """The draw depends on the generator, and not on the batches."""
    first, again, other = (shipped.rewrite(SENTENCES, 0.4, rng(s)) for s in (1, 1, 2))
    assert first == again != other
    for text, new in zip(SENTENCES, first, strict=True):
        old = words(text)
        pairs = [(a, b) for a, b in zip(old, words(new), strict=True) if a != b]
        assert len(pairs) == max(1, int(0.4 * len(old)))
        assert WORD.split(text) == WORD.split(new)
        assert all(a[0].isupper() == b[0].isupper() for a, b in pairs)
    odd = shipped.rewrite(ODD, 1.0, rng())
    assert odd[1:] == ODD[1:] and "3.5 %" in odd[0]
    monkeypatch.setattr(rewrite, "MASKED_BATCH", 1_000)
    assert shipped.rewrite(SENTENCES, 0.4, rng(1)) == first


def test_a_roberta_with_byte_level_words(tmp_path):
    """Its words start with a space; what continues a word is never put in."""
    tokens = "<s> <pad> </s> <unk> <mask> Ġhen Ġcock Ġduck en Ġ .".split()
    ids = {t: i for i, t in enumerate(tokens)}
    bpe = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    bpe.decoder = decoders.ByteLevel()
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token")
    special = dict(zip(names, tokens, strict=False))
    fast = hf.PreTrainedTokenizerFast(tokenizer_object=bpe, **special)
    fast.save_pretrained(tmp_path)
    sizes = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
    sizes |= dict(intermediate_size=8, max_position_embeddings=22, pad_token_id=1)
    torch.manual_seed(0)  # other weights may prefer one word
    settings = hf.RobertaConfig(vocab_size=len(tokens), **sizes)
    hf.RobertaForMaskedLM(settings).save_pretrained(tmp_path)
    filler = ContextualWords(*rewrite.load(str(tmp_path), True))
    assert filler.words == ["hen", "cock", "duck"]
    text = " ".join(["hen"] * 30)  # what the model cannot read stays
    new = filler.rewrite([text], 1.0, rng())[0].split()
    assert {*new[:8]} == {"cock", "duck"} and {*new[19:]} == {"hen"}


# --- answers of a sequence-to-sequence model ---
def test_an_answer_is_what_generate_gives_for_the_text_alone(tmp_path, monkeypatch):
    """Of a random model of the paper's class."""
    tokenizer().save_pretrained(tmp_path)
    sizes = {"layers": 1, "ffn_dim": 16, "attention_heads": 2}.items()
    sizes = {f"{s}_{n}": size for s in ("encoder", "decoder") for n, size in sizes}
    sizes |= {"vocab_size": len(tokenizer()), "d_model": 16, "init_std": 0.8}
    ids = {"decoder_start_token_id": 2, "eos_token_id": 3, "forced_eos_token_id": 3}
    torch.manual_seed(2)  # which makes three answers
    settings = hf.PegasusConfig(max_position_embeddings=40, **sizes, **ids)
    hf.PegasusForConditionalGeneration(settings).save_pretrained(tmp_path)
    model, words = rewrite.load(str(tmp_path), False)
    texts, expected = ["two dogs ran", "a longer text than that", "it"], []
    most = 2 * max(map(len, words(texts)["input_ids"])) + 10
    for text in texts:
        ids = words(text, return_tensors="pt")["input_ids"]
        tokens = model.generate(input_ids=ids, max_new_tokens=most)[0]
        answer = words.decode(tokens, skip_special_tokens=True)
        expected.append(" ".join(answer.split()))
    given = rewrite.answers(model, words, texts, rng())  # in one batch, padded
    assert given == expected != texts and len(set(given)) == 3
    silent = torch.tensor([[2, 3]] * len(texts))
    monkeypatch.setattr(model, "generate", lambda **_: silent)
    assert rewrite.answers(model, words, texts, rng()) == texts  # it says nothing
