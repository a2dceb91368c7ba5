"""claims.csv: every row can be judged, and has the number that the paper prints."""

import math

import pytest

from mocose_study.config import InputError
from mocose_study.results.tables import paper_of, table_of
from mocose_study.sections import SECTIONS, claims
from mocose_study.sections.claims import CONTROL, claims_of, rows

CLAIMS = [(SECTIONS[name], claim) for name in SECTIONS for claim in claims_of(name)[1]]
ELSEWHERE = {  # numbers of another table than the section's, or of its text; and where
    "full-average-own-rate": "MoCoSE, Table 1",
    "simcse-sup-over-unsup": "SimCSE, Table 5",
    "simcse-transfer-unsup-unclear": "SimCSE, Table E.1",
    "simcse-sup-dual-encoder-harms": "SimCSE, section 4",
    "mocose-anonymous-init-128-breaks-1024": "Table 7 of the anonymous version",
    "mocose-anonymous-init-128-breaks-4096": "Table 7 of the anonymous version",
    "s-simcse-sampled-rate-base": "the best three of seven seeds",
    "s-simcse-sentence-masks-base": "the best three of seven seeds",
    "s-simcse-full-base": "the best three of seven seeds",
}
PAPERS = ("MoCoSE", "SimCSE", "S-SimCSE", "MoCoSE (anonymous)", "this study")


def test_a_claim_is_a_sentence_of_a_paper_and_has_a_name_of_its_own():
    table = rows()
    own = table[table["id"] != CONTROL]
    assert len(own) <= 130 and own["id"].is_unique
    assert own["id"].str.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*").all()
    assert {*own["source"]} <= {*PAPERS}
    assert own["claim"].str.endswith((".", ")")).all()
    needed = ["section", "id", "rule", "a", "b", "metric"]
    assert not table[needed].eq("").any(axis=None)
    assert not table.duplicated(["section", "rule", "a", "b", "metric"]).any()
    assert len(CLAIMS) == len(own)


def test_a_claims_metric_is_a_column_of_the_runs():
    tables = (table_of(SECTIONS[name], "tiny") for name in ("main_results", "transfer"))
    assert {*rows()["metric"]} <= {column for table in tables for column in table}


def test_the_papers_effect_is_that_of_its_table():
    for section, claim in CLAIMS:
        paper = paper_of(section, claim.metric)
        if not {claim.a, *claim.b} <= paper.keys():
            assert math.isnan(claim.paper) or claim.id in ELSEWHERE, claim.id
        else:
            effect = paper[claim.a] - max(paper[label] for label in claim.b)
            assert claim.paper == pytest.approx(effect, abs=0.006), claim.id
            assert claim.id not in ELSEWHERE
        # what the paper says of its own numbers holds for them, but for its margin
        if claim.rule == "better" and math.isfinite(claim.paper):
            assert claim.paper > min(claim.margin, 0), claim.id


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("emma,x,,y,better,0.5,0.85,0,sts_avg,", "no section of claims.csv 'emma'"),
        ("ema,x,,y,better,0.5,0.86,0,sts_avg,", "ema, for claim x '0.86'"),
        ("ema,x,,y,better,0.5,0.85,0,sts_avg,\n" * 2, "several rows of x"),
    ],
)
def test_a_wrong_row_is_one_sentence(row, sentence, tmp_path, monkeypatch):
    header = "section,id,source,claim,rule,a,b,margin,metric,paper"
    (tmp_path / "claims.csv").write_text(f"{header}\n{row}\n")
    monkeypatch.setattr(claims, "FILE", tmp_path / "claims.csv")
    rows.cache_clear()
    with pytest.raises(InputError, match=sentence):
        rows()
    rows.cache_clear()
