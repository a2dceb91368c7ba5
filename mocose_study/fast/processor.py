"""Processor and graphics card: their names, and whether bf16 is fast there."""

import torch

from mocose_study.config import Config, InputError

EXTENSIONS = ("avx2", "avx512_f", "avx512_bf16", "amx_bf16")  # change last digits


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
    return device != "cpu" or any("bf16" in name for name in instruction_sets())


def check_precision(config: Config, device: str) -> None:
    """Raises InputError when bf16 is asked of a processor without units for it."""
    if config.precision == "bf16" and not fast_in_bf16(device):
        what = "precision = 'bf16' is slow on a processor without avx512_bf16 and AMX"
        raise InputError(f"{what}; set precision = 'float32', or use a GPU.")
