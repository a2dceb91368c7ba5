"""A run's curves for TensorBoard, and the same as CSV: `mocose run --log FOLDER`."""

from pathlib import Path

import pandas as pd

from mocose_study.config import InputError


def summary_writer() -> type:
    """TensorBoard's writer. Raises InputError where the package tensorboard is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("--log needs the package tensorboard: pip install tensorboard.") from None
    return SummaryWriter


def write_curves(record: dict, folder: Path) -> None:
    """Writes loss, dev score and geometry by training step, below `folder`/<run id>."""
    target = folder / record["id"]
    with summary_writer()(str(target)) as writer:
        for part in ("history", "trajectory"):
            table = pd.DataFrame(record["progress"].get(part, ()))
            if table.empty:
                continue
            table.to_csv(target / f"{part}.csv", index=False)
            for row in table.to_dict("records"):
                step = row.pop("step")
                for name, value in row.items():
                    if pd.notna(value):
                        writer.add_scalar(f"{part}/{name}", value, step)
