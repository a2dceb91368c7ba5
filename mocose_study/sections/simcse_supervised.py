"""SimCSE's Tables 6, 7, D.1, D.2 and E.1: pooling, and what the supervised model is made of.

The paper's supervised model saw 275,601 triplets; the file of the data folder has 5,880.
"""

from mocose_study.claims.rules import Best

from .grid import HARM, RELEVANT, Grid, Point, at, beats, best, level, stated
from .simcse import DEV, SIMCSE, TABLE, UNTRAINED

TEMPERATURES = (0.001, 0.01, 0.05, 0.1, 1)
WEIGHTS = (0, 0.01, 0.1, 1)
# too few triplets have one length, and their two sentences differ as they are
TRIPLETS = {"batch_lengths": "equal", "crop": 0.0}
BERT = "bert-base-uncased"


def pooled(label: str, paper: str, method: str = "simcse", **fields) -> Point:
    return Point(label, {"method": method, **fields}, paper=f"{paper}, {method}")


def supervised(label: str, paper: str | None = None, **fields) -> Point:
    fields = {"method": "simcse_supervised", "mlp": "always", **TRIPLETS, **fields}
    return Point(label, fields, paper=paper)


def weighted(alpha: float) -> Point:
    return supervised(f"α = {alpha:g}", f"contradiction, {alpha}", hard_negative_weight=alpha)


GRIDS = {
    "simcse_pooling": Grid(
        question="With which pooling and head should SimCSE be trained and measured?",
        points=(
            pooled("MLP", "cls_pooler", mlp="always"),
            pooled("MLP in training", "cls_pooler_train_only", mlp="training"),
            pooled("no MLP", "cls", mlp="never"),
            pooled("first-last", "first_last", mlp="never", pooling="first_last"),
            *(
                pooled(f"supervised: {label}", paper, "simcse_supervised", **TRIPLETS, **fields)
                for label, paper, fields in (
                    ("MLP", "cls_pooler", {"mlp": "always"}),
                    ("MLP in training", "cls_pooler_train_only", {"mlp": "training"}),
                    ("no MLP", "cls", {"mlp": "never"}),
                    ("first-last", "first_last", {"mlp": "never", "pooling": "first_last"}),
                )
            ),
            UNTRAINED,
        ),
        paper="simcse_table6",
        **TABLE,
        control=beats("MLP in training", UNTRAINED.label, HARM),
        claims=(
            stated("simcse-pooling-unsup-mlp-train", beats("MLP in training", "MLP"), DEV),
            stated("simcse-pooling-unsup-no-mlp", beats("MLP in training", "no MLP"), DEV),
            stated("simcse-pooling-unsup-first-last", beats("MLP in training", "first-last"), DEV),
            stated(
                "simcse-pooling-sup-indifferent",
                level("supervised: MLP", "supervised: MLP in training"),
                DEV,
            ),
        ),
    ),
    "simcse_hard_negatives": Grid(
        question="How much should a contradiction weigh as a hard negative?",
        points=(
            supervised("none", "none, ", hard_negatives=False),
            *map(weighted, (0.5, 1.0, 2.0)),
            supervised("α = 1, two encoders", two_encoders=True),
            UNTRAINED,
        ),
        control=beats("α = 1", UNTRAINED.label, HARM),
        paper="simcse_table7",
        **TABLE,
        claims=(
            stated("simcse-hard-negatives-help", beats("α = 1", "none"), DEV),
            stated("simcse-hard-negative-weight-one", best("α = 1", ["α = 0.5", "α = 2"]), DEV),
            stated("simcse-hard-negative-weight-two", level("α = 1", "α = 2"), DEV),
            stated("simcse-sup-dual-encoder-harms", beats("α = 1", "α = 1, two encoders"), DEV),
        ),
    ),
    "simcse_temperature": Grid(
        question="Which temperature, and cosine or dot product? (supervised)",
        points=(
            *(supervised(f"{t:g}", f"cosine, {t:g}", temperature=t) for t in TEMPERATURES),
            supervised("dot product", "dot, ", similarity="dot", temperature=1.0),
            UNTRAINED,
        ),
        control=beats("0.05", UNTRAINED.label, HARM),
        paper="simcse_tableD1",
        **TABLE,
        claims=(
            stated("simcse-temperature-005-best", best("0.05", ["0.001", "0.01", "0.1"]), DEV),
            stated("simcse-cosine-over-dot", beats("0.05", "dot product"), DEV),
            stated("simcse-temperature-01-harms", beats("0.05", "0.1", margin=RELEVANT), DEV),
            stated("simcse-temperature-1-breaks", beats("0.05", "1", margin=HARM), DEV),
        ),
    ),
    "simcse_mlm": Grid(
        question="What does an auxiliary masked-language-model loss change? (supervised)",
        points=tuple(supervised(f"{w:g}", f"{w:g}", mlm_weight=w) for w in WEIGHTS),
        paper="simcse_tableD2",
        common={"transfer": True},
        **TABLE,
        claims=(
            stated("simcse-mlm-transfer", beats("0.1", "0"), "transfer_dev_avg"),
            stated("simcse-mlm-sts-drop", beats("0", "0.1"), DEV),
            stated(
                "simcse-mlm-sts-drop-consistent",
                Best(at("0"), [at(f"{w:g}") for w in WEIGHTS[1:]]),
                DEV,
            ),
        ),
    ),
    "simcse_transfer": Grid(
        question="And on the test splits of the transfer tasks, beside other systems?",
        points=(
            Point("untrained mean", {"method": "untrained", "pooling": "mean"}),
            Point("whitening", {"method": "whitening", "pooling": "first_last"}),
            Point("flow", {"method": "flow", "pooling": "first_last"}),
            Point("IS-BERT", {"method": "is_bert"}, paper=f"is_bert, {BERT}, "),
            Point("SimCSE", SIMCSE, paper=f"simcse, {BERT}, 0"),
            Point("SimCSE + MLM", {**SIMCSE, "mlm_weight": 0.1}, paper=f"simcse, {BERT}, 0.1"),
            supervised("supervised", f"simcse_supervised, {BERT}, 0"),
            supervised("supervised + MLM", f"simcse_supervised, {BERT}, 0.1", mlm_weight=0.1),
        ),
        paper="simcse_tableE1",
        common={"transfer": True},
        **TABLE,
        claims=(
            stated(
                "simcse-mlm-transfer-unsup-bert", beats("SimCSE + MLM", "SimCSE"), "transfer_avg"
            ),
            stated(
                "simcse-mlm-transfer-sup-bert",
                beats("supervised + MLM", "supervised"),
                "transfer_avg",
            ),
            stated("simcse-transfer-unsup-unclear", level("SimCSE", "IS-BERT"), "transfer_avg"),
            stated(
                "simcse-transfer-postprocessing-harms",
                beats("untrained mean", "whitening"),
                "transfer_avg",
            ),
            stated("simcse-transfer-flow-harms", beats("untrained mean", "flow"), "transfer_avg"),
        ),
    ),
}
