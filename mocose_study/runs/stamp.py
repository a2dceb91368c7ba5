"""Where and with what a run was made."""

import hashlib
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

import mocose_lib
from mocose_study.fast.processor import instruction_sets, processor

METHOD_ROOMS = ("systems", "fast", "rewriting")  # what decides a run's numbers, beside the library
PACKAGES = ("torch", "transformers", "datasets", "tokenizers", "numpy", "scipy")


def code_version() -> str:
    """The package's version, and a digest of the method's source and of the tables it reads."""
    study = Path(__file__).parents[1]
    folders = (Path(mocose_lib.__file__).parent, *(study / room for room in METHOD_ROOMS))
    files = [p for folder in folders for end in ("py", "toml") for p in folder.rglob(f"*.{end}")]
    sources = b"".join(path.read_bytes() for path in sorted(files))
    try:
        release = version("mocose-lib")
    except PackageNotFoundError:
        release = "uninstalled"
    return f"{release}+{hashlib.sha256(sources).hexdigest()[:8]}"


def stamp(device: str) -> dict:
    """Code, packages, processor with its instruction sets, threads, and the time (UTC)."""
    return {
        "code": code_version(),
        "python": platform.python_version(),
        "device": processor(device),
        "instructions": instruction_sets(),
        "threads": torch.get_num_threads(),
        "packages": {package: version(package) for package in PACKAGES},
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
