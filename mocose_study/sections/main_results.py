"""Every system of the papers' tables: MoCoSE Table 1, SimCSE Table 5, appendix C, Figure 3.

What differs from the papers beside the encoder: GloVe has 50 dimensions and the words of the data
folder; whitening and flow learn from all seven tasks together, or from Wikipedia where the papers
have NLI; DeCLUTR gets the sentences of whole articles.
"""

from dataclasses import replace

from .grid import CONTROL, RELEVANT, Grid, Point, beats, harmed, stated
from .simcse_supervised import supervised
from .start import START

FAR = 5.0  # points: what "far ahead" means here; the papers' own distances are 4 to 11
ALIGNMENT, UNIFORMITY = "alignment dev", "uniformity dev"  # of both, less is better
FIRST_LAST = "untrained first-last"
UNTRAINED, SIMCSE = START[:3], START[3]
SUPERVISED = supervised("SimCSE supervised", "simcse_supervised, bert-base-uncased")


def system(label: str, method: str, paper: str | None = None, tier: int = 2, scale=None, **fields):
    """A row of the table; `paper` is its name there, on BERT-base where it names no encoder."""
    if paper and "," not in paper:
        paper += ", bert-base-uncased"
    return Point(label, {"method": method, **fields}, paper=paper, tier=tier, scale=scale or {})


def post(label: str, method: str, paper: str | None = None, tier: int = 2, **options) -> Point:
    """A map of the untrained encoder's first-last averages."""
    return system(label, method, paper, tier, pooling="first_last", **options)


STARTS = {  # the pooling of each system, before its training or map
    "SimCSE": "untrained [CLS]",
    "CT": "untrained mean",
    "DeCLUTR": "untrained mean",
    "IS-BERT": "untrained mean",
    "flow": FIRST_LAST,
    "whitening": FIRST_LAST,
}
TF_IDF = system("TF-IDF", "word_counts", idf=True)
HALF = {"kept_dimensions": 0.5}
WIKIPEDIA = {"statistics": "corpus"}

GRIDS = {
    "main": Grid(
        question="How do all systems compare, trained and measured by one code path?",
        points=(
            system("word counts", "word_counts"),
            TF_IDF,
            system("GloVe", "word_vectors", "glove, own"),
            system("GloVe, SIF", "word_vectors", sif=1e-3),
            *UNTRAINED,
            post("whitening", "whitening", "whitening", tier=1),
            post("whitening, half", "whitening", scale=HALF),
            post("whitening, Wikipedia", "whitening", **WIKIPEDIA),
            post("whitening, half, Wikipedia", "whitening", scale=HALF, **WIKIPEDIA),
            post("flow", "flow", "flow"),
            post("flow, Wikipedia", "flow", **WIKIPEDIA),
            system("IS-BERT", "is_bert", "is_bert"),
            system("CT", "ct", "ct_bert", pooling="mean"),
            system(
                "DeCLUTR",
                "declutr",
                "declutr, roberta-base",
                pooling="mean",
                corpus="wiki_documents",
            ),
            SIMCSE,
            system("S-SimCSE", "s_simcse"),
            SUPERVISED,
            Point("MoCo", {}, preset="moco"),
            *START[4:],
            CONTROL,
        ),
        paper="mocose_table1",
        notebook="20_main_results",
        control=harmed("MoCoSE"),
        starts=STARTS,
        claims=(
            stated("mocose-base-sts12", beats("MoCoSE", "SimCSE"), "STS12 test all"),
            stated("mocose-base-sts15", beats("MoCoSE", "SimCSE"), "STS15 test all"),
            stated("mocose-base-stsb", beats("MoCoSE", "SimCSE"), "STS-B test all"),
            stated("mocose-base-sts13-behind", beats("SimCSE", "MoCoSE"), "STS13 test all"),
            stated("mocose-beats-glove", beats("MoCoSE", "GloVe")),
            stated("mocose-untrained-below-glove", beats("GloVe", FIRST_LAST)),
            stated("mocose-beats-flow", beats("MoCoSE", "flow", margin=FAR)),
            stated("mocose-beats-whitening", beats("MoCoSE", "whitening", margin=FAR)),
            stated("mocose-beats-is-bert", beats("MoCoSE", "IS-BERT")),
            stated("mocose-beats-ct-bert", beats("MoCoSE", "CT")),
            stated("mocose-beats-declutr", beats("MoCoSE", "DeCLUTR")),
            stated("simcse-unsup-average", beats("SimCSE", "CT", margin=RELEVANT)),
            stated("main-over-tfidf", beats("MoCoSE", "TF-IDF")),
            stated("main-predictor-and-fgsm", beats("MoCoSE", "MoCo")),
            stated("main-whitening-other-text", beats("whitening, Wikipedia", "whitening")),
            stated("main-flow-other-text", beats("flow, Wikipedia", "flow")),
        ),
    ),
    "supervised": Grid(
        question="What do entailment pairs add?",
        points=(SIMCSE, SUPERVISED),
        paper="simcse_table5",
        notebook="20_main_results",
        claims=(
            stated("simcse-sup-over-unsup", beats("SimCSE supervised", "SimCSE", margin=RELEVANT)),
            stated("simcse-map-supervised", beats("SimCSE", "SimCSE supervised"), ALIGNMENT),
        ),
    ),
    "two_errors": Grid(
        question="How sure is a difference, over seeds and over the test sets' pairs?",
        points=tuple(replace(p, tier=2) for p in (TF_IDF, START[0], START[3], START[4])),
        common={"resamples": 200},
        notebook="20_main_results",
    ),
    "main_geometry": Grid(
        question="Which systems gain uniformity, and at what price in alignment?",
        points=(*START[2:4], post("whitening", "whitening", tier=1), post("flow", "flow")),
        notebook="20_main_results",
        claims=(
            stated("simcse-map-pretrained", beats("SimCSE", FIRST_LAST), ALIGNMENT),
            stated("simcse-map-postprocessing", beats(FIRST_LAST, "whitening"), UNIFORMITY),
            stated("main-flow-uniformity", beats(FIRST_LAST, "flow"), UNIFORMITY),
            stated("main-whitening-alignment", beats("whitening", FIRST_LAST), ALIGNMENT),
            stated("main-flow-alignment", beats("flow", FIRST_LAST), ALIGNMENT),
            stated(
                "simcse-spectrum-postprocessing-flattest",
                beats("whitening", "SimCSE"),
                "effective_rank dev",
            ),
        ),
    ),
}
