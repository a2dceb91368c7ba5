"""Text-level augmentations: what each kind does to a sentence, the cache, and who sees the result."""

import json
import shutil
from collections import Counter
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from conftest import save_encoder
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
    XLNetConfig,
    XLNetLMHeadModel,
)

import mocose_lib
from mocose_lib import (
    contextual,
    data,
    generation,
    language_models,
    learner,
    run,
    sources,
    text_augment,
    typos,
    world,
)
from mocose_lib import train as loop
from mocose_lib.config import Config, StudyError, vary
from mocose_lib.methods import METHODS
from mocose_lib.methods.base import load_encoder, training_ids
from mocose_lib.methods.simcse import SimCSE
from mocose_lib.word_edits import WORD, drawn_words, replaced

SHIPPED = Path(mocose_lib.__file__).parents[1] / "data" / "encoders" / "tiny"
SENTENCES = world.sentences(40, seed=11)
ODD = ["3.5 % of Café-goers (ca. 1998) said: “don't — stop!”", "", "42 + 1 = 43", "[MASK] is a mask ."]


class Killed(BaseException):
    """What a kill looks like from inside."""


def rng(seed=0):
    return np.random.default_rng(seed)


def words(text):
    return WORD.findall(text)


# --- words ---
def test_words_by_hand():
    assert words("The 3rd hen's b2b e-mail, O'Neil I said: don’t.") == [
        "The", "hen's", "mail", "said", "don’t",
    ]  # fmt: skip
    text = "A hen (brown) slept."
    first, _, last = WORD.finditer(text)
    assert replaced(text, [first, last], ["cat", "ran"]) == "A cat (brown) ran."
    assert replaced(text, [], []) == text and drawn_words("7 % !", 0.5, rng()) == []


@pytest.mark.parametrize("rate, number", [(0.01, 1), (0.1, 1), (0.3, 3), (0.39, 3), (1.0, 10)])
def test_the_share_is_rounded_down_and_at_least_one(rate, number):
    text = "one two three four five six seven eight nine ten"
    seen = set()
    for seed in range(50):
        found = drawn_words(text, rate, rng(seed))
        starts = [word.start() for word in found]
        assert len(found) == number and starts == sorted(set(starts))
        seen.update(word[0] for word in found)
    assert len(seen) == 10  # every word has its turn


# --- typos ---
def test_errors_by_hand():
    assert list(typos.omissions("cat")) == ["ct", "ca"]
    assert list(typos.doublings("cat")) == ["caat", "catt"]
    assert list(typos.transpositions("cats")) == ["ctas", "cast"]
    assert set(typos.slips("as")) == {"aa", "ad", "aw", "ae", "az", "ax"}
    assert {"beleive", "belive"} & set(typos.sound_alikes("believe")) == {"beleive"}
    assert {"acommodate", "accomodate"} <= set(typos.sound_alikes("accommodate")) | set(
        typos.omissions("accommodate")
    )
    assert "dont" in set(typos.sound_alikes("don't"))
    assert {"independant"} <= set(typos.sound_alikes("independent"))


def test_errors_come_in_their_shares():
    """4,000 misspellings of one word against the probability of each, summed over the kinds."""
    expected = Counter()
    for kind, share in typos.ERRORS:
        wrong = [w for w in kind("planet") if w != "planet"]
        for w in wrong:
            expected[w] += share / len(wrong)
    assert sum(expected.values()) == pytest.approx(1)
    draw = rng()
    found = Counter(typos.misspelt("planet", draw) for _ in range(4_000))
    assert set(found) <= set(expected)
    for wrong, p in expected.items():
        assert abs(found[wrong] - 4_000 * p) < 5 * np.sqrt(4_000 * p) + 1, wrong


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_so_many_words_are_misspelt_and_nothing_else(rate):
    texts = [" ".join(w for w in s.split() if len(w) > 3) for s in SENTENCES]
    for text, wrong in zip(texts, typos.with_typos(texts, rate, rng()), strict=True):
        a, b = words(text), words(wrong)
        changed = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
        assert len(changed) == max(1, int(rate * len(a)))
        assert all(x[0] == y[0] and abs(len(x) - len(y)) <= 2 for x, y in changed)
        assert WORD.split(text) == WORD.split(wrong)


def test_typos_are_a_function_of_the_generator():
    first, again, other = (typos.with_typos(SENTENCES, 0.3, rng(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_typos_leave_what_is_no_word():
    wrong = typos.with_typos(ODD, 1.0, rng())
    assert wrong[1:3] == ODD[1:3] and "(" in wrong[0] and "3.5 %" in wrong[0] and "— " in wrong[0]
    assert typos.with_typos(["of NATO"], 1.0, rng())[0] != "of NATO"


# --- masked language models ---
@pytest.fixture(scope="module")
def shipped():
    return contextual.ContextualWords(language_models.load(str(SHIPPED), "cpu", masked=True))


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    """A random BERT with its masked-language-model head."""
    return save_encoder(BertForMaskedLM, BertConfig, tmp_path_factory.mktemp("lm") / "bert")


def full_logits(filler, text):
    """Of a whole text, without batch, padding and hook: (masks, vocabulary)."""
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


def test_logits_at_masks_are_those_of_whole_texts(shipped):
    texts = ["the [MASK] slept .", "two [MASK] swam across the old [MASK] ."]
    found = shipped.logits(shipped.tokenizer(texts)["input_ids"])
    expected = torch.cat([full_logits(shipped, text) for text in texts])
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_the_shipped_encoder_replaces_whole_words_by_probable_ones(shipped, rate):
    texts = SENTENCES[:10]
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


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_insertion_adds_whole_words_before_the_sentences_own(shipped, rate):
    for text, more in zip(SENTENCES, shipped.rewrite(SENTENCES, rate, rng(), insert=True), strict=True):
        a, b = words(text), words(more)
        assert len(b) == len(a) + max(1, int(rate * len(a)))
        left = iter(b)
        assert all(word in left for word in a)  # a is a subsequence of b
        assert len(more.split()) == len(text.split()) + len(b) - len(a)


def test_masked_models_leave_what_is_no_word(shipped):
    replaced, more = (shipped.rewrite(ODD, 1.0, rng(), insert=i) for i in (False, True))
    assert replaced[1:] == more[1:] == ODD[1:]
    assert WORD.split(replaced[0]) == WORD.split(ODD[0]) and "3.5 %" in more[0]


def test_the_draw_depends_on_the_generator_and_not_on_the_batches(shipped, monkeypatch):
    first, again, other = (shipped.rewrite(SENTENCES, 0.2, rng(s), insert=False) for s in (1, 1, 2))
    assert first == again != other
    monkeypatch.setattr(contextual, "BATCH", 1_000)
    assert shipped.rewrite(SENTENCES, 0.2, rng(1), insert=False) == first


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
    special = {f"{n}_token": f"<{t}>" for n, t in zip(
        ("bos", "pad", "eos", "unk", "mask"), ("s", "pad", "/s", "unk", "mask"), strict=True)}  # fmt: skip
    PreTrainedTokenizerFast(tokenizer_object=bpe, **special).save_pretrained(tmp_path)
    RobertaForMaskedLM(RobertaConfig(
        vocab_size=len(tokens), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8, max_position_embeddings=22, pad_token_id=1, bos_token_id=0,
        eos_token_id=2,
    )).save_pretrained(tmp_path)  # fmt: skip
    lm = language_models.load(str(tmp_path), "cpu", masked=True)
    filler = contextual.ContextualWords(lm)
    assert lm.positions == 20 and list(filler.words.values()) == ["hen", "cock", "duck"]
    found = filler.rewrite([" ".join(["hen"] * 8)], 1.0, rng(), insert=False)[0].split()
    assert set(found) == {"cock", "duck"}


# --- generation ---
def save_generator(folder, model, vocabulary):
    """A random generator with a tokenizer of whole words, both as transformers keeps them."""
    words = Tokenizer(models.WordLevel({t: i for i, t in enumerate(vocabulary)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    model.save_pretrained(folder)
    return language_models.load(str(folder), "cpu")


VOCABULARY = ["<pad>", "</s>", "<unk>", ".", *sorted({w for s in SENTENCES[:9] for w in s.split()})]
TEXTS = [*SENTENCES[:3], "two", "nothing known here"]


@pytest.fixture(scope="module")
def generators(tmp_path_factory):
    """Random T5, Marian, GPT-2 and XLNet, saved and loaded."""
    size, layers = len(VOCABULARY), dict(d_model=16, num_layers=1, num_heads=2)
    ends = dict(pad_token_id=0, eos_token_id=1)
    made = {
        "t5": lambda: T5ForConditionalGeneration(T5Config(
            vocab_size=size, d_kv=8, d_ff=16, initializer_factor=8.0, decoder_start_token_id=0,
            **layers, **ends)),
        "marian": lambda: MarianMTModel(MarianConfig(
            vocab_size=size, d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=16,
            decoder_ffn_dim=16, encoder_attention_heads=2, decoder_attention_heads=2, init_std=0.8,
            max_position_embeddings=40, decoder_start_token_id=0, num_beams=2, **ends)),
        "gpt2": lambda: GPT2LMHeadModel(GPT2Config(
            vocab_size=size, n_embd=16, n_layer=1, n_head=2, n_positions=60, bos_token_id=1,
            initializer_range=0.5, **ends)),
        "xlnet": lambda: XLNetLMHeadModel(XLNetConfig(
            vocab_size=size, d_model=16, n_layer=1, n_head=2, d_inner=16, initializer_range=0.5,
            **ends)),
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("generators")
    found = {}
    for name, make in made.items():
        torch.manual_seed(3)
        found[name] = save_generator(folder / name, make(), VOCABULARY)
    return found


@pytest.mark.parametrize("name", ["t5", "marian"])
def test_a_transduction_is_that_of_each_text_alone(generators, name):
    """Against one call of `generate` a text, without padding."""
    lm = generators[name]
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


def test_back_translation_goes_there_and_back(generators):
    there, back = generators["marian"], generators["t5"]
    middle = generation.transduced(there, TEXTS, rng())
    expected = generation.transduced(back, middle, rng())
    assert generation.translated_back(there, back, TEXTS, rng()) == expected != middle


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
def test_continuations_are_drawn_from_the_generator(generators, name):
    state = torch.get_rng_state()
    first, again, other = (generation.paraphrased(generators[name], TEXTS, rng(s)) for s in (1, 1, 2))
    assert first == again != other and torch.equal(torch.get_rng_state(), state)
    assert all(new.startswith(text) for text, new in zip(TEXTS, first, strict=True))


def test_a_text_too_long_or_too_short_to_go_on_stays(generators):
    assert generation.paraphrased(generators["gpt2"], [""], rng()) == [""]
    long = " ".join(VOCABULARY[5] for _ in range(31))
    assert generation.paraphrased(generators["gpt2"], [long], rng()) == [long]
    assert generation.paraphrased(generators["gpt2"], [long[: -len(VOCABULARY[5])]], rng()) != [long]


def test_the_first_sentence_by_hand():
    assert generation.first_sentence(" and\n she  slept . Then") == "and she slept ."
    assert generation.first_sentence("Who? He!") == "Who?"
    assert generation.first_sentence("no end") == "no end"


# --- models ---
def offline(**changes):
    return Config(augmentation_models=("no/such",), **changes)


@pytest.mark.parametrize("kind", ["synonym", "insertion", "paraphrase"])
def test_a_model_that_is_not_there_is_one_sentence(study, kind):
    with pytest.raises(StudyError, match=r"model 'no/such' cannot be loaded .*augmentation_models"):
        text_augment.make_rewrite(offline(text_augmentation=kind))


def test_damaged_headless_and_wrong_models_are_one_sentence_each(study, tiny, generators, tmp_path):
    config = Config(text_augmentation="synonym", encoder=str(tiny))
    with pytest.raises(StudyError, match="has no masked-language-model head"):
        text_augment.make_rewrite(config)
    (tmp_path / "half").mkdir()
    for file in tiny.iterdir():
        (tmp_path / "half" / file.name).write_bytes(file.read_bytes()[:-200])
    with pytest.raises(StudyError, match="cannot be loaded"):
        text_augment.make_rewrite(vary(config, augmentation_models=(str(tmp_path / "half"),)))
    names = tuple(generators[name].model.name_or_path for name in ("t5", "gpt2"))
    config = Config(text_augmentation="back_translation", augmentation_models=names)
    with pytest.raises(StudyError, match=r"gpt2' is no sequence-to-sequence model"):
        text_augment.make_rewrite(config)


def test_default_models_are_the_encoder_or_the_papers(study, tiny):
    def models(kind, **changes):
        return text_augment.models_of(Config(text_augmentation=kind, **changes))

    assert models("none") == models("typos") == ()
    assert models("synonym", encoder=str(tiny)) == models("insertion", encoder=str(tiny)) == (str(tiny),)
    assert models("synonym", encoder="bert-base-uncased") == ("roberta-base",)
    assert models("paraphrase", encoder=str(tiny)) == ("xlnet-base-cased",)
    assert models("back_translation") == ("facebook/wmt19-en-de", "facebook/wmt19-de-en")
    assert models("synonym", augmentation_models=("mine",)) == ("mine",)


def test_the_weights_of_named_models_are_in_the_name_of_a_run(study, masked, tmp_path):
    copy = shutil.copytree(masked, tmp_path / "copy")
    config = Config(text_augmentation="synonym", augmentation_models=(str(copy),))
    before = run.run_id(config)
    with (copy / "model.safetensors").open("ab") as weights:
        weights.write(b" ")
    run.encoder_digest.cache_clear()
    assert run.run_id(config) != before


# --- the cache ---
@pytest.fixture
def corpus(study, tmp_path):
    path = tmp_path / "articles.txt"
    path.write_text("\n".join(SENTENCES[:20]) + "\n\n" + "\n".join(SENTENCES[20:35]) + "\n")
    return data.load_corpus(str(path), 35)


def test_a_corpus_is_rewritten_once(corpus, masked, monkeypatch):
    config = Config(text_augmentation="synonym", encoder=str(masked), augmentation_rate=0.2)
    first = text_augment.augmented(config, corpus, 0)
    assert first["document"][:] == corpus["document"][:] == [0] * 20 + [1] * 15
    changed = [a != b for a, b in zip(corpus["sentence"], first["sentence"], strict=True)]
    assert all(changed) and not [p for p in data.CACHE.rglob("*.json") if "dataset_info" not in p.name]
    monkeypatch.setattr(language_models, "load", lambda *a: pytest.fail("a model was loaded"))
    text_augment.check(vary(config, augmented_views="target"), corpus)
    again = text_augment.augmented(config, corpus, 0)
    assert again["sentence"][:] == first["sentence"][:] and again._fingerprint == first._fingerprint


def test_the_cache_has_a_place_for_each_setting(corpus, masked, tmp_path):
    copy = shutil.copytree(masked, tmp_path / "copy")
    config = Config(text_augmentation="synonym", encoder=str(copy))
    file = text_augment.cache_file
    others = [
        file(config, corpus, 0), file(config, corpus, 1), file(config, corpus.select([0]), 0),
        *(file(vary(config, **changes), corpus, 0) for changes in (
            {"text_augmentation": "insertion"}, {"augmentation_rate": 0.2},
            {"augmentation_models": ("another",)})),
    ]  # fmt: skip
    with (copy / "model.safetensors").open("ab") as weights:
        weights.write(b" ")
    sources.sha256.cache_clear()
    others.append(file(config, corpus, 0))
    assert len(set(others)) == len(others)
    assert file(vary(config, seed=5, lr=0.5), corpus, 0) == others[-1]  # all seeds share it


@pytest.mark.parametrize("finished", [0, 1, 3])
def test_a_killed_augmentation_loses_one_shard(corpus, monkeypatch, finished):
    monkeypatch.setattr(text_augment, "SHARD", 10)
    config = Config(text_augmentation="typos", augmentation_rate=0.3)
    unbroken = text_augment.augmented(config, corpus, 0)["sentence"][:]
    text_augment.cache_file(config, corpus, 0).unlink()
    real, calls = typos.with_typos, []

    def counted(texts, *rest):
        if len(calls) == finished:
            raise Killed
        calls.append(len(texts))
        return real(texts, *rest)

    with monkeypatch.context() as once:
        once.setattr(typos, "with_typos", counted)
        with pytest.raises(Killed):
            text_augment.augmented(config, corpus, 0)
    done = sum(calls)
    monkeypatch.setattr(typos, "with_typos", lambda texts, *r: calls.append(len(texts)) or real(texts, *r))
    assert text_augment.augmented(config, corpus, 0)["sentence"][:] == unbroken
    assert done == 10 * finished and sum(calls) == 35  # nothing was done twice


# --- training ---
def texts_of(config, seed):
    """Rewritten sentences of a run, tokenised by hand."""
    corpus = data.load_corpus(config.corpus, config.corpus_size)
    texts = text_augment.augmented(config, corpus, seed)["sentence"][:]
    return load_encoder(config, "cpu").tokenize(texts, config.max_length)


@pytest.mark.parametrize("views", ["target", "both"])
@pytest.mark.parametrize("kind", ["typos", "synonym", "insertion"])
def test_token_ids_of_the_views(small, masked, kind, views):
    config = small(text_augmentation=kind, augmented_views=views, encoder=str(masked))
    ids = training_ids(config, load_encoder(config, "cpu"))
    plain = vary(config, text_augmentation="none")
    bare = training_ids(plain, load_encoder(plain, "cpu"))
    assert ids["input_ids"][:] == bare["input_ids"][:] and bare.column_names == ["input_ids", "length"]
    assert ids["length"][:] == bare["length"][:]  # batches are those of the original
    assert ids["key_ids"][:] == texts_of(config, 0) != bare["input_ids"][:]
    assert ("query_ids" in ids.column_names) == (views == "both")
    if views == "both":
        assert ids["query_ids"][:] == texts_of(config, 1) != ids["key_ids"][:]


def unpadded(ids, mask):
    return [row[: int(n)].tolist() for row, n in zip(ids, mask.sum(1), strict=True)]


@pytest.mark.parametrize("views", ["target", "both"])
@pytest.mark.parametrize("method", ["mocose", "moco"])
def test_who_sees_the_rewritten_text(small, monkeypatch, method, views):
    config = small(method=method, text_augmentation="typos", augmented_views=views,
                   queue_keys="latest")  # fmt: skip
    ids = training_ids(config, load_encoder(config, "cpu"))
    query_column = "query_ids" if views == "both" else "input_ids"
    lists = {name: list(map(tuple, ids[name])) for name in (query_column, "key_ids")}
    seen = {"query": [], "key": []}
    real = loop.make_view

    def make_view(branch, tokens, mask, *rest):
        side = "key" if not any(p.requires_grad for p in branch.parameters()) else "query"
        seen[side] += map(tuple, unpadded(tokens, mask))
        return real(branch, tokens, mask, *rest)

    monkeypatch.setattr(loop, "make_view", make_view)
    METHODS[method](config, bar=False)
    assert len(seen["query"]) == config.steps * config.batch_size
    rows = [lists[query_column].index(tokens) for tokens in seen["query"]]
    first = seen["key"][: config.batch_size]
    assert first == [lists["key_ids"][row] for row in rows[: config.batch_size]]
    assert set(seen["key"]) <= set(lists["key_ids"])  # of the queue's own sentences, too


@pytest.mark.parametrize("views", ["target", "both"])
def test_simcse_sees_it_too(small, monkeypatch, views):
    config = small(method="simcse", text_augmentation="typos", augmented_views=views)
    ids = training_ids(config, load_encoder(config, "cpu"))
    query = ids["query_ids" if views == "both" else "input_ids"][:]
    pairs = {(tuple(q), tuple(k)) for q, k in zip(query, ids["key_ids"][:], strict=True)}
    seen = []
    real = SimCSE.views
    monkeypatch.setattr(SimCSE, "views", lambda s, q, k, g: seen.extend(
        zip(map(tuple, q), map(tuple, k), strict=True)) or real(s, q, k, g))  # fmt: skip
    METHODS["simcse"](config, bar=False)
    assert len(seen) == config.steps * config.batch_size and set(seen) <= pairs


@pytest.mark.parametrize("method", ["mocose", "simcse"])
def test_an_interrupted_run_ends_as_an_unbroken_one(small, monkeypatch, tmp_path, method):
    config = small(method=method, text_augmentation="typos", selection="last")
    whole = METHODS[method](config, bar=False)
    real, checkpoint = learner.examine, tmp_path / "c.pt"

    def examine(t):
        if t.progress.step > 3:
            raise KeyboardInterrupt
        real(t)

    with monkeypatch.context() as once:
        once.setattr(learner, "SAVE_SECONDS", -1)
        once.setattr(learner, "examine", examine)
        with pytest.raises(KeyboardInterrupt):
            METHODS[method](config, checkpoint, bar=False)
    resumed = METHODS[method](config, checkpoint, bar=False)
    assert resumed.progress.history == whole.progress.history
    assert np.array_equal(resumed.encode(SENTENCES), whole.encode(SENTENCES))
    plain = METHODS[method](vary(config, text_augmentation="none"), bar=False)
    assert not np.array_equal(plain.encode(SENTENCES), whole.encode(SENTENCES))


def test_evaluation_reads_the_sentences_as_they_are(small, monkeypatch):
    config = small(text_augmentation="typos", steps=2)
    run.prepare([config])
    for module, name in ((typos, "with_typos"), (text_augment, "make_rewrite")):
        monkeypatch.setattr(module, name, lambda *a: pytest.fail("a sentence was rewritten"))
    record = json.loads(run.run(config, "smoke").read_text())
    assert record["config"]["text_augmentation"] == "typos" and record["progress"]["step"] == 2


def test_all_models_are_asked_for_before_the_first_sentence_is_rewritten(small, monkeypatch):
    monkeypatch.setattr(text_augment, "augmented", lambda *a: pytest.fail("it began"))
    missing = small(text_augmentation="paraphrase")
    with pytest.raises(StudyError, match="xlnet-base-cased"):
        run.prepare([small(text_augmentation="typos"), missing])


def test_grids_share_rewritten_corpora(small, monkeypatch):
    """Seeds share one; another rate is another."""
    made = []
    real = datasets.Dataset.map
    monkeypatch.setattr(datasets.Dataset, "map", lambda self, f, **k: made.append(
        f.__name__ == "rewrite" and not Path(k["cache_file_name"]).exists()) or real(self, f, **k))  # fmt: skip
    configs = [small(text_augmentation="typos", augmentation_rate=rate, seed=seed)
               for rate in (0.1, 0.5) for seed in range(2)]  # fmt: skip
    run.prepare(configs)
    assert sum(made) == 4  # two rates, two views

