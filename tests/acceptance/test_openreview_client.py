"""OpenReview's own client against the server that our outlet is tested with: both agree on what is said.

The server was written by hand from OpenReview's published fields. That the real client logs in, posts and
reads there shows that it was not written to suit our outlet. Neither was run against the live service.
"""

import json
from fractions import Fraction

import pytest

from contracts.http_receiver import says
from contracts.openreview_server import VENUE, OpenReviewServer, Person
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.keep.posts import Release
from tarry.places.accounts import Accounts
from tarry.places.openreview.outlet import OpenReview
from tarry.places.openreview.reader import read_openreview

real = pytest.importorskip("openreview", reason="openreview-py is not installed: see locks/dev.in")

COMMENT = f"{VENUE}/Submission3/-/Official_Comment"
NYM = f"{VENUE}/Submission3/Reviewer_abcd"
LOGIN, PASSWORD = "ann@example.org", "s3cret"
TEXT = "I agree with Reviewer 2. ☃"
OPTIONS = {
    "account": "me",
    "invitation": COMMENT,
    "signature": NYM,
    "forum": "paper3",
    "readers": ["everyone"],
}
AT = Fraction(1_767_225_660)
EDITS = "POST /notes/edits"


@pytest.fixture
def api():
    """A venue with one paper and one reviewer; every answer it gave was as published."""
    people = {LOGIN: Person(PASSWORD, "~Ann_Lee1", (NYM,))}
    with OpenReviewServer(people, {COMMENT: {"comment"}}, {"paper3"}) as api:
        yield api
        assert api.broken == []


@pytest.fixture
def client(api, monkeypatch):
    """The real client, logged in; its connections are closed."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")  # it would ask one that the machine has
    client = real.api.OpenReviewClient(baseurl=api.url, username=LOGIN, password=PASSWORD)
    yield client
    client.session.close()


@pytest.fixture
def outlet(api, tmp_path):
    """Ours."""
    path = tmp_path / "accounts.toml"
    path.touch(mode=0o600)
    path.write_text(f'[me]\nlogin = "{LOGIN}"\npassword = "{PASSWORD}"\nat = "{api.url}"\n')
    return OpenReview(Accounts(path))


def post_by(client):
    """The comment, by the real client."""
    note = real.api.Note(
        forum="paper3",
        replyto="paper3",
        readers=["everyone"],
        signatures=[NYM],
        content={"comment": {"value": TEXT}},
    )
    return client.post_note_edit(invitation=COMMENT, signatures=[NYM], note=note)


def release(**changes):
    """The comment, as our outlet gets it."""
    told = {"id": "5a" * 16, "target": "x", "content": TEXT.encode(), "options": OPTIONS, "at": AT}
    return Release(**{**told, **changes})


def test_both_post_the_same_edit(api, client, outlet):
    """What our outlet sends is what the real client sends, field by field."""
    edit = post_by(client)
    api.notes.clear()
    outlet.deliver(release())
    theirs, ours = (json.loads(each.body) for each in api.asked(EDITS))

    assert ours == theirs
    assert edit["note"]["id"] == "note000000"
    logins = [json.loads(each.body) for each in api.asked("POST /login")]
    assert logins == [
        {"id": LOGIN, "password": PASSWORD, "expiresIn": None},
        {"id": LOGIN, "password": PASSWORD},
    ]
    assert len({each.headers["Authorization"] for each in api.asked(EDITS)}) == 1


def test_the_real_client_reads_what_our_outlet_posted(api, client, outlet):
    """With the server's own dates, and none of ours."""
    outlet.deliver(release())
    (note,) = client.get_notes(forum="paper3", invitation=COMMENT, sort="tcdate:desc")

    assert note.content == {"comment": {"value": TEXT}}
    assert (note.signatures, note.replyto, note.readers) == ([NYM], "paper3", ["everyone"])
    assert note.tcdate == note.cdate == api.notes[0]["tcdate"]
    assert [each.id for each in client.get_all_notes(invitation=COMMENT)] == [note.id]


def test_our_outlet_finds_what_the_real_client_posted(api, client, outlet):
    """It looks first, and a note that is there is not posted again."""
    post_by(client)
    outlet.deliver(release(attempt=2))

    assert len(api.notes) == len(api.asked(EDITS)) == 1


def test_our_reader_reads_what_the_real_client_posted(api, client):
    """Its forum, its signature and the server's date."""
    post_by(client)
    (event,) = read_openreview(api.url, invitation=COMMENT, login=(LOGIN, PASSWORD))

    assert (event.actor, event.target, event.track) == (NYM, "paper3", VENUE)
    assert event.time == api.notes[0]["tcdate"] * 1000


def test_the_true_date_cannot_be_sent(api, client):
    """The real client would send a cdate, but never a tcdate, and it is not among the fields of a post."""
    note = real.api.Note(forum="paper3", replyto="paper3", signatures=[NYM], cdate=1, tcdate=1, content={})
    client.post_note_edit(invitation=COMMENT, signatures=[NYM], note=note)
    (read,) = client.get_notes(forum="paper3")

    assert read.cdate == 1
    assert read.tcdate > 1_700_000_000_000
    assert "tcdate" not in json.loads(api.asked(EDITS)[0].body)["note"]


def test_both_are_told_the_same_of_an_error(api, client, outlet):
    """A refusal, in the shape in which OpenReview tells errors."""
    options = {**OPTIONS, "signature": f"{VENUE}/Submission3/Reviewer_other"}
    with pytest.raises(Refused, match="403 ForbiddenError"):
        outlet.deliver(release(options=options))
    with pytest.raises(real.OpenReviewException) as told:
        client.post_note_edit(invitation=COMMENT, signatures=["nobody"], note=real.api.Note(content={}))

    assert told.value.args[0]["name"] == "ForbiddenError"
    assert api.notes == []


def test_both_are_refused_with_a_wrong_password(api, outlet, monkeypatch):
    """Ours is locked out, and tried again when the password has been put right."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    api.people[LOGIN] = Person("another", "~Ann_Lee1", (NYM,))
    with pytest.raises(LockedOut, match="Invalid username or password"):
        outlet.deliver(release())
    with pytest.raises(real.OpenReviewException, match="Invalid username or password"):
        real.api.OpenReviewClient(baseurl=api.url, username=LOGIN, password=PASSWORD)


def test_the_real_client_hides_its_retries_and_ours_has_none(api, client, outlet, monkeypatch, capsys):
    """Why the keeper does not use it: a post that was answered 503 is posted again without a word."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    answers = iter([says(503, "Busy"), says(503, "Busy")])

    def busy(file):
        file.write(next(answers))
        if answers.__length_hint__() == 0:
            del api.instead[EDITS]

    api.instead[EDITS] = busy
    post_by(client)
    assert (len(api.notes), len(api.asked(EDITS))) == (1, 3)

    api.notes.clear()
    api.instead[EDITS] = lambda file: file.write(says(503, "Busy"))
    with pytest.raises(Unreachable, match="OpenReview answered 503"):
        outlet.deliver(release())
    assert len(api.asked(EDITS)) == 4
