"""Texts written anew: misspelt, with other words, or by a model that answers.

A misspelt word gets one error, as 90-95 % of misspelt words have (Pollock and Zamora
1983). The first letter stays, where few errors are (Yannakoudakis and Fawthrop 1983).
Deviations from the authors' nlpaug: it has a list of misspelt words, and here the
patterns of `typos.toml` give every word some errors. All masks of a sentence are filled
in one pass, with whole words only. A paraphrase is the answer of a
sequence-to-sequence model, where nlpaug lets a causal one continue the text.
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
SOUNDS = {k: [x.split("/") for x in v.split()] for k, v in TABLES["sounds"].items()}
PAIRS = SOUNDS["alike"] + [[b, a] for a, b in SOUNDS["alike"]] + SOUNDS["unheard"]
SPELLINGS = [(re.compile(right), wrong) for right, wrong in PAIRS]
TOP = 100  # most probable words, one of which is drawn; nlpaug's default
WORD_STARTS = ("Ġ", "▁")  # of byte-level BPE, of sentencepiece
MASKED_BATCH, ANSWERED_BATCH = 128, 32  # texts
LONGEST = 512  # tokens, at most, and of a model that names no limit


def drawn_words(text: str, rate: float, rng: np.random.Generator) -> list[re.Match]:
    """max(1, floor(rate n)) random ones of the n words of `text`, in their order."""
    words = list(WORD.finditer(text))
    number = max(1, int(rate * len(words)))
    return [words[i] for i in sorted(rng.permutation(len(words))[:number])]


def replaced(text: str, words: Sequence[re.Match], new: Sequence[str]) -> str:
    """`text` with new[i] in place of words[i]; words without a new one stay."""
    for word, other in reversed(list(zip(words, new, strict=False))):
        text = text[: word.start()] + other + text[word.end() :]
    return text


# --- typos ---
def errors(word: str) -> dict[str, list[str]]:
    """All misspellings of a word, by kind; a slip hits a neighbouring key."""
    cuts = [(word[:i], word[i], word[i + 1 :]) for i in range(1, len(word))]
    sounds = [(m, wrong) for right, wrong in SPELLINGS for m in right.finditer(word, 1)]
    return {
        "sounds": [word[: m.start()] + wrong + word[m.end() :] for m, wrong in sounds],
        "omission": [a + b for a, _, b in cuts],
        "doubling": [a + 2 * letter + b for a, letter, b in cuts],
        "transposition": [a + b[0] + letter + b[1:] for a, letter, b in cuts if b],
        "slip": [a + key + b for a, c, b in cuts for key in NEIGHBOURS.get(c, "")],
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
    wrong = ([misspelt(word[0], rng) for word in words] for words in drawn)
    return list(map(replaced, texts, drawn, wrong))


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


def batches(model, tokenizer, texts: list[str], size: int):
    """(row numbers, input on the model's device) of texts of similar length."""
    first, rows = position_rows(model)
    limit = min(rows - first, LONGEST) if rows and rows > first else LONGEST
    ids = tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        batch = {"input_ids": [ids[i] for i in rows]}
        yield rows, tokenizer.pad(batch, return_tensors="pt").to(model.device), limit


class ContextualWords:
    """Replaces words by others that a masked language model finds probable.

    These are the tokens that are whole words of two letters or more. Raises InputError
    when the model's vocabulary has fewer than two of them.
    """

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        marked = any(token.startswith(WORD_STARTS) for token in tokens)
        words = {
            i: tokenizer.convert_tokens_to_string([token]).strip()
            for i, token in enumerate(tokens)
            if (token.startswith(WORD_STARTS) if marked else token[:2] != "##")
        }
        words = {i: w for i, w in words.items() if len(w) > 1 and w.isalpha()}
        if len(words) < 2:
            raise InputError(f"the model {model.name_or_path!r} has no whole words.")
        self.tokens, self.words = list(words), list(words.values())

    @torch.no_grad()
    def fill(self, texts: list[str], rng: np.random.Generator) -> list[list]:
        """Two different words for each mask of each text, drawn by probability.

        There are none for masks that lie behind the model's last position.
        """
        pairs: list[list] = [[] for _ in texts]
        for rows, batch, _ in batches(self.model, self.tokenizer, texts, MASKED_BATCH):
            at = batch["input_ids"] == self.tokenizer.mask_token_id
            states = self.model.base_model(**batch).last_hidden_state[at]
            logits = head_of(self.model)(states)[:, self.tokens]  # (masks, words)
            top = logits.topk(min(TOP, len(self.words)))
            values, words = (x.cpu().numpy() for x in top)
            # sorting logits with Gumbel noise draws from their softmax, no word twice
            order = np.argsort(-(values + rng.gumbel(size=values.shape)), axis=1)[:, :2]
            drawn = np.take_along_axis(words, order, axis=1)
            for row, two in zip(at.nonzero()[:, 0].tolist(), drawn, strict=True):
                pairs[rows[row]].append([self.words[i] for i in two])
        return pairs

    def rewrite(
        self, texts: list[str], rate: float, rng: np.random.Generator
    ) -> list[str]:
        """Each text with a share `rate` of its words replaced, with their capitals."""
        mask = self.tokenizer.mask_token
        drawn = [[] if mask in t else drawn_words(t, rate, rng) for t in texts]
        masks = ([mask] * len(words) for words in drawn)
        pairs = self.fill(list(map(replaced, texts, drawn, masks)), rng)

        def fitting(word: re.Match, pair: list[str]) -> str:
            old, (first, second) = word[0], pair
            new = second if first.lower() == old.lower() else first
            return new.capitalize() if old[0].isupper() and new.islower() else new

        new = (list(map(fitting, *both)) for both in zip(drawn, pairs, strict=True))
        return list(map(replaced, texts, drawn, new))


@torch.no_grad()
def answers(model, tokenizer, texts: list[str], rng: np.random.Generator) -> list[str]:
    """A sequence-to-sequence model's answer to each text, or the text if it is empty.

    It generates by its own settings. Random draws, where it makes any, come from `rng`.
    """
    result = list(texts)
    for rows, batch, limit in batches(model, tokenizer, texts, ANSWERED_BATCH):
        most = min(2 * batch["input_ids"].shape[1] + 10, limit - 1)
        with torch.random.fork_rng():
            torch.manual_seed(int(rng.integers(2**62)))
            tokens = model.generate(**batch, max_new_tokens=most)
        new = tokenizer.batch_decode(tokens, skip_special_tokens=True)
        for i, answer in zip(rows, new, strict=True):
            result[i] = " ".join(answer.split()) or texts[i]
    return result
