"""Which rules existed when a run was made: an append-only list, each line chained to the last.

`data/claims.jsonl` has a line for every rule ever put on record. Its `chain` is a digest of the
line and of the chain before it, so that no rule can be slipped in later among the old ones. A run
file carries the chain's last link of its day (`rules_on_record`): rules up to that line are older
than the run.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from mocose_lib import InputError
from mocose_study.data.atomic import write_atomically
from mocose_study.data.files import study_folder


def digest(claim, control=None) -> str:
    """Of all that is chosen to judge a claim: its rule and metric, and the section's control."""
    chosen = [_named(rule) if rule else None for rule in (claim.rule, control)]
    return _hashed(json.dumps([claim.metric, *chosen], sort_keys=True))


def _named(rule) -> list:
    """The rule as the first ones on record were: with a `start`, and a point as a dict."""
    fields = {key: _pointed(value) for key, value in vars(rule).items()}
    if "b" in fields:
        fields["start"] = None
    return [type(rule).__name__, fields]


def _pointed(value):
    if isinstance(value, list):
        return [_pointed(label) for label in value]
    return {"label": value} if isinstance(value, str) else value


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def record_file() -> Path:
    return study_folder() / "data" / "claims.jsonl"


def on_record() -> list[dict]:
    """The lines {id, digest, chain}, oldest first. Raises InputError where the chain is broken."""
    path = record_file()
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    try:
        lines, chain = [json.loads(line) for line in text.splitlines()], ""
    except ValueError as cause:
        raise InputError(f"{path.name} is damaged ({cause}); take it from git again.") from None
    for number, line in enumerate(lines, 1):
        chain = _hashed(f"{chain} {line['id']} {line['digest']}")
        if line["chain"] != chain:
            raise InputError(f"{path.name}, line {number}, was changed after it was written")
    return lines


def rules_on_record() -> str:
    """The last link of the chain, "" before the first rule: what a run file keeps as `rules`."""
    return next((line["chain"] for line in reversed(on_record())), "")


def put_on_record(digests: Mapping[str, str]) -> list[str]:
    """Appends the rules, digests by id, that are new or changed; returns their ids."""
    lines = on_record()
    last = {line["id"]: line["digest"] for line in lines}
    new = [id for id, found in digests.items() if last.get(id) != found]
    for id in new:
        before = lines[-1]["chain"] if lines else ""
        chain = _hashed(f"{before} {id} {digests[id]}")
        lines.append({"id": id, "digest": digests[id], "chain": chain})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    write_atomically(record_file(), lambda path: path.write_text(text, encoding="utf-8"))
    return new


def check_order(digests: Mapping[str, str], links: Mapping[str, Iterable]) -> dict[str, str]:
    """{id: why} of the claims that may have been judged by a rule younger than their runs.

    `links` holds by id what each run of the claim keeps as `rules`; a claim without runs passes.
    """
    lines = on_record()
    place = {line["chain"]: i for i, line in enumerate(lines)}
    newest = {line["id"]: (i, line["digest"]) for i, line in enumerate(lines)}
    late = {}
    for id, found in digests.items():
        runs = list(links.get(id, ()))
        at, known = newest.get(id, (len(lines), ""))
        older = sum(place.get(link, -1) < at for link in runs)
        if runs and known != found:
            late[id] = "its rule is not on record"
        elif older:
            late[id] = f"{older} of its {len(runs)} runs are older than its rule"
    return late
