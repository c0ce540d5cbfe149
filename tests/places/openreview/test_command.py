"""`tarry openreview`: a note is read from standard input and waits with all that its place will need."""

import io
import json
from pathlib import Path

import pytest

from contracts.openreview_server import VENUE, OpenReviewServer, Person
from contracts.shell import ALL_GONE

COMMENT = f"{VENUE}/Submission3/-/Official_Comment"
NYM = f"{VENUE}/Submission3/Reviewer_abcd"
PLACE = ["--account", "me", "--invitation", COMMENT, "--signature", NYM, "--forum", "paper3"]
TEXT = "I agree. ☃\n"


@pytest.fixture
def say_in(monkeypatch):
    """What stands on standard input."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.fixture
def typed(quiet, say_in):
    """A shell with an accounts file, and a comment on its standard input."""
    write_accounts(quiet.home.accounts_path)
    say_in(TEXT)
    return quiet


def write_accounts(path, at="https://api2.openreview.net"):
    """A private file with one account."""
    path.touch(mode=0o600)
    told = {"login": "ann@example.org", "password": "s3cret", "at": at}
    path.write_text("[me]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in told.items()))


def options_of(shell, told):
    """What the store keeps for the outlet."""
    return shell.home.gate().options_of(int(told["id"], 16))


def test_a_note_waits_for_its_moment(typed):
    """Its place is kept; the target is the site, the forum and the signature, who is the pseudonym."""
    told = typed.ask("openreview", "post", *PLACE)
    (post,) = typed.ask("queue")["posts"]

    assert (told["state"], told["output"], typed.started) == ("waiting", None, [typed.home])
    assert post["target"] == f"https://api2.openreview.net paper3 {NYM}"
    assert (post["outlet"], post["what"], post["account"]) == ("openreview", "note on paper3", "me")
    assert options_of(typed, told) == {
        "account": "me",
        "invitation": COMMENT,
        "signature": NYM,
        "forum": "paper3",
    }


def test_one_name_on_two_sites_is_two_targets(typed, say_in):
    """And on one site, however its address is written, it is one."""
    addresses = ["https://reviews.example", "https://API2.openreview.net:443/"]
    typed.ask("openreview", "post", *PLACE)
    for number, at in enumerate(addresses):
        write_accounts(Path(f"{number}.toml"), at)
        say_in(TEXT)
        typed.ask("openreview", "post", *PLACE, "--accounts", f"{number}.toml")

    places = ["https://api2.openreview.net", "https://reviews.example"]
    assert {post["target"] for post in typed.ask("queue")["posts"]} == {
        f"{place} paper3 {NYM}" for place in places
    }


def test_an_account_at_a_wiki_is_refused(typed):
    """A table of the same file, and the wrong one."""
    write_accounts(Path("wiki.toml"), "https://wiki.example/w/api.php")

    assert typed.refusal("openreview", "post", *PLACE, "--accounts", "wiki.toml") == (
        "tarry openreview: the address of OpenReview must not be a wiki's api.php: name another account"
    )


def test_everything_can_be_named(typed):
    """The note that is answered, who may read it, the field, the target and another accounts file."""
    write_accounts(Path("others.toml"))
    more = ["--replyto", "note1", "--reader", "everyone", "--reader", VENUE, "--field", "title"]
    told = typed.ask(
        "openreview", "post", *PLACE, *more, "--accounts", "others.toml", "--target", "paper-3"
    )

    assert typed.ask("queue")["posts"][0]["target"] == "paper-3"
    assert options_of(typed, told) == {
        "account": "me",
        "invitation": COMMENT,
        "signature": NYM,
        "forum": "paper3",
        "replyto": "note1",
        "readers": ["everyone", VENUE],
        "field": "title",
        "accounts": str(Path("others.toml").absolute()),
    }


def test_the_store_holds_no_login(typed):
    """The password stays in the accounts file, and so does the login."""
    typed.ask("openreview", "post", *PLACE)
    held = b"".join(path.read_bytes() for path in typed.home.state.glob("store.sqlite*"))

    assert b"s3cret" not in held
    assert b"ann@example.org" not in held


def test_notes_arrive_when_their_ticks_have_come(typed, say_in):
    """A comment and a review of fields, by one login under two names, and nothing before its time."""
    other = f"{VENUE}/Submission8/Reviewer_wxyz"
    review = f"{VENUE}/Submission8/-/Official_Review"
    people = {"ann@example.org": Person("s3cret", "~Ann_Lee1", (NYM, other))}
    invitations = {COMMENT: {"comment"}, review: {"title", "rating"}}
    with OpenReviewServer(people, invitations, {"paper3", "paper8"}) as api:
        write_accounts(typed.home.accounts_path, api.url)
        typed.ask("openreview", "post", *PLACE)
        say_in('{"title": "Review", "rating": 7}')
        place = ["--account", "me", "--invitation", review, "--signature", other, "--forum", "paper8"]
        typed.ask("openreview", "post", *place, "--json-content")
        assert api.received == []
        typed.pass_ticks(ALL_GONE)

        assert api.broken == []
        assert {(note["forum"], *note["signatures"]): note["content"] for note in api.notes} == {
            ("paper3", NYM): {"comment": {"value": TEXT}},
            ("paper8", other): {"title": {"value": "Review"}, "rating": {"value": 7}},
        }
        assert typed.ask("queue")["posts"] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--account", "you", *PLACE[2:]], "there is no account 'you' in "),
        ([*PLACE[:2], "--invitation", "Venue.org", *PLACE[4:]], "the invitation must have a /-/ in it"),
        ([*PLACE, "--reader", "two words"], "the reader of a note must be one word"),
        (
            [*PLACE[:-1], "https://openreview.net/forum"],
            "--forum must be an id, not 'https://openreview.net/forum'",
        ),
        ([*PLACE[:-1], "forum?id=aBcD"], "--forum must be an id, not 'forum?id=aBcD': give"),
        ([*PLACE[:-1], "aBcD&noteId=x"], "--forum must be an id"),
        ([*PLACE[:-1], ""], "--forum must be an id, not '': give the id, which stands after id= in the"),
        ([*PLACE, "--replyto", "note 1"], "--replyto must be an id"),
        ([*PLACE, "--signature", "https://openreview.net/group?id=V"], "--signature must be an id"),
        ([*PLACE, "--accounts", "nowhere"], "the accounts file '"),
        ([*PLACE, "--json-content"], "the content of a note must be JSON"),
        ([*PLACE, "--json-content", "--field", "x"], "the note has both a field and an object of fields"),
        (PLACE[:-2], "the following arguments are required: --forum (see tarry openreview --help)"),
    ],
)
def test_what_could_never_be_posted_is_refused(typed, words, sentence):
    """In one sentence, and nothing waits."""
    assert typed.refusal("openreview", "post", *words).startswith(f"tarry openreview: {sentence}")
    assert typed.ask("queue")["posts"] == []


def test_an_empty_text_is_refused(typed, say_in):
    """As when a file was forgotten."""
    say_in(" \n")

    assert typed.refusal("openreview", "post", *PLACE) == (
        "tarry openreview: standard input is empty: give the text of the note there"
    )
