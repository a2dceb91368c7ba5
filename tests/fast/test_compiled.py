"""An encoder behind torch.compile trains as it does without.

"aot_eager" traces forward and backward pass and runs them as they are. "inductor" would also write
kernels, which takes a minute on a CPU and gains nothing there.
"""

import subprocess
import sys

# in a process of its own, since the checks of array shapes while testing cannot be traced
SCRIPT = """
import torch
from mocose_study.config import configure
from mocose_study.systems import METHODS

calls, compiler = [], torch.compile
torch.compile = lambda *found, **options: calls.append(options) or compiler(*found, **options)
still = dict(dropout=0.0, head_dropout=0.0, fgsm_epsilon=0.0, corpus_size=200, steps=2)
vectors = []
for name in ("none", "aot_eager"):
    config = configure("smoke", compiled=name, **still)
    fitted = METHODS["mocose"](config, bar=False)
    vectors.append(torch.from_numpy(fitted.encode(["A dog runs.", "Nobody sings or plays."])))
assert calls == [{"backend": "aot_eager"}], calls
torch.testing.assert_close(*vectors, atol=1e-5, rtol=1e-4)
"""


def test_a_compiled_encoder_trains_as_a_plain_one():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
