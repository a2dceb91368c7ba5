"""What git says of the code and of a file's lines, in repositories made on the spot."""

import pytest

from mocose_lib import InputError
from mocose_study.data.git import code_at, git, line_times

asked = code_at.__wrapped__  # which remembers nothing
ONE, TWO, THREE = (f"2026-01-0{day}T00:00:00Z" for day in (1, 2, 3))


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """commit(when) commits all files of `commit.folder`, a new repository."""
    folder = tmp_path / "repository"
    (folder / "mocose_lib").mkdir(parents=True)
    (folder / "mocose_lib" / "a.py").write_text("a = 1\n")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "somebody")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "nobody@example.org")

    def commit(when):
        monkeypatch.setenv("GIT_COMMITTER_DATE", when)
        git(folder, "add", "--all")
        git(folder, "commit", "--message", "a change")
        return git(folder, "rev-parse", "HEAD").strip()

    git(folder, "init", "--quiet")
    commit.folder = folder
    return commit


@pytest.mark.parametrize("changed", ["mocose_lib/a.py", "mocose_lib/b.py", "notes.md"])
def test_a_stamp_has_the_commit_and_whether_code_was_changed(repository, changed):
    commit, folder = repository(ONE), repository.folder
    assert asked(folder) == {"commit": commit, "dirty": False}
    (folder / changed).write_text("b = 2\n")
    assert asked(folder) == {"commit": commit, "dirty": changed.endswith(".py")}


@pytest.mark.parametrize("lost", ["the repository", "the command"])
def test_without_git_it_is_the_version(repository, monkeypatch, lost):
    repository(ONE)
    if lost == "the command":
        monkeypatch.setenv("PATH", "")
    folder = repository.folder / ("mocose_lib" if lost == "the repository" else "")
    assert list(asked(folder)) == ["version"]


def test_a_line_is_as_old_as_its_text(repository):
    path = repository.folder / "table.csv"
    path.write_text("head\nfirst,1\nsecond,1\n")
    repository(ONE)
    path.write_text("head\nfirst,1\nsecond,2\n")
    repository(TWO)
    assert line_times(path) == [ONE, ONE, TWO]
    path.write_text("head\nfirst,1\nsecond,2\nthird,1\n")
    *old, new = line_times(path)
    assert old == [ONE, ONE, TWO] and new > THREE  # not committed: of now


def test_the_age_of_a_line_needs_the_whole_history(repository, tmp_path):
    path = repository.folder / "table.csv"
    for when, text in ((ONE, "head\n"), (TWO, "other\n")):
        path.write_text(text)
        repository(when)
    source = f"file://{repository.folder}"
    git(tmp_path, "clone", "--quiet", "--depth", "1", source, "copy")
    with pytest.raises(InputError, match="shallow"):
        line_times(tmp_path / "copy" / "table.csv")
    (tmp_path / "table.csv").write_text("head\n")
    with pytest.raises(InputError, match="git has no history"):
        line_times(tmp_path / "table.csv")
