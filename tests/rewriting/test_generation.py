"""Paraphrases and back-translations by tiny random models, loaded as large ones are."""

import json

import pytest
import torch
from texts import open_sentences, rng
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    FSMTConfig,
    FSMTForConditionalGeneration,
    FSMTTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
    XLNetConfig,
    XLNetLMHeadModel,
)

from mocose_study.rewriting import generation, language_models

SENTENCES = open_sentences(9, start=1000)


VOCABULARY = ["<pad>", "</s>", "<unk>", ".", *sorted({w for s in SENTENCES for w in s.split()})]
TEXTS = [*SENTENCES[:3], "two", "nothing known here"]
KINDS = {  # tiny ones of the classes of large models, with their sizes
    "t5": (T5ForConditionalGeneration, T5Config(d_model=16, num_layers=1, num_heads=2, d_kv=8)),
    "gpt2": (GPT2LMHeadModel, GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=60)),
    "xlnet": (XLNetLMHeadModel, XLNetConfig(d_model=16, n_layer=1, n_head=2, d_inner=16)),
}
WIDE = {"initializer_range": 0.5, "initializer_factor": 8.0}  # so that texts differ


@pytest.fixture(scope="module")
def generators(tmp_path_factory):
    """Random T5, GPT-2 and XLNet with a tokenizer of whole words, saved and loaded.

    GPT-2 has no padding token, as the large one.
    """
    words = Tokenizer(models.WordLevel({t: i for i, t in enumerate(VOCABULARY)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ids = dict(bos_token_id=1, eos_token_id=1, pad_token_id=0, decoder_start_token_id=0)
    found = {}
    for name, (kind, settings) in KINDS.items():
        folder = tmp_path_factory.mktemp(name)
        special = {"eos_token": "</s>", "unk_token": "<unk>"}
        special |= {} if name == "gpt2" else {"pad_token": "<pad>"}
        PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder)
        torch.manual_seed(3)
        settings.update({"vocab_size": len(VOCABULARY), **WIDE, **ids})
        kind(settings).save_pretrained(folder)
        found[name] = language_models.load(str(folder), "cpu")
    return found


def test_a_transduction_is_that_of_each_text_alone(generators):
    """Against one call of `generate` a text, without padding."""
    lm = generators["t5"]
    most = min(2 * max(len(text.split()) for text in TEXTS) + 10, lm.positions - 1)
    expected = []
    for text in TEXTS:
        ids = lm.tokenizer(text, return_tensors="pt")["input_ids"]
        tokens = lm.model.generate(input_ids=ids, max_new_tokens=most)[0]
        expected.append(lm.tokenizer.decode(tokens, skip_special_tokens=True) or text)
    found = generation.paraphrased(lm, TEXTS, rng())
    assert found == expected and len(set(found)) > 3 and found != TEXTS


def test_a_text_of_which_a_model_makes_nothing_stays(generators, monkeypatch):
    lm = generators["t5"]
    silent = torch.tensor([[0, 1]] * len(TEXTS))
    monkeypatch.setattr(lm.model, "generate", lambda **options: silent)
    assert generation.paraphrased(lm, TEXTS, rng()) == TEXTS


@pytest.fixture
def wmt19(tmp_path):
    """Random translators of the class that the paper has (`facebook/wmt19-en-de`): of letters."""
    letters = "abcdefghijklmnopqrstuvwxyz."
    entries = ["<s>", "<pad>", "</s>", "<unk>", *letters, *(letter + "</w>" for letter in letters)]
    vocabulary, merges = tmp_path / "vocabulary.json", tmp_path / "merges.txt"
    vocabulary.write_text(json.dumps({entry: i for i, entry in enumerate(entries)}))
    merges.write_text("")
    sides = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in {"layers": 1, "ffn_dim": 16, "attention_heads": 2}.items()
    }
    sizes = dict(src_vocab_size=len(entries), tgt_vocab_size=len(entries), d_model=16, init_std=0.8)
    found = []
    for langs in (["en", "de"], ["de", "en"]):
        folder = tmp_path / "-".join(langs)
        FSMTTokenizer(langs, str(vocabulary), str(vocabulary), str(merges)).save_pretrained(folder)
        torch.manual_seed(3)
        most = dict(max_position_embeddings=40, num_beams=2)
        settings = FSMTConfig(langs=langs, **sides, **sizes, **most)
        FSMTForConditionalGeneration(settings).save_pretrained(folder)
        found.append(language_models.load(str(folder), "cpu"))
    return found


def test_the_papers_translators_go_there_and_back(wmt19):
    """Against one call of `generate` a text and direction."""
    expected = "two dogs ran"
    for lm in wmt19:
        ids = lm.tokenizer(expected, return_tensors="pt")["input_ids"]
        tokens = lm.model.generate(input_ids=ids, max_new_tokens=min(2 * ids.shape[1] + 10, 39))
        expected = lm.tokenizer.decode(tokens[0], skip_special_tokens=True)
    texts = ["two dogs ran", "a longer text than that"]
    assert generation.translated_back(*wmt19, texts, rng())[0] == expected != texts[0]


def test_a_causal_model_goes_on_behind_the_sentence(generators, monkeypatch):
    """With one candidate a step it is the most probable token, found here by a plain loop."""
    monkeypatch.setattr(generation, "TOP_K", 1)
    lm = generators["gpt2"]
    for text, found in zip(TEXTS, generation.paraphrased(lm, TEXTS, rng()), strict=True):
        ids = lm.tokenizer(text)["input_ids"]
        tokens = []
        while len(tokens) < generation.CONTINUATION:
            logits = lm.model(torch.tensor([ids + tokens])).logits[0, -1]
            tokens.append(int(logits.argmax()))
            if VOCABULARY[tokens[-1]] == "</s>":
                break
        more = " ".join(VOCABULARY[t] for t in tokens if t > 2)
        ends = [i for i, c in enumerate(more) if c in ".!?"]
        expected = more[: ends[0] + 1] if ends else more
        assert found.split() == f"{text} {expected}".split() and found.startswith(text)


@pytest.mark.parametrize("name", ["gpt2", "xlnet"])
def test_continuations_are_drawn_from_the_generator(generators, monkeypatch, name):
    monkeypatch.setattr(generation, "CONTINUATION", 6)
    state = torch.get_rng_state()
    first, again, other = (
        generation.paraphrased(generators[name], TEXTS, rng(s)) for s in (1, 1, 2)
    )
    assert first == again != other and torch.equal(torch.get_rng_state(), state)
    assert all(new.startswith(text) for text, new in zip(TEXTS, first, strict=True))


def test_a_text_too_long_or_too_short_to_go_on_stays(generators):
    assert generation.paraphrased(generators["gpt2"], [""], rng()) == [""]
    long = " ".join(VOCABULARY[5] for _ in range(31))
    assert generation.paraphrased(generators["gpt2"], [long], rng()) == [long]
    assert generation.paraphrased(generators["gpt2"], [long[: -len(VOCABULARY[5])]], rng()) != [
        long
    ]


def test_the_first_sentence_by_hand():
    assert generation.first_sentence(" and\n she  slept . Then") == "and she slept ."
    assert generation.first_sentence("Who? He!") == "Who?"
    assert generation.first_sentence("no end") == "no end"
