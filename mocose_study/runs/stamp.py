"""Where and with what a run was made."""

import platform
import time
from importlib.metadata import version

import torch

from mocose_study.fast.processor import instruction_sets, processor

RELEASE = version("mocose-lib")  # `method.method_code` names the code of a run's method
PACKAGES = ("torch", "transformers", "datasets", "tokenizers", "numpy", "scipy")


def stamp(device: str) -> dict:
    """Code, packages, processor with its instruction sets, threads, and the time (UTC)."""
    return {
        "code": RELEASE,
        "python": platform.python_version(),
        "device": processor(device),
        "instructions": instruction_sets(),
        "threads": torch.get_num_threads(),
        "packages": {package: version(package) for package in PACKAGES},
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
