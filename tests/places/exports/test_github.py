"""GitHub's answers as events: small ones written from its documentation, in the forms that `gh` prints."""

import gzip
import json
import tracemalloc

import pytest

from tarry.core.errors import BadInput
from tarry.places.exports.github import read_github
from tarry.readers.events import Event

TEN = 1_714_557_600_000_000  # 2024-05-01T10:00:00Z
ANN = {"login": "ann", "id": 1, "type": "User"}
API, PAGE = "https://api.github.com/repos/o/r", "https://github.com/o/r"
REVIEW = {
    "id": 80,
    "user": ANN,
    "body": "Fine.",
    "state": "APPROVED",
    "html_url": f"{PAGE}/pull/12#pullrequestreview-80",
    "pull_request_url": f"{API}/pulls/12",
    "submitted_at": "2024-05-01T10:00:00Z",
    "commit_id": "ecdd80bb57125d7ba9641ffaa4d7d2c19d3f3091",
}
LINE_COMMENT = {
    "id": 10,
    "url": f"{API}/pulls/comments/10",
    "pull_request_review_id": 80,
    "path": "file1.txt",
    "user": ANN,
    "created_at": "2024-05-01T09:40:00Z",
    "updated_at": "2024-05-01T10:00:00Z",
    "html_url": f"{PAGE}/pull/12#discussion_r10",
    "pull_request_url": f"{API}/pulls/12",
}
COMMENT = {
    "id": 1,
    "url": f"{API}/issues/comments/1",
    "html_url": f"{PAGE}/issues/1347#issuecomment-1",
    "user": ANN,
    "created_at": "2024-05-01T10:00:00Z",
    "issue_url": f"{API}/issues/1347",
}
ISSUE = {
    "url": f"{API}/issues/1347",
    "number": 1347,
    "user": ANN,
    "state": "open",
    "created_at": "2024-05-01T10:00:00Z",
}
PULL = {
    "url": f"{API}/pulls/1348",
    "issue_url": f"{API}/issues/1348",
    "number": 1348,
    "user": ANN,
    "state": "open",
    "created_at": "2024-05-01T10:00:00Z",
}
PUBLIC = {
    "id": "22249084947",
    "type": "PullRequestReviewEvent",
    "actor": {"id": 1, "login": "ann", "display_login": "ann"},
    "repo": {"id": 3, "name": "o/r", "url": API},
    "payload": {"action": "created", "review": {}, "pull_request": {"number": 12}},
    "public": True,
    "created_at": "2024-05-01T10:00:00Z",
}


@pytest.fixture
def read(tmp_path):
    """Write a text and read it."""

    def read_text(text):
        path = tmp_path / "export.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return read_github(path)

    return read_text


@pytest.mark.parametrize(
    ("found", "target", "time"),
    [
        (REVIEW, "o/r#12", TEN),
        (LINE_COMMENT, "o/r#12", TEN - 20 * 60 * 10**6),
        (COMMENT, "o/r#1347", TEN),
        (ISSUE, "o/r#1347", TEN),
        (PULL, "o/r#1348", TEN),
        (PUBLIC, "o/r#12", TEN),
        (PUBLIC | {"payload": {"issue": {"number": 5}}}, "o/r#5", TEN),
        (PUBLIC | {"payload": {"number": 6}}, "o/r#6", TEN),
        (PUBLIC | {"type": "PushEvent", "payload": {"size": 1}}, "o/r", TEN),
    ],
    ids=["review", "line", "comment", "issue", "pull", "public", "public issue", "public pull", "push"],
)
def test_every_kind_of_object_tells_who_did_what_when(read, found, target, time):
    """A login, a repository with a number, a moment; the repository is the track."""
    assert list(read([found])) == [Event("ann", target, time, "o/r")]


def test_the_same_from_a_server_of_one_s_own(read):
    """Its addresses have other beginnings."""
    there = REVIEW | {"pull_request_url": "https://git.example/api/v3/repos/o/r/pulls/12", "html_url": None}

    assert [event.target for event in read([there])] == ["o/r#12"]


def test_the_warning_about_line_comments_is_always_given(read):
    """The time of writing is published, whenever the review is."""
    assert "does not hide it" in read([REVIEW]).notes[0]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([REVIEW, COMMENT]),
        json.dumps([REVIEW]) + json.dumps([COMMENT]),
        json.dumps([[REVIEW], [COMMENT]]),
        json.dumps(REVIEW) + "\n" + json.dumps(COMMENT) + "\n",
        json.dumps({"total_count": 2, "incomplete_results": False, "items": [REVIEW, COMMENT]}),
        json.dumps(REVIEW, indent=2) + json.dumps([COMMENT], indent=2),
    ],
    ids=["array", "pages", "slurp", "lines", "search", "pretty"],
)
def test_all_forms_that_the_tools_print_are_read(read, text):
    """One array, page after page, pages in an array, lines, or what a search answers."""
    assert [event.target for event in read(text)] == ["o/r#12", "o/r#1347"]


def test_a_packed_file_is_read_as_it_is(tmp_path):
    """The archive of public events is packed by gzip."""
    path = tmp_path / "2024-05-01-10.json.gz"
    path.write_bytes(gzip.compress(json.dumps(PUBLIC).encode() + b"\n"))

    assert [event.actor for event in read_github(path)] == ["ann"]


def test_programs_are_told_apart(read):
    """By the type of the account, or by its name where there is no type."""
    app = REVIEW | {"user": {"login": "checker", "type": "Bot"}}
    public = PUBLIC | {"actor": {"login": "renovate[bot]"}}

    assert [event.is_bot for event in read([REVIEW, app, public])] == [False, True, True]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (REVIEW | {"user": None}, "the user is deleted"),
        (REVIEW | {"user": {"login": "ghost"}}, "the user is deleted"),
        (REVIEW | {"user": {}}, "the user has no login"),
        (PUBLIC | {"actor": "ann"}, "the user has no login"),
        (PUBLIC | {"repo": {}}, "it has neither a repository nor a number"),
        (
            {"user": ANN, "submitted_at": "2024-05-01T10:00:00Z"},
            "it has neither a repository nor a number",
        ),
        (
            {key: value for key, value in REVIEW.items() if key != "submitted_at"} | {"state": "PENDING"},
            "a pending review, which has no time yet",
        ),
        (REVIEW | {"submitted_at": None}, "time is missing"),
        (COMMENT | {"created_at": "yesterday"}, "time is not a moment (a text of 9 characters)"),
        ({"message": "Not Found", "documentation_url": "x"}, "an error that GitHub answered"),
        ({"sha": "x"}, "no review, comment, issue, pull request or event"),
        (7, "not a JSON object"),
    ],
)
def test_what_is_no_event_is_counted_with_its_line(read, found, reason):
    """The others are read; nobody's name is in the reason."""
    stream = read(json.dumps(COMMENT) + "\n" + json.dumps(found) + "\n")

    assert len(list(stream)) == 1
    assert [str(fault) for fault in stream.faults.first] == [f"line 2: {reason}"]


def test_an_export_without_a_single_event_is_refused(read):
    """For example an error that was saved in place of the answer."""
    with pytest.raises(BadInput, match="the first fault is in line 1: an error that GitHub answered"):
        list(read({"message": "Bad credentials", "documentation_url": "x", "status": "401"}))


RATE = {"message": "API rate limit exceeded for user ID 1.", "documentation_url": "x", "status": "403"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (json.dumps([REVIEW]) + json.dumps(RATE) + json.dumps([COMMENT]) + json.dumps(RATE), "an error"),
        (json.dumps({"total_count": 9, "incomplete_results": True, "items": [REVIEW]}), "cut off"),
    ],
)
def test_an_export_that_lacks_something_gets_a_note(read, text, told):
    """What GitHub did not answer is not in it; that is said once."""
    stream = read(text)

    assert len(stream.notes) == 2
    list(stream)
    assert len(stream.notes) == 3
    assert stream.notes[-1].startswith("the export is incomplete: ")
    assert told in stream.notes[-1]


def test_a_whole_export_gets_no_such_note(read):
    """One deleted user among them is nothing that is missing."""
    stream = read([REVIEW, REVIEW | {"user": None}])
    list(stream)

    assert not any("incomplete" in note for note in stream.notes)


def test_no_comments_are_no_damage(read):
    """An empty answer is one."""
    assert list(read("[]")) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (json.dumps([REVIEW], indent=1)[:-20], "ends inside what begins in line 2"),
        ("<!DOCTYPE html>", "has damage in line 1"),
    ],
)
def test_a_damaged_file_is_refused_with_the_line(read, text, told):
    """Nothing after the damage can be trusted."""
    with pytest.raises(BadInput, match=f"the GitHub export export.json must be JSON, and {told}"):
        list(read(text))


def peak(path, count):
    """The most memory that reading this many comments takes."""
    with path.open("w") as file:
        file.writelines(json.dumps(COMMENT | {"body": "x" * 3000}) + "\n" for _ in range(count))
    tracemalloc.start()
    try:
        return sum(1 for _ in read_github(path)), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_ten_times_the_length_takes_no_more_memory(tmp_path):
    """A file is never held as a whole."""
    peak(tmp_path / "warm.json", 100)
    (_, little), (read, much) = peak(tmp_path / "a.json", 200), peak(tmp_path / "b.json", 2000)

    assert read == 2000
    assert much < little * 1.5
