"""Notes of OpenReview, from files written by hand from its published fields, and from a server."""

import gzip
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.http_receiver import says
from contracts.openreview_server import VENUE, OpenReviewServer, Person
from tarry.core.errors import BadInput, NotPossible
from tarry.places.openreview.reader import read_openreview
from tarry.readers.events import Event

SUBMISSION = f"{VENUE}/-/Submission"
REVIEW = f"{VENUE}/Submission3/-/Official_Review"
NYM = f"{VENUE}/Submission3/Reviewer_abcd"
MS = 1_767_225_660_123
ANN = ("ann@example.org", "s3cret")


def a_note(**changes):
    """A review as the API tells it; None leaves a field out."""
    told = {
        "id": "note1",
        "forum": "paper3",
        "replyto": "paper3",
        "signatures": [NYM],
        "invitations": [REVIEW, f"{VENUE}/-/Edit"],
        "domain": VENUE,
        "content": {"rating": {"value": 7}},
        "cdate": MS - 86_400_000,  # as somebody wished it
        "tcdate": MS,
        "tmdate": MS + 5,
    }
    return {name: value for name, value in {**told, **changes}.items() if value is not None}


def an_event(**changes):
    """What it tells."""
    return Event(NYM, "paper3", MS * 1000, VENUE)._replace(**changes)


def read(tmp_path, text, **options):
    """The events of a file, and the account of what could not be read."""
    path = tmp_path / "notes.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    stream = read_openreview(path, **options)
    return list(stream), [str(fault) for fault in stream.faults.first]


NOTES = [a_note(), a_note(id="note2", tcdate=MS + 1)]
EVENTS = [an_event(), an_event(time=(MS + 1) * 1000)]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(NOTES),
        "\n".join(map(json.dumps, NOTES)),
        json.dumps({"count": 2, "notes": NOTES}),
        json.dumps({"notes": NOTES[:1]}) + "\n" + json.dumps({"notes": NOTES[1:]}),
        gzip.compress(json.dumps(NOTES, indent=1).encode()),
    ],
    ids=["array", "lines", "answer", "answers", "packed"],
)
def test_notes_are_read_in_whatever_form_they_were_kept(tmp_path, text):
    """An array, lines, whole answers one after the other, packed or not."""
    assert read(tmp_path, text) == (EVENTS, [])


def test_replies_inside_a_note_are_events_too(tmp_path):
    """As the API gives them when papers are asked for with their replies."""
    paper = a_note(id="paper3", signatures=[f"{VENUE}/Submission3/Authors"], invitations=[SUBMISSION])
    paper["details"] = {"replies": [a_note(), 7]}
    events, faults = read(tmp_path, json.dumps([paper]))

    assert events == [an_event(actor=f"{VENUE}/Submission3/Authors"), an_event()]
    assert faults == ["line 1: a reply that is not a JSON object"]


def test_edits_tell_the_true_author(tmp_path):
    """Where tauthor is shown it is the actor, and the target is what was edited."""
    edit = {"id": "edit1", "invitation": REVIEW, "signatures": [NYM], "tcdate": MS, "tauthor": "~Ann_Lee1"}
    edits = [{**edit, "note": {"id": "note1", "forum": "paper3"}}, {**edit, "note": {"id": "paper8"}}]
    events, faults = read(tmp_path, json.dumps({"edits": edits}))

    assert [(event.actor, event.target, event.track) for event in events] == [
        ("~Ann_Lee1", "paper3", VENUE),
        ("~Ann_Lee1", "paper8", VENUE),
    ]
    assert faults == []


@pytest.mark.parametrize(
    ("fields", "venue"),
    [
        ({"domain": "Other.org"}, "Other.org"),
        ({"domain": None}, VENUE),
        ({"domain": None, "invitations": [SUBMISSION]}, VENUE),
        ({"domain": None, "invitations": None, "invitation": f"{VENUE}/Paper12/-/Comment"}, VENUE),
        ({"domain": None, "invitations": None}, ""),
        ({"domain": None, "invitations": [7]}, ""),
    ],
)
def test_the_track_is_the_venue(tmp_path, fields, venue):
    """As it is told, or as the invitation begins."""
    ((event,), faults) = read(tmp_path, json.dumps([a_note(**fields)]))

    assert (event.track, faults) == (venue, [])


def test_an_invitation_chooses_among_notes(tmp_path):
    """Notes that answer another one are left out without a word."""
    other = a_note(invitations=[f"{VENUE}/Submission3/-/Official_Comment"])

    assert read(tmp_path, json.dumps([a_note(), other]), invitation=REVIEW) == ([an_event()], [])


def test_files_may_be_several_but_an_address_stands_alone(tmp_path):
    """An address among files would be taken for a file's name."""
    paths = [tmp_path / "1.json", tmp_path / "2.json"]
    for number, path in enumerate(paths):
        path.write_text(json.dumps([a_note(id=f"note{number}")]))

    assert len(list(read_openreview(paths))) == 2
    with pytest.raises(BadInput, match="an OpenReview address is among several sources"):
        read_openreview([str(paths[0]), "https://api2.openreview.net"])


def test_what_to_know_before_trusting_the_times_is_told(tmp_path):
    """Which clock it is, that names are for one paper, and that edits are not in it."""
    path = tmp_path / "notes.json"
    path.write_text("[]")
    told = " ".join(read_openreview(path).notes)

    assert all(word in told for word in ("tcdate", "cdate", "anonymous", "edit"))


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"hello": 1}, "no note and no note edit"),
        (7, "not a JSON object"),
        (a_note(signatures=None), "it has no signature"),
        (a_note(signatures=[]), "it has no signature"),
        (a_note(signatures=[{"name": "Ann Lee"}]), "it has no signature"),
        (a_note(forum=None, id=None), "its forum is missing"),
        (a_note(tcdate=None), "tcdate is missing, and no other date is to be trusted"),
        (a_note(tcdate="Ann Lee"), "tcdate: "),
        (a_note(tcdate=10**17), "tcdate: "),
        (a_note(tcdate=True), "tcdate: "),
    ],
)
def test_a_row_that_is_no_event_is_told_with_its_line(tmp_path, row, reason):
    """The others are read, and no sentence shows anybody's data."""
    events, (fault,) = read(tmp_path, f"{json.dumps(a_note())}\n\n{json.dumps(row)}\n")

    assert events == [an_event()]
    assert fault.startswith(f"line 3: {reason}")
    assert "Ann" not in fault


def test_a_note_of_a_whole_answer_is_told_by_its_number(tmp_path):
    """An answer is one long line."""
    _, faults = read(tmp_path, json.dumps({"notes": [a_note(), {}, a_note(signatures=None)]}))

    assert faults == ["line 1: note 2: no note and no note edit", "line 1: note 3: it has no signature"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "is empty"),
        ("{}\n", "none among 1"),
        (json.dumps(NOTES)[:-30], "ends inside"),
        (json.dumps(a_note()) + "\n{,}", "damage in line 2"),
        ('{"name": "ForbiddenError", "message": "Ann Lee"}', "none among 1"),
        (b"\xff\xfe", "damage in line 1"),
        (gzip.compress(json.dumps(NOTES).encode())[:-9], "ends too early"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(tmp_path, text, found):
    """Cut off, not JSON, no notes at all: in one sentence."""
    with pytest.raises(BadInput) as told:
        read(tmp_path, text)

    assert found in str(told.value)
    assert "Ann" not in str(told.value)


def test_a_long_file_is_not_held(tmp_path):
    """Ten times as many notes take no more memory."""

    def peak(count):
        path = tmp_path / f"{count}.jsonl"
        line = json.dumps(a_note(content={"review": {"value": "x" * 1000}})) + "\n"
        with path.open("w") as file:
            file.writelines(line for _ in range(count))
        tracemalloc.start()
        try:
            assert sum(1 for _ in read_openreview(path)) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(4000) < 1.5 * peak(1000)


notes = some.builds(
    a_note,
    forum=some.text(min_size=1),
    tcdate=some.integers(0, 7_000_000_000_000),
    signatures=some.lists(some.text(min_size=1), min_size=1, max_size=3),
    domain=some.text(),
)


@given(told=some.lists(notes, min_size=1, max_size=5), as_lines=some.booleans())
def test_whatever_was_written_is_read_back(tmp_path_factory, told, as_lines):
    """First signature, forum, date and domain, in the order of the file."""
    text = "\n".join(map(json.dumps, told)) if as_lines else json.dumps(told)

    assert read(tmp_path_factory.mktemp("notes"), text) == (
        [
            Event(each["signatures"][0], each["forum"], each["tcdate"] * 1000, each["domain"])
            for each in told
        ],
        [],
    )


# --- from a server -------------------------------------------------------------------------------


@pytest.fixture
def api():
    """An API with a venue of 250 papers, the third of which has a review."""
    person = Person(ANN[1], "~Ann_Lee1", (NYM,))
    with OpenReviewServer({ANN[0]: person}, {SUBMISSION: set()}, set()) as server:
        for number in range(250):
            paper = a_note(
                id=f"p{number:03}", forum=f"p{number:03}", replyto=None, invitations=[SUBMISSION]
            )
            server.notes.append({**paper, "signatures": [f"author{number}"], "tcdate": MS + number})
        server.notes[2]["details"] = {"replies": [a_note()]}
        yield server
        assert server.broken == []


def no_wait(seconds):
    raise AssertionError(seconds)


def test_all_notes_of_an_invitation_are_asked_for_page_by_page(api):
    """With a login, each page after the last note of the one before, replies along with the papers."""
    events = list(read_openreview(f"{api.url}/", invitation=SUBMISSION, login=ANN, wait=no_wait))

    assert len(events) == len(set(events)) == 251
    assert events[2:4] == [an_event(actor="author2", target="p002", time=(MS + 2) * 1000), an_event()]
    assert [each.line.split("?")[0] for each in api.received] == [
        "POST /login HTTP/1.1",
        *["GET /notes"] * 4,
    ]
    assert all(each.headers["User-Agent"] == "tarry" for each in api.received)


def test_nothing_is_asked_before_somebody_reads(api):
    """A stream is a promise."""
    read_openreview(api.url, invitation=SUBMISSION, login=ANN)

    assert api.received == []


@pytest.mark.parametrize(
    ("login", "sentence"),
    [
        (
            None,
            "OpenReview answered 403 Forbidden: it does not let this reader in: give a login",
        ),
        ((ANN[0], "another"), "OpenReview refuses the login: check the user and the password"),
    ],
)
def test_who_is_not_let_in_is_told_what_to_do(api, login, sentence):
    """Without a login there is a challenge for browsers."""
    with pytest.raises(NotPossible) as told:
        list(read_openreview(api.url, invitation=SUBMISSION, login=login, wait=no_wait))

    assert str(told.value).startswith(sentence)
    assert not any(word in str(told.value) for word in ("ann", "another"))


def test_a_second_factor_is_for_a_person(api):
    """No program can give it."""
    api.second_factor.add(ANN[0])

    with pytest.raises(NotPossible, match="asks for a second factor"):
        list(read_openreview(api.url, invitation=SUBMISSION, login=ANN, wait=no_wait))


@pytest.mark.parametrize(
    ("body", "error", "sentence"),
    [
        (b"[]", BadInput, "the answer of OpenReview holds no notes"),
        (b'{"notes": 7}', BadInput, "the answer of OpenReview holds no notes"),
        (b"<html>", BadInput, "OpenReview answered 6 bytes that are no JSON"),
        (b'{"notes": [{"id": "a"}]}', NotPossible, "OpenReview gives the same notes again and again"),
        (b'{"notes": [7]}', NotPossible, "OpenReview gives the same notes again and again"),
    ],
)
def test_answers_that_are_none_are_refused(api, body, error, sentence):
    """Other JSON, no JSON, and the same answer for ever."""
    api.instead["GET /notes"] = lambda file: file.write(says(200, "OK", body=body))

    with pytest.raises(error, match=sentence):
        list(read_openreview(api.url, invitation=SUBMISSION, login=ANN, wait=no_wait))


def test_a_server_that_is_busy_is_asked_again_when_it_says(api):
    """The wait is the server's to choose."""
    waits = []

    def busy(file):
        del api.instead["GET /notes"]
        file.write(says(429, "Busy", "Retry-After: 7"))

    api.instead["GET /notes"] = busy
    events = list(read_openreview(api.url, invitation=SUBMISSION, login=ANN, wait=waits.append))

    assert (len(events), waits) == (251, [7.0])


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("https://openreview.net", {"invitation": SUBMISSION}, "must be that of its API 2"),
        ("https://api2.openreview.net", {}, "no invitation given: use --invitation"),
        ("http://api2.openreview.net", {"login": ANN}, "must begin with https://, not http://"),
        ("/dev/null", {"login": ANN}, "a file needs no login"),
        ("/nowhere", {}, "cannot be read .no such file."),
    ],
)
def test_a_source_that_cannot_be_is_refused_at_once(source, options, sentence):
    """Before anybody is asked."""
    with pytest.raises(BadInput, match=sentence):
        read_openreview(source, **options)
