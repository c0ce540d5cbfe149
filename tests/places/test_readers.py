"""Every reader of ours joins the suite that somebody else's has to pass."""

import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from contracts.git_places import Repository, new_bare
from net.loopback import Loopback, says
from places.bitcoin.pretended_node import LOGIN, PretendedNode, out, payment
from places.mediawiki.pretended_wiki import PretendedWiki
from tarry.core.plugins import load, names
from tarry.readers.events import Event
from tarry.testing.readers import ReaderCase, ReaderSuite

TEN = 1_714_557_600_000_000  # 2024-05-01T10:00:00Z
WIKI_DAY = 1_714_521_600_000_000  # where its seconds begin
TEN_TEXT = "2024-05-01T10:00:00Z"


def writes(*parts, name="export"):
    """Files with these contents, one after the other."""

    def write(folder):
        paths = [folder / f"{number} {name}" for number, _ in enumerate(parts)]
        for path, part in zip(paths, parts, strict=True):
            path.write_text(part if isinstance(part, str) else json.dumps(part))
        return [str(path) for path in paths]

    return write


def serves(answer):
    """A server that says always the same."""

    @contextmanager
    def serve():
        with Loopback(lambda _: answer) as server:
            yield server.url

    return lambda _: serve()


RUBBISH = {"is no export": writes("<html>"), "is not there": lambda folder: str(folder / "none")}
SERVER = {"is no such server": serves(says(body=b"<html>")), "says no": serves(says(status=404))}
REVIEW = {
    "user": {"login": "ann", "type": "User"},
    "submitted_at": TEN_TEXT,
    "pull_request_url": "https://api.github.com/repos/o/r/pulls/12",
}
CHANGE = {
    "project": "tools/demo",
    "number": 7,
    "comments": [{"timestamp": TEN // 1_000_000, "reviewer": {"username": "ann"}}],
}
NOTE = {
    "id": "n1",
    "forum": "f1",
    "signatures": ["V.org/2026/Submission3/Reviewer_a"],
    "invitations": ["V.org/2026/Submission3/-/Official_Review"],
    "tcdate": TEN // 1000,
}
DUMP = (
    "<mediawiki><page><title>Ulm</title><ns>0</ns><revision><timestamp>2024-05-01T10:00:00Z</timestamp>"
    "<contributor><username>Ann</username></contributor></revision></page></mediawiki>"
)
ROW = '<row Id="9" ParentId="4" OwnerUserId="17" CreationDate="2024-05-01T10:00:00" />'


def repository(folder):
    """One with one commit."""
    made = Repository(folder / "tools", new_bare(folder / "bare"))
    made.commit("hello", date=f"{TEN // 1_000_000} +0000")
    return str(made.path)


@contextmanager
def wiki():
    """One with one change."""
    with PretendedWiki([(5, "Ulm", "Ann", {})]).serve() as server:
        yield server.url


@contextmanager
def node():
    """One with one payment in its first block."""
    with PretendedNode([[payment("t0", [out("old", 0, "ann")], ["bob"])]]).serve() as server:
        yield server.url.removesuffix("api.php")


def login(folder):
    """A private file with the login of the node."""
    path = folder / "login"
    path.touch(mode=0o600)
    path.write_text(":".join(LOGIN))
    return path


class TestGithub(ReaderSuite):
    """Reviews in an array."""

    case = ReaderCase(
        kind=load("reader", "github"),
        source=writes([REVIEW], [REVIEW]),
        events=[Event("ann", "o/r#12", TEN, "o/r")] * 2,
        broken=RUBBISH,
    )


class TestGerrit(ReaderSuite):
    """A line of `gerrit query`."""

    case = ReaderCase(
        kind=load("reader", "gerrit"),
        source=writes(CHANGE),
        events=[Event("ann", "tools/demo~7", TEN, "tools/demo")],
        broken=RUBBISH,
    )


class TestOpenReview(ReaderSuite):
    """A note in a file."""

    case = ReaderCase(
        kind=load("reader", "openreview"),
        source=writes(NOTE),
        events=[Event("V.org/2026/Submission3/Reviewer_a", "f1", TEN, "V.org/2026")],
        broken=RUBBISH,
    )


class TestJsonLines(ReaderSuite):
    """Objects of any kind."""

    case = ReaderCase(
        kind=load("reader", "jsonl"),
        source=writes({"who": "ann", "what": {"page": "p"}, "when": TEN_TEXT}),
        options={"actor": "who", "target": "what.page", "time": "when"},
        events=[Event("ann", "p", TEN)],
        broken=RUBBISH,
    )


class TestWikiDump(ReaderSuite):
    """A page with a revision."""

    case = ReaderCase(
        kind=load("reader", "wiki-dump"),
        source=writes(DUMP),
        events=[Event("Ann", "Ulm", TEN, "0")],
        broken=RUBBISH,
    )


class TestStackExchange(ReaderSuite):
    """An answer to a question."""

    case = ReaderCase(
        kind=load("reader", "stack-exchange"),
        source=writes(f"<posts>{ROW}</posts>", name="Posts.xml"),
        events=[Event("17", "4", TEN)],
        broken=RUBBISH,
    )


class TestGit(ReaderSuite):
    """A commit."""

    case = ReaderCase(
        kind=load("reader", "git"),
        source=repository,
        events=[Event("ann@nym.example", "tools", TEN)],
        broken=RUBBISH | {"is an empty folder": str},
    )


class TestWiki(ReaderSuite):
    """A recent change."""

    case = ReaderCase(
        kind=load("reader", "wiki"),
        source=lambda _: wiki(),
        events=[Event("Ann", "Ulm", WIKI_DAY + 5_000_000, "0")],
        broken=SERVER,
    )


class TestBitcoin(ReaderSuite):
    """A payment in a block."""

    case = ReaderCase(
        kind=load("reader", "bitcoin"),
        source=lambda _: node(),
        options={"blocks": "0-0"},
        events=[Event("ann", "bob", 1_714_521_600_000_000)],
        broken=SERVER,
    )

    @pytest.fixture(autouse=True)
    def _log_in(self, tmp_path_factory):
        login_file = str(login(tmp_path_factory.mktemp("login")))
        self.case = replace(self.case, options={**self.case.options, "login": login_file})


def test_every_reader_has_joined():
    """One that has not could say anything."""
    joined = {cls.case.kind.name for cls in ReaderSuite.__subclasses__() if cls.__module__ == __name__}

    assert joined >= set(names("reader"))
