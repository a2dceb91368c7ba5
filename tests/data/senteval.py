"""An archive in the formats of SentEval's downstream tasks, with sentences of ours."""

import tarfile
from io import BytesIO
from pathlib import Path

BINARY = """MR/rt-polarity.pos MR/rt-polarity.neg CR/custrev.pos CR/custrev.neg
SUBJ/subj.objective SUBJ/subj.subjective MPQA/mpqa.pos MPQA/mpqa.neg"""


def write_archive(path: Path, sentences: list[str], top: str = "") -> None:
    """`top` is a folder around all others. Classes and splits have equal sentences."""
    files = {name: "\n".join(sentences) for name in BINARY.split()}
    for split in ("train", "dev", "test"):
        rows = [f"{sentence}\t{i % 2}" for i, sentence in enumerate(sentences)]
        files[f"SST/binary/sentiment-{split}"] = "\n".join(rows)
    for name in ("train_5500", "TREC_10"):
        kinds = ("HUM:ind", "LOC:city")
        rows = [f"{kinds[i % 2]} {sentence}" for i, sentence in enumerate(sentences)]
        files[f"TREC/{name}.label"] = "\n".join(rows)
    for split in ("train", "test"):
        rows = [f"{i % 2}\t1\t2\t{s}\tnot {s}" for i, s in enumerate(sentences)]
        header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
        files[f"MRPC/msr_paraphrase_{split}.txt"] = "\n".join([header, *rows])
    with tarfile.open(path, "w") as archive:
        for name, text in files.items():
            coding = "utf-8" if name.startswith(("SST", "MRPC")) else "latin-1"
            content = f"{text}\n".encode(coding)
            member = tarfile.TarInfo(top + name)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
