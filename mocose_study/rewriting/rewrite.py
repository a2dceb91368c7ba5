"""Texts written anew: misspelt, with other or more words, or by a model that answers.

A misspelt word gets one error, as 90-95 % of misspelt words have (Pollock and Zamora
1983). The first letter stays, where few errors are (Yannakoudakis and Fawthrop 1983).

Deviations from the authors' nlpaug: it has a list of misspelt words, and here the
patterns of `typos.toml` give every word some errors. All masks of a sentence are filled
in one pass, so that none sees the others' words. Only whole words are put in. A
paraphrase is the answer of a sequence-to-sequence model, where nlpaug lets a causal one
continue the text.
"""

import re
from collections.abc import Sequence

import numpy as np
import torch
import transformers
from safetensors import SafetensorError

from mocose_lib import InputError
from mocose_lib.loading import position_rows
from mocose_study.config import read_toml
from mocose_study.data.encoders import PINNED, locate

# two letters or more, with what follows an apostrophe; no part of a token such as 3rd
WORD = re.compile(r"(?<![\w'’])[^\W\d_]{2,}(?:['’][^\W\d_]+)*(?!\w)")
TABLES = read_toml(__package__, "typos")
SHARES, NEIGHBOURS = TABLES["shares"], TABLES["neighbours"]
ALIKE, UNHEARD = (
    [tuple(pair.split("/")) for pair in TABLES["sounds"][name].split()]
    for name in ("alike", "unheard")
)
PAIRS = ALIKE + [(b, a) for a, b in ALIKE] + UNHEARD
SPELLINGS = tuple((re.compile(right), wrong) for right, wrong in PAIRS)
TOP = 100  # most probable words, one of which is drawn; nlpaug's default
WORD_STARTS = ("Ġ", "▁")  # of byte-level BPE, of sentencepiece
MASKED_BATCH, ANSWERED_BATCH = 128, 32  # texts
LONGEST = 512  # tokens, of a model that names no limit


# --- words of a text ---
def drawn_words(text: str, rate: float, rng: np.random.Generator) -> list[re.Match]:
    """max(1, floor(rate n)) random ones of the n words of `text`, in their order."""
    words = list(WORD.finditer(text))
    if not words:
        return []
    chosen = rng.permutation(len(words))[: max(1, int(rate * len(words)))]
    return [words[i] for i in sorted(chosen)]


def replaced(text: str, words: Sequence[re.Match], new: Sequence[str]) -> str:
    """`text` with new[i] in place of words[i], which stand in the order of the text."""
    pieces, end = [], 0
    for word, other in zip(words, new, strict=True):
        pieces += [text[end : word.start()], other]
        end = word.end()
    return "".join([*pieces, text[end:]])


# --- typos ---
def errors(word: str) -> dict[str, list[str]]:
    """All misspellings of a word, by kind; a slip hits a neighbouring key."""
    cuts = [(word[:i], word[i], word[i + 1 :]) for i in range(1, len(word))]
    sounds = [(m, wrong) for right, wrong in SPELLINGS for m in right.finditer(word, 1)]
    return {
        "sounds": [word[: m.start()] + wrong + word[m.end() :] for m, wrong in sounds],
        "omission": [before + after for before, _, after in cuts],
        "doubling": [before + 2 * letter + after for before, letter, after in cuts],
        "transposition": [
            a + after[0] + b + after[1:] for a, b, after in cuts if after
        ],
        "slip": [
            a + key + after for a, b, after in cuts for key in NEIGHBOURS.get(b, "")
        ],
    }


def misspelt(word: str, rng: np.random.Generator) -> str:
    """`word` (two letters or more) with one error."""
    possible = {kind: [w for w in ws if w != word] for kind, ws in errors(word).items()}
    kinds = [kind for kind, wrong in possible.items() if wrong]
    shares = np.array([SHARES[kind] for kind in kinds])
    wrong = possible[kinds[rng.choice(len(kinds), p=shares / shares.sum())]]
    return wrong[rng.integers(len(wrong))]


def with_typos(texts: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Each text with a share `rate` of its words misspelt, at least one if any."""
    drawn = [drawn_words(text, rate, rng) for text in texts]
    return [
        replaced(text, words, [misspelt(word[0], rng) for word in words])
        for text, words in zip(texts, drawn, strict=True)
    ]


# --- models ---
def load(name: str, masked: bool, device="cpu"):
    """(model, tokenizer) of a folder, a path or a name of the hub, in float32.

    `masked`: a masked language model, else a sequence-to-sequence one. Raises
    InputError where there is no such model, or where its file lacks weights.
    """
    source = locate(name) or name
    what = "masked language model" if masked else "sequence-to-sequence model"
    kind = "AutoModelForMaskedLM" if masked else "AutoModelForSeq2SeqLM"
    pinned = {"revision": PINNED.get(name, "main"), "trust_remote_code": False}
    options = {"output_loading_info": True, "dtype": torch.float32, **pinned}
    try:
        model, report = getattr(transformers, kind).from_pretrained(source, **options)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **pinned)
        if report["missing_keys"]:
            raise ValueError(f"its file lacks {min(report['missing_keys'])}")
    except (OSError, ValueError, ImportError, RuntimeError, SafetensorError) as cause:
        why = str(cause).strip().partition("\n")[0]
        raise InputError(
            f"the augmentation model {name!r} is no {what} ({why}); name another in "
            "augmentation_models: a folder, or a name of the hub."
        ) from cause
    return model.eval().to(device), tokenizer


def head_of(model: torch.nn.Module) -> torch.nn.Module:
    """From states to logits: BERT's `cls`, else `lm_head`."""
    return model.cls if hasattr(model, "cls") else model.lm_head


def positions(model: torch.nn.Module) -> int:
    """How many tokens the model reads; a negative number stands for no limit."""
    first, rows = position_rows(model)
    limit = (rows or -1) - first
    return min(limit if limit > 0 else LONGEST, LONGEST)


def by_length(ids: list[list[int]], size: int) -> list[list[int]]:
    """Row numbers in batches of at most `size`, rows of similar length together."""
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    return [order[i : i + size] for i in range(0, len(order), size)]


# --- a model's own words ---
def whole_words(tokenizer) -> dict[int, str]:
    """The tokens that are whole words of two letters or more."""
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    marked = any(token.startswith(WORD_STARTS) for token in tokens)
    words = {
        i: tokenizer.convert_tokens_to_string([token]).strip()
        for i, token in enumerate(tokens)
        if (token.startswith(WORD_STARTS) if marked else not token.startswith("##"))
    }
    return {i: word for i, word in words.items() if len(word) > 1 and word.isalpha()}


class ContextualWords:
    """Replaces or inserts words that a masked language model finds probable.

    Raises InputError when the model's vocabulary has no `whole_words`.
    """

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        self.words = whole_words(tokenizer)
        if len(self.words) < 2:
            name = model.name_or_path
            raise InputError(
                f"the augmentation model {name!r} has no whole words to put in."
            )
        no_words = torch.ones(model.config.vocab_size, dtype=torch.bool)
        no_words[list(self.words)] = False
        self.no_words = no_words.to(model.device)

    @torch.no_grad()
    def fill(
        self, texts: list[str], avoid: list[list[str]], rng: np.random.Generator
    ) -> list[list[str]]:
        """A word for each mask of each text, by probability, but the one to avoid.

        Fewer words than masks come back where a text is too long for the model.
        """
        limit, mask = positions(self.model), self.tokenizer.mask_token_id
        ids = self.tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
        found: list[list[str]] = [[] for _ in texts]
        for rows in by_length(ids, MASKED_BATCH):
            batch = {"input_ids": [ids[i] for i in rows]}
            batch = self.tokenizer.pad(batch, return_tensors="pt").to(self.model.device)
            states = self.model.base_model(**batch).last_hidden_state
            logits = head_of(self.model)(states[batch["input_ids"] == mask])
            logits = logits.masked_fill(
                self.no_words, -torch.inf
            )  # (masks, vocabulary)
            top = logits.topk(min(TOP, len(self.words)))
            values, tokens = (x.cpu().numpy() for x in top)
            # sorting logits with Gumbel noise draws from their softmax, no word twice
            order = np.argsort(-(values + rng.gumbel(size=values.shape)), axis=1)[:, :2]
            drawn = iter(np.take_along_axis(tokens, order, axis=1))
            for row in rows:
                for unwanted in avoid[row][: ids[row].count(mask)]:
                    first, second = (self.words[token] for token in next(drawn))
                    same = first.lower() == unwanted.lower()
                    found[row].append(second if same else first)
        return found

    def rewrite(
        self, texts: list[str], rate: float, rng: np.random.Generator, insert: bool
    ) -> list[str]:
        """Replaces a share `rate` of each text's words, or inserts one before each."""
        mask = self.tokenizer.mask_token
        rows = [i for i, text in enumerate(texts) if mask not in text]
        drawn = {i: drawn_words(texts[i], rate, rng) for i in rows}
        drawn = {i: words for i, words in drawn.items() if words}
        old = [[word[0] for word in words] for words in drawn.values()]

        def edited(i: int, new: list[str]) -> str:
            words = drawn[i][: len(new)]  # fewer than are drawn where a text is cut
            pairs = zip(new, (word[0] for word in words), strict=True)
            return replaced(texts[i], words, [put(*pair) for pair in pairs])

        def put(new: str, word: str) -> str:
            capital = word[0].isupper() and new.islower()
            return f"{new} {word}" if insert else new.capitalize() if capital else new

        masked = [edited(i, [mask] * len(words)) for i, words in drawn.items()]
        result = list(texts)
        for i, new in zip(drawn, self.fill(masked, old, rng), strict=True):
            result[i] = edited(i, new)
        return result


# --- a model's own sentences ---
@torch.no_grad()
def answers(model, tokenizer, texts: list[str], rng: np.random.Generator) -> list[str]:
    """What a sequence-to-sequence model makes of each text; nothing: the text stays.

    It generates by its own settings. Random draws, where it makes any, come from `rng`.
    """
    limit, result = positions(model), list(texts)
    ids = tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
    for rows in by_length(ids, ANSWERED_BATCH):
        batch = {"input_ids": [ids[i] for i in rows]}
        batch = tokenizer.pad(batch, return_tensors="pt").to(model.device)
        most = min(2 * max(len(ids[i]) for i in rows) + 10, limit - 1)
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**62)))
            tokens = model.generate(**batch, max_new_tokens=most)
        new = tokenizer.batch_decode(tokens, skip_special_tokens=True)
        for i, answer in zip(rows, new, strict=True):
            result[i] = " ".join(answer.split()) or texts[i]
    return result
