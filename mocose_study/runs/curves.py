"""A run's curves for TensorBoard, and the same as CSV: `mocose run --log FOLDER`."""

from pathlib import Path

import pandas as pd


def write_curves(record: dict, folder: Path) -> None:
    """Writes loss, dev score and geometry by training step, below `folder`/<run id>."""
    from torch.utils.tensorboard import SummaryWriter

    target = folder / record["id"]
    with SummaryWriter(str(target)) as writer:
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
