"""Rules on record: nothing is slipped in, and a rule younger than its runs is named."""

import json

import pytest

from mocose_lib import InputError
from mocose_study.claims import record
from mocose_study.claims.rules import Better
from mocose_study.claims.verdicts import Claim

RULE = Better("a", "b")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MOCOSE_STUDY", str(tmp_path))


def test_a_digest_covers_rule_metric_and_control_but_not_the_words():
    claim = Claim("x", "Table 3", "a beats b.", RULE)
    same = record.digest(Claim("y", "Table 4", "other words", RULE))
    others = [
        record.digest(Claim("x", "", "", Better("a", "b", 0.5))),
        record.digest(Claim("x", "", "", RULE, metric="sts_dev")),
        record.digest(claim, control=RULE),
    ]
    assert record.digest(claim) == same and len({same, *others}) == 4


def test_only_new_and_changed_rules_are_appended():
    assert record.rules_on_record() == ""
    assert record.put_on_record({"x": "1", "y": "2"}) == ["x", "y"]
    first = record.rules_on_record()
    assert record.put_on_record({"x": "1", "y": "2"}) == [] and record.rules_on_record() == first
    assert record.put_on_record({"x": "1", "y": "3"}) == ["y"] and record.rules_on_record() != first
    assert [line["digest"] for line in record.on_record()] == ["1", "2", "3"]


def test_a_rule_slipped_in_among_the_old_ones_breaks_the_chain():
    record.put_on_record({"x": "1", "y": "2"})
    lines = record.record_file().read_text().splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "digest": "9"})
    record.record_file().write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"claims\.jsonl, line 1, was changed"):
        record.rules_on_record()


def test_a_rule_younger_than_a_run_is_named():
    record.put_on_record({"x": "1"})
    old = record.rules_on_record()
    record.put_on_record({"y": "2"})
    new = record.rules_on_record()
    digests = {"x": "1", "y": "2", "z": "3"}
    assert record.check_order(digests, {"x": [old, new], "y": [new]}) == {}
    assert record.check_order(digests, {"y": [old, new], "z": []}) == {
        "y": "1 of its 2 runs are older than its rule"
    }
    unmarked = record.check_order(digests, {"x": [None, new], "z": [new]})
    assert unmarked == {
        "x": "1 of its 2 runs are older than its rule",
        "z": "its rule is not on record",
    }
    record.put_on_record({"x": "2"})
    assert record.check_order({"x": "1"}, {"x": [old]}) == {"x": "its rule is not on record"}
    record.put_on_record({"x": "1"})  # changed back: young all the same
    assert record.check_order({"x": "1"}, {"x": [old]})
