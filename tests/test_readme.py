"""The README says what the run files say."""

import math
import re

import pytest
from texts import ROOT

from mocose_study.claims.effects import shown
from mocose_study.claims.verdicts import SEEDS_NEEDED
from mocose_study.cli import COMMANDS
from mocose_study.config import FIELDS
from mocose_study.config.profiles import PRESETS, PROFILES, configure
from mocose_study.results import ledger
from mocose_study.results.conclude import tally
from mocose_study.results.show import scores_markdown
from mocose_study.results.tables import METRIC, table_of
from mocose_study.sections import GRIDS

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_scores_is_that_of_the_committed_runs():
    block = re.search(r"<!-- scores -->\n(.*?)\n<!-- /scores -->", TEXT, re.S).group(1)
    assert block == scores_markdown(GRIDS["start"], "tiny")


@pytest.mark.parametrize("page", ["README", "CHECKLIST", "CONTRIBUTING", "CHANGELOG"])
def test_every_file_that_a_page_links_exists(page):
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)", text)
    assert not [
        link for link in links if "://" not in link and not (ROOT / link).exists()
    ]


def test_every_command_profile_preset_and_option_in_the_readme_exists():
    for line in re.findall(r"^mocose .*$", TEXT, re.M):
        words = line.split("#")[0].split()
        assert words[1] in COMMANDS
        for option, value in zip(words, [*words[1:], ""], strict=True):
            assert option != "--profile" or value in PROFILES
            assert option != "--preset" or value in PRESETS
            if words[1] == "run" and option.startswith("--"):
                known = {"profile", "preset", "data", "save", *FIELDS}
                assert option[2:].replace("-", "_") in known


def test_the_simple_rivals_are_those_of_the_committed_runs():
    assert f"<!-- rivals -->\n{rivals()}\n<!-- /rivals -->" in TEXT


def rivals() -> str:
    """What those systems reach that leave the encoder as it is, or have none."""
    mean = table_of(GRIDS["main"], "tiny").groupby("label")[METRIC].mean()
    named = (f"{name} {mean[name]:.1f}" for name in ("flow", "TF-IDF", "whitening"))
    elsewhere = (f"{x} {mean[f'{x}, Wikipedia']:.1f}" for x in ("flow", "whitening"))
    return (
        f"Systems that do not train the encoder are far ahead here: {', '.join(named)}. They learn "
        f"from the test sentences; from Wikipedia it is {' and '.join(elsewhere)}. So these runs "
        "compare settings. They say little of the level that a large encoder reaches."
    )


def grid_of(claim: str):
    (grid,) = [g for g in GRIDS.values() if claim in {c.id for c in g.claims}]
    return grid


def judged(claim: str, profile: str):
    """The row of a claim in the ledger of a profile."""
    return (
        ledger.section(grid_of(claim), table_of(grid_of(claim), profile))
        .set_index("id")
        .loc[claim]
    )


CLAIMS = (  # those that the README shows, with their profiles
    ("mocose-distance-optimum", "tiny"),
    ("mocose-ema-not-099", "tiny"),
    ("mocose-ema-not-099", "mini"),
    ("mocose-ema-needed", "tiny"),
    ("mocose-ema-needed", "mini"),
    ("mocose-queue-4096-breaks", "tiny"),
    ("mocose-queue-4096-breaks-size", "tiny"),
    ("mocose-slice-middle-over-newest", "tiny"),
    ("mocose-anonymous-refresh-latest-worse", "tiny"),
    ("mocose-augment-fgsm-helps", "tiny"),
    ("mocose-beats-untrained", "tiny"),
    ("mocose-average-77", "tiny"),
)


def claims() -> str:
    """All verdicts counted, and the table of what the runs say to CLAIMS, in the ledger's words."""
    ledgers = {
        profile: ledger.judged(profile).set_index("id") for profile in ("tiny", "mini")
    }
    counted = []
    for profile, table in ledgers.items():
        papers = table.query("paper != 'this study' and n > 0")
        counted.append(f"`{profile}` judges {len(papers)} ({tally(papers)})")
    lines = [
        f"Of the papers' claims {' and '.join(counted)}. `99_claims` has all; some of them:",
        "",
        "| statement, in our words | source | profile (encoder) | here | the paper | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for claim, profile in CLAIMS:
        row = ledgers[profile].loc[claim]
        paper = f"{row['reported']:+.2f}" if math.isfinite(row["reported"]) else ""
        interval = f"{shown(row['low'])} to {shown(row['high'])}, n = {row['n']}"
        ours = (
            f"{shown(row['effect'])} ({interval})" if row["n"] >= SEEDS_NEEDED else ""
        )
        grid = GRIDS[row["section"]]
        encoder = configure(profile, **grid.fields_at(profile)).encoder
        where = f"`{profile}`" if encoder == profile else f"`{profile}` (`{encoder}`)"
        about = (row["text"], row["source"], where, ours, paper, row["verdict"])
        lines.append(f"| {' | '.join(about)} |")
    return "\n".join(lines)


MIXED = "mixed-mocose-over-simcse"
LEADS = {  # by what training sees: claims that MoCoSE beats SimCSE, from the encoders of ENCODERS
    "parts of sentences, one length": ("matched-cropped", None, "matched-cropped"),
    "parts, one length: MoCoSE without heads": ("tuned-mocose-over-simcse", None, None),
    "parts of sentences, mixed lengths": (MIXED, None, MIXED),
    "parts, mixed lengths: each at its best rate": (
        "tuned-mixed-mocose-over-simcse",
        None,
        None,
    ),
    "whole sentences, one length": (
        "matched-whole",
        "whole-mocose-over-simcse",
        "matched-whole",
    ),
    "whole, one length: each at its best rate": (
        None,
        "tuned-whole-mocose-over-simcse",
        None,
    ),
    "whole sentences, mixed lengths: the papers' views": (
        None,
        *["views-mocose-over-simcse"] * 2,
    ),
}
ENCODERS = {
    "`tiny`": "tiny",
    "`tiny-long`": "tiny",
    "`mini`": "mini",
}  # with their profiles


def leads() -> str:
    """The table of what the runs say to LEADS."""
    lines = [f"| views | {' | '.join(ENCODERS)} |", "| --- | --- | --- | --- |"]
    for views, claims in LEADS.items():
        lines.append(
            f"| {views} | {' | '.join(map(lead, claims, ENCODERS.values()))} |"
        )
    return "\n".join(lines)


def lead(claim: str | None, profile: str) -> str:
    if claim is None:
        return ""
    row, grid = judged(claim, profile), grid_of(claim)
    if row["n"] < SEEDS_NEEDED:
        return row["verdict"]
    (named,) = [c.rule for c in grid.claims if c.id == claim]
    table = table_of(grid, profile).pivot(
        index="seed", columns="label", values=row["metric"]
    )
    a, b = table[[named.a, named.b]].dropna().mean()
    levels = f"{a:.1f} and {b:.1f}"
    interval = f"{shown(row['low'])} to {shown(row['high'])}, n = {row['n']}"
    return f"{levels}: {shown(row['effect'])} ({interval}), {row['verdict']}"


def test_the_table_of_leads_is_the_ledgers():
    block = re.search(r"<!-- leads -->\n(.*?)\n<!-- /leads -->", TEXT, re.S).group(1)
    assert block == leads()


def test_the_table_of_claims_is_the_ledgers():
    block = re.search(r"<!-- claims -->\n(.*?)\n<!-- /claims -->", TEXT, re.S).group(1)
    assert block == claims()


def test_the_readme_can_be_read_in_one_sitting():
    assert TEXT.count("\n") <= 200


def test_the_example_of_the_library_runs(tiny, tmp_path, monkeypatch):
    block = re.search(r"```python\n(.*?)```", TEXT, re.S).group(1)
    block = block.replace('"data/encoders/tiny"', repr(str(tiny))).replace(
        "steps=100", "steps=2"
    )
    monkeypatch.chdir(tmp_path)
    sentences = [
        f"{a} dogs run over the {b} hill" for a in "abcdefghij" for b in "abcdefghij"
    ]
    first, second = ["a dog", "two dogs", "a cat"], ["a hill", "a dog runs", "a cat"]
    pairs = {"score": [0.0, 3.0, 5.0], "sentence1": first, "sentence2": second}
    exec(compile(block, "README.md", "exec"), {"sentences": sentences, "pairs": pairs})
    assert (tmp_path / "my-mocose" / "modules.json").exists()
