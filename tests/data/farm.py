"""A small data folder of made-up sentences, of the right form."""

import hashlib
import lzma
from pathlib import Path

LINES = [
    "One duck swam.",
    "Two ducks sang.",
    "",
    "A hen slept.",
    "  The cock crowed.  ",
    "",
    "Rain fell.",
]
PAIRS = [
    (4.5, "A hen slept.", "The hen was asleep."),
    (0.5, "Rain fell.", "Two ducks sang."),
    (3.0, "One duck swam.", "A duck was swimming."),
]


def table(pairs=PAIRS, header="score\tsentence1\tsentence2") -> str:
    return "\n".join([header, *("\t".join(map(str, pair)) for pair in pairs), ""])


def make(folder: Path) -> Path:
    """Two files of a corpus and every STS task."""
    (folder / "corpus").mkdir(parents=True)
    (folder / "sts").mkdir()
    for i, lines in enumerate((LINES[:4], LINES[4:])):
        with lzma.open(
            folder / "corpus" / f"part_{i}.txt.xz", "wt", encoding="utf-8"
        ) as file:
            file.write("\n".join(lines))
    for name in (
        "STS12",
        "STS13",
        "STS14",
        "STS15",
        "STS16",
        "STSB.dev",
        "STSB.test",
        "SICKR.dev",
        "SICKR.test",
    ):
        (folder / "sts" / f"{name}.tsv").write_text(table())
    return folder


def write_sums(folder: Path) -> None:
    files = sorted(path for path in folder.rglob("*.*") if path.is_file())
    sums = [
        (hashlib.sha256(p.read_bytes()).hexdigest(), p.relative_to(folder))
        for p in files
    ]
    (folder / "SHA256SUMS").write_text(
        "".join(f"{s}  {p.as_posix()}\n" for s, p in sums)
    )
