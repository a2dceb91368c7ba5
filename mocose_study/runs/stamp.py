"""Where and with what a run was made."""

import platform
import time
from importlib.metadata import PackageNotFoundError, version

import torch

from mocose_study.fast.processor import instruction_sets, processor

PACKAGES = ("torch", "transformers", "datasets", "tokenizers", "numpy", "scipy")


def release() -> str:
    """The version of this package; `method.method_code` names the code of a run's method."""
    try:
        return version("mocose-lib")
    except PackageNotFoundError:
        return "uninstalled"


def stamp(device: str) -> dict:
    """Code, packages, processor with its instruction sets, threads, and the time (UTC)."""
    return {
        "code": release(),
        "python": platform.python_version(),
        "device": processor(device),
        "instructions": instruction_sets(),
        "threads": torch.get_num_threads(),
        "packages": {package: version(package) for package in PACKAGES},
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
