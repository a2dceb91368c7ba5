"""Bad inputs and what is said of each: one sentence, before anything is trained."""

import math
import re

import pytest

from mocose_lib import InputError
from mocose_study.runs import run as runs

ALONE = {"batch_negatives": False}
CASES = [  # fields, and a part of the sentence; tests/systems has each system's
    ({"temperature": 1e-11}, "temperature = 1e-11 is not possible: it should be gr"),
    ({"temperature": math.nan}, "temperature = nan is not possible"),
    ({"temperature": "hot"}, "temperature = 'hot' is not possible"),
    ({"lr": 1.0}, "lr = 1.0 is not possible: it should be less than or eq"),
    ({"seed": 1.5}, "seed = 1.5 is not possible"),
    ({"steps": True}, "steps = True is not possible: it should be a valid integ"),
    ({"pooling": "max"}, "pooling = 'max' is not possible"),
    ({"negatives_slice": 5}, "negatives_slice = 5 is not possible"),
    ({"negatives_slice": ((1, 2, 3),)}, "negatives_slice = ((1, 2, 3),) is not"),
    ({"augmentation_models": ("a", 1)}, "augmentation_models = ('a', 1) is not"),
    ({"predictor_dim": 1}, "predictor_dim = 1 is not possible"),
    ({"token_cutoff": 0.999}, "token_cutoff = 0.999 is not possible"),
    ({"batch_size": 10**6}, "batch_size = 1000000 is larger than corpus_size = 64"),
    ({"ema_decay": (0.7, 1.5)}, "ema_decay = (0.7, 1.5) is out of range"),
    ({"queue_init": 100}, "queue_init = 100 is larger than queue_size = 12"),
    ({"queue_size": 0, "queue_init": 0} | ALONE, "queue_size = 0 leaves no negatives"),
    ({"negatives_slice": ((3, 2),)}, "negatives_slice needs 0 <= 3 < 2"),
    ({"predictor_dim": 64, "projection_layers": 0}, "predictor_dim needs a projection"),
    ({"detach_keys": False}, "needs shared_embeddings = True"),
    ({"target_projection_trained": True}, "target_projection_trained needs gradients"),
    ({"fgsm_epsilon": 5e-9, "precision": "bf16"}, "fgsm_epsilon is lost in bf16"),
    ({"text_augmentation": "typos", "augmentation_models": ("a",)}, "'typos' needs 0"),
    # what a run needs and does not find; tests/cli has names, tests/data files
    ({"method": "mocoso"}, "there is no method 'mocoso'; choose one of "),
    ({"corpus": "wiki900k"}, "wiki_sentences_00.txt.xz' needs a data folder; give --"),
    ({"corpus": "short.txt"}, "short.txt' has 3 sentences, but corpus_size = 64"),
    ({"benchmark": "column.tsv"}, "column.tsv has no column 'score'; .* with tabs"),
    ({"benchmark": ""}, "benchmark = '' names no pairs; leave it out."),
    ({"eval_max_length": 100_000}, "eval_max_length = 100000, but .* only 75 tokens"),
    ({"transfer": True}, "the hub did not give senteval.tar of princeton-nlp"),
    ({"max_length": 500}, "max_length = 500, but .* reads only 75 tokens"),
    ({"method": "word_vectors"}, "needs a data folder; give --data or MOCOSE_DATA"),
    ({"method": "word_vectors", "vectors": "vectors.txt"}, "vectors.txt has a line"),
    ({"method": "simcse_supervised", "triplets": "pairs.tsv"}, "pairs.tsv has no"),
]
FILES = {
    "short.txt": "a b\nc d\ne f\n",
    "column.tsv": "sentence1\tsentence2\tgold\nx\ty\t1\n",
    "vectors.txt": "a 1 2 3\nb 1 2\n",
    "pairs.tsv": "sent0\tsent1\na\tb\n",
}


def name_of(case) -> str:
    return ",".join(f"{name}={value}" for name, value in case[0].items())


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_bad_input_ends_a_grid_before_its_first_run(small, study, monkeypatch, case):
    """In one line, with a full stop or a question mark at its end."""
    changes, told = case
    for name, content in FILES.items():
        (study / name).write_text(content)
    monkeypatch.chdir(study)
    monkeypatch.setattr(runs, "make_run", lambda *a, **b: pytest.fail("a run started"))
    with pytest.raises(InputError) as refused:
        configs = [small(method="untrained"), small(**changes)]
        runs.run_grid(configs, "quick", workers=0)
    told = ".*".join(map(re.escape, told.split(".*")))
    assert re.fullmatch(f"(?=.*{told}).*[.?]", str(refused.value))
