"""Git repositories as events: real small ones, damaged ones, and settings that must change nothing."""

import gc
import os
import subprocess
import time

import pytest

from contracts.git_places import Repository, new_bare
from tarry.core.errors import BadInput, NotPossible
from tarry.places.git import client as git_child
from tarry.places.git.reader import read_git
from tarry.readers.events import Event

pytestmark = pytest.mark.needs("git")
FIRST, SECOND, THIRD = ("1700000000 +0200", "1700000100 -0500", "1700000200 +0000")


@pytest.fixture
def repository(tmp_path):
    """Two commits of one author."""
    made = Repository(tmp_path / "tools", new_bare(tmp_path / "away.git"))
    made.commit("one", FIRST)
    made.commit("two", SECOND)
    return made


def by_path(repository, **more):
    """Who changed which path, oldest first."""
    found = [(event.time // 10**6, event.target) for event in read_git(repository.path, by="path", **more)]
    return sorted(found)


def put(repository, date, *words, **files):
    """Commit files by name."""
    for name, text in files.items():
        (repository.path / name).write_text(text)
        repository("add", name)
    repository("commit", "--quiet", "--allow-empty", "-m", "more", *words, date=date)


def test_a_commit_is_an_act_of_its_author_on_the_repository(repository):
    """The address, the name of the folder, and the moment whatever the zone."""
    stream = read_git(repository.path)

    assert list(stream) == [
        Event("ann@nym.example", "tools", 1_700_000_100_000_000),
        Event("ann@nym.example", "tools", 1_700_000_000_000_000),
    ]
    assert stream.faults.count == 0
    assert "the author's own clock" in stream.notes[0]
    assert "--redate" in stream.notes[1]


def test_each_changed_path_is_a_target_of_its_own(repository):
    """Paths of one commit are told apart, whatever is in their names; the repository is their track."""
    put(repository, THIRD, **{"über all": "x", "line\nbreak": "y"})

    assert by_path(repository) == [
        (1_700_000_000, "file"),
        (1_700_000_100, "file"),
        (1_700_000_200, "line\nbreak"),
        (1_700_000_200, "über all"),
    ]
    assert {event.track for event in read_git(repository.path, by="path")} == {"tools"}


def test_a_path_that_is_no_text_is_written_out(repository):
    """Two names of other encodings stay two."""
    for name in (b"\xe4", b"\xe5"):
        with open(os.fsencode(repository.path) + b"/" + name, "wb") as file:  # noqa: PTH123 - no text, no Path
            file.write(b"x" + name)
    repository("add", ".")
    repository("commit", "--quiet", "-m", "more", date=THIRD)

    assert by_path(repository)[2:] == [(1_700_000_200, "\\xe4"), (1_700_000_200, "\\xe5")]


def test_a_moved_file_counts_under_its_new_name(repository):
    """A move is one act, not two."""
    repository("mv", "file", "paper")
    repository("commit", "--quiet", "-m", "move", date=THIRD)

    assert by_path(repository)[2:] == [(1_700_000_200, "paper")]


def test_merges_and_empty_commits_have_no_paths(repository):
    """They are acts on the repository, and on no file."""
    repository("checkout", "--quiet", "-b", "side", "HEAD~1")
    put(repository, THIRD, other="x")
    repository("checkout", "--quiet", "main")
    repository("merge", "--quiet", "-m", "merge", "side", date="1700000300 +0000")
    put(repository, "1700000400 +0000")

    assert by_path(repository)[2:] == [(1_700_000_200, "other")]
    assert len(list(read_git(repository.path))) == 5


def test_a_submodule_is_a_path(repository, tmp_path):
    """Its own history is another repository's; also if settings say to look away."""
    inner = Repository(tmp_path / "inner", tmp_path / "away.git")
    inner.commit("x")
    repository("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    repository("config", "-f", ".gitmodules", "submodule.sub.ignore", "all")
    repository("add", ".gitmodules")
    repository("commit", "--quiet", "-m", "sub", date=THIRD)

    assert by_path(repository)[2:] == [(1_700_000_200, ".gitmodules"), (1_700_000_200, "sub")]


def test_the_mailmap_is_respected(repository):
    """People who have changed their address are one person."""
    put(repository, THIRD, **{".mailmap": "Ann <ann@new.example> <ann@nym.example>\n"})

    assert {event.actor for event in read_git(repository.path)} == {"ann@new.example"}


def test_the_committer_has_a_clock_too(repository):
    """A rebase changes it, and the note says so."""
    put(repository, THIRD, "--date=1600000000 +0000")
    stream = read_git(repository.path, clock="committer")

    assert next(iter(stream)).time == 1_700_000_200_000_000
    assert next(iter(read_git(repository.path))).time == 1_600_000_000_000_000
    assert "committer dates" in stream.notes[0]


def test_programs_are_told_by_their_names(repository):
    """By the name or the address of the author."""
    put(repository, THIRD, "--author=renovate[bot] <29139614+renovate[bot]@users.noreply.github.com>")

    assert [event.is_bot for event in read_git(repository.path)] == [True, False, False]


def test_an_author_without_an_address_goes_by_the_name(repository):
    """One who has neither is a fault with the commit."""
    tree = repository("write-tree")
    for author in ("Bob <>", " <>"):
        raw = f"tree {tree}\nauthor {author} 1700000300 +0000\ncommitter C <c@x> 1700000300 +0000\n\nx\n"
        made = repository("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=raw.encode())
        repository("update-ref", f"refs/heads/{made}", made)
        last = made
    stream = read_git(repository.path)

    assert sorted({event.actor for event in stream}) == ["Bob", "ann@nym.example"]
    assert stream.faults.first[0].reason == f"commit {last[:12]}: the author has neither address nor name"


def test_stashes_and_notes_are_no_acts(repository):
    """Nobody else sees them."""
    (repository.path / "file").write_text("not yet")
    repository("stash", "--quiet", date=THIRD)
    repository("notes", "add", "-m", "hm", date=THIRD)

    assert len(list(read_git(repository.path))) == 2


def test_a_bare_repository_and_a_folder_inside_one_are_read_too(repository, tmp_path):
    """The name is the repository's, wherever one stands."""
    repository("push", "--quiet", "origin", "main")
    (repository.path / "deep").mkdir()

    assert {event.target for event in read_git(tmp_path / "away.git")} == {"away"}
    assert {event.target for event in read_git(repository.path / "deep")} == {"tools"}


def test_a_shallow_clone_is_noted(repository, tmp_path):
    """Its older commits are missing."""
    repository("clone", "--quiet", "--depth=1", f"file://{repository.path}", str(tmp_path / "cut"))
    stream = read_git(tmp_path / "cut")

    assert len(list(stream)) == 1
    assert stream.notes[-1] == "the clone is shallow: older commits are missing"


def test_a_repository_without_commits_has_no_events(tmp_path):
    """That is no damage."""
    assert list(read_git(new_bare(tmp_path / "new.git"))) == []


def sign(repository):
    """Put a signature into the newest commit, which nobody could check."""
    raw = repository("cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n\n", 1
    )
    signed = repository("hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{raw}\n".encode())
    repository("update-ref", "refs/heads/main", signed)


def test_settings_and_variables_change_nothing(repository, monkeypatch, tmp_path):
    """No pager, no program, no filter, no other format, and no other repository."""
    repository("checkout", "--quiet", "-b", "side", "HEAD~1")
    (repository.path / "deep").mkdir()
    put(repository, THIRD, "--author=Ünn <ünn@x>", **{"deep/other": "x"})
    repository("checkout", "--quiet", "main")
    repository("merge", "--quiet", "-m", "merge", "side", date="1700000300 +0000")
    sign(repository)
    expected, mark = sorted(read_git(repository.path, by="path")), tmp_path / "ran"
    assert len(expected) == 3
    program = f"sh -c 'touch {mark}'"
    for name, value in {
        "core.pager": program,
        "core.fsmonitor": program,
        "diff.external": program,
        "gpg.program": program,
        "log.showSignature": "true",
        "log.showRoot": "false",
        "log.diffMerges": "first-parent",
        "diff.orderFile": "/no/such/file",
        "diff.relative": "true",
        "format.pretty": "%s",
        "color.ui": "always",
        "i18n.logOutputEncoding": "latin1",
    }.items():
        repository("config", name, value)
    for name, value in {
        "GIT_DIR": "/no/such/folder",
        "GIT_EXTERNAL_DIFF": program,
        "GIT_PAGER": program,
        "GIT_TRACE": str(mark),
        "GIT_LITERAL_PATHSPECS": "1",
    }.items():
        monkeypatch.setenv(name, value)

    assert sorted(read_git(repository.path / "deep", by="path")) == expected
    assert not mark.exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"by": "file"}, "--by must be repository or path, not 'file'"),
        ({"clock": "mine"}, "--clock must be author or committer, not 'mine'"),
    ],
)
def test_words_that_mean_nothing_are_refused(repository, given, told):
    """Before git is asked."""
    with pytest.raises(BadInput) as refused:
        read_git(repository.path, **given)

    assert str(refused.value) == told


def test_what_is_no_repository_is_refused(tmp_path):
    """In git's own words where it has some."""
    (tmp_path / "file").write_text("x")

    for path, told in {
        "none": "does not exist: give the folder of",
        "file": "is not a folder: give the folder of",
        ".": "fatal: not a git",
    }.items():
        with pytest.raises(BadInput, match=told):
            read_git(tmp_path / path)


def test_a_damaged_repository_is_refused_in_git_s_words(repository):
    """After the events that could still be read."""
    lost = repository.at("HEAD~1")
    (repository.path / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    found = []

    with pytest.raises(
        BadInput, match=rf"cannot be read \(error: Could not read {lost}\): give a sound git repository"
    ):
        found.extend(read_git(repository.path))
    assert len(found) <= 1


def test_a_machine_without_git_is_told(repository, monkeypatch):
    """One sentence instead of a trace."""
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(NotPossible, match="git is not installed"):
        read_git(repository.path)


def test_a_reader_that_stops_early_ends_the_child(repository, monkeypatch):
    """No git goes on in the background, also if nobody reads to the end."""
    started = []
    real = subprocess.Popen

    def watched(*words, **more):
        started.append(real(*words, **more))
        return started[-1]

    monkeypatch.setattr(git_child.subprocess, "Popen", watched)
    events = iter(read_git(repository.path))
    next(events)
    del events
    gc.collect()

    assert len(started) == 2
    assert all(child.poll() is not None for child in started)


def test_a_name_without_an_end_is_not_collected(tmp_path, monkeypatch):
    """A program that prints for ever is refused at a bound, and ended."""
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\nexec cat /dev/zero | tr '\\0' x\n")
    fake.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    began = time.monotonic()

    with pytest.raises(BadInput, match="names and paths of at most 65,536 bytes"):
        list(git_child.git_fields(tmp_path, "log"))
    assert time.monotonic() - began < 10
