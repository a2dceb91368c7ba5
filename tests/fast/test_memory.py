"""A freed block is used again, and the system need not clear its pages a second time."""

import subprocess
import sys

import pytest

from mocose_study.fast.processor import keep_freed_memory

FAULTS = """
import resource, sys
import torch
from mocose_study.fast.processor import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
torch.zeros(10_000_000).sum()
before = faults()
for _ in range(20):
    torch.zeros(10_000_000).sum()
print(faults() - before)
"""


def faults(how: str) -> int:
    command = [sys.executable, "-c", FAULTS, how]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not keep_freed_memory(), reason="this C library is not glibc")
def test_kept_memory_costs_few_page_faults():
    assert faults("keep") < 0.2 * faults("give back")
