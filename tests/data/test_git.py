"""What git says of the code and of a file's texts, in repositories made on the spot."""

import pytest

from mocose_lib import InputError
from mocose_study.data.git import code_at, git, versions

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


def test_a_file_has_its_former_texts_where_git_has_all_of_them(repository, tmp_path):
    path = repository.folder / "table.csv"
    for when, text in ((ONE, "one\n"), (TWO, "two\n")):
        path.write_text(text)
        repository(when)
    (repository.folder / "other.csv").write_text("one\n")
    repository(THREE)
    assert list(versions(path)) == [(TWO, "two\n"), (ONE, "one\n")]
    source = f"file://{repository.folder}"
    git(tmp_path, "clone", "--quiet", "--depth", "1", source, "copy")
    with pytest.raises(InputError, match="shallow"):
        list(versions(tmp_path / "copy" / "table.csv"))
    (tmp_path / "table.csv").write_text("head\n")
    with pytest.raises(InputError, match="git has no history"):
        list(versions(tmp_path / "table.csv"))
