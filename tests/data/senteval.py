"""An archive in the formats of SentEval's downstream tasks, with sentences of ours."""

import tarfile
from io import BytesIO
from pathlib import Path

BINARY = """MR/rt-polarity.pos MR/rt-polarity.neg CR/custrev.pos CR/custrev.neg
SUBJ/subj.objective SUBJ/subj.subjective MPQA/mpqa.pos MPQA/mpqa.neg"""
FORMS = dict.fromkeys(BINARY.split(), "{s}")  # of a line with sentence s and label i
FORMS |= {f"SST/binary/sentiment-{x}": "{s}\t{i}" for x in ("train", "dev", "test")}
FORMS |= {f"TREC/{x}.label": "{kind} {s}" for x in ("train_5500", "TREC_10")}
PAIR = "{i}\t1\t2\t{s}\tnot {s}"
FORMS |= {f"MRPC/msr_paraphrase_{x}.txt": PAIR for x in ("train", "test")}
HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"


def write_archive(path: Path, sentences: list[str], top: str = "") -> None:
    """`top` is a folder around all others. Classes and splits have equal sentences."""
    kinds = ("HUM:ind", "LOC:city")
    with tarfile.open(path, "w") as archive:
        for name, form in FORMS.items():
            numbered = [(i % 2, s) for i, s in enumerate(sentences)]
            lines = [form.format(s=s, i=i, kind=kinds[i]) for i, s in numbered]
            text = "\n".join([HEADER, *lines] if form == PAIR else lines)
            coding = "utf-8" if name.startswith(("SST", "MRPC")) else "latin-1"
            content = f"{text}\n".encode(coding)
            member = tarfile.TarInfo(top + name)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
