"""A small data folder of made-up sentences, of the right form."""

import lzma
from pathlib import Path

LINES = ["One duck swam.", "Two ducks sang.", "", "A hen slept."]
LINES += ["  The cock crowed.  ", "", "Rain fell."]
PAIRS = [
    (4.5, "A hen slept.", "The hen was asleep."),
    (0.5, "Rain fell.", "Two ducks sang."),
    (3.0, "One duck swam.", "A duck was swimming."),
]
HEADER = "score\tsentence1\tsentence2"
STS = "STS12 STS13 STS14 STS15 STS16 STSB.dev STSB.test SICKR.dev SICKR.test".split()


def table(pairs=PAIRS) -> str:
    return "\n".join([HEADER, *("\t".join(map(str, pair)) for pair in pairs), ""])


def make(folder: Path) -> Path:
    """Two files of a corpus and every STS task."""
    for part in ("corpus", "sts"):
        (folder / part).mkdir(parents=True)
    for i, lines in enumerate((LINES[:4], LINES[4:])):
        text = lzma.compress("\n".join(lines).encode())
        (folder / "corpus" / f"part_{i}.txt.xz").write_bytes(text)
    for name in STS:
        (folder / "sts" / f"{name}.tsv").write_text(table())
    return folder
