"""Processor, graphics card and allocator: names, what is fast, and what is kept."""

import ctypes

import torch

from mocose_study.config import Config, InputError

TRIM, TOP_PAD, MMAP = -1, -2, -3  # mallopt's parameters, as malloc.h names them
EXTENSIONS = (
    "avx2",
    "avx512_f",
    "avx512_bf16",
    "amx_bf16",
)  # what changes speed and last digits


def default_device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def processor(device: str = "cpu") -> str:
    """The model's name, as "cpu: AMD EPYC" or "cuda: NVIDIA H100"."""
    if device == "cuda":
        return f"cuda: {torch.cuda.get_device_name()}"
    known = torch.cpu.get_capabilities()
    return f"cpu: {known.get('cpu_name') or known.get('architecture', 'unknown')}"


def instruction_sets() -> list[str]:
    """Those of EXTENSIONS that this processor has."""
    known = torch.cpu.get_capabilities()
    return [name for name in EXTENSIONS if known.get(name)]


def fast_in_bf16(device: str) -> bool:
    """Whether it has units for bf16; without them bf16 is many times slower."""
    return device != "cpu" or bool(
        {"avx512_bf16", "amx_bf16"} & set(instruction_sets())
    )


def check_precision(config: Config, device: str) -> None:
    """Raises InputError when bf16 is asked of a processor without units for it."""
    if config.precision == "bf16" and not fast_in_bf16(device):
        raise InputError(
            "precision = 'bf16' is many times slower than float32 on this processor, "
            "which has neither avx512_bf16 nor AMX; set precision = 'float32', or use "
            "a GPU."
        )


def keep_freed_memory() -> bool:
    """Tells glibc's allocator to keep what a step frees; False where there is none.

    By default it gives large blocks back to the system, which clears each page again.
    """
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another system, or another C library
        return False
    most = 2**31 - 1
    return all([mallopt(MMAP, 2**30), mallopt(TRIM, most), mallopt(TOP_PAD, 2**26)])
