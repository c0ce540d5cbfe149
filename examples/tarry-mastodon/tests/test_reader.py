"""What statuses tell, and what is said of those that tell nothing; the real server is in tarry's tests."""

import json

import pytest
from tarry.core.errors import BadInput, NotPossible
from tarry.net.http_call import Response

from tarry_mastodon import reader

NYM = {"id": "1", "acct": "nym", "bot": False}


def status(number, **changes):
    """A status as servers give it."""
    fields = {"account": NYM, "created_at": f"2026-01-01T00:00:0{number}.250Z", "in_reply_to_id": None}
    return {"id": str(number), "reblog": None, **fields, **changes}


@pytest.fixture
def read(monkeypatch):
    """Reads these pages, whatever is asked."""

    def read(*pages, **options):
        answers = iter([Response(status=200, body=json.dumps(page).encode()) for page in [*pages, []]])
        monkeypatch.setattr(reader, "ask", lambda *_: next(answers))
        stream = reader.read_mastodon("https://social.example", **options)
        return list(stream), [str(fault) for fault in stream.faults.first]

    return read


def test_a_status_is_an_act_of_its_account_on_what_it_answers(read):
    """Or on itself; bots are told."""
    robot = status(1, account={"id": "2", "acct": "robot@other.example", "bot": True}, in_reply_to_id="7")
    events, faults = read([status(2), robot])

    assert [tuple(event) for event in events] == [
        ("nym", "2", 1_767_225_602_250_000, "", False),
        ("robot@other.example", "7", 1_767_225_601_250_000, "", True),
    ]
    assert faults == []


def test_what_was_boosted_counts_once_and_at_its_own_time(read):
    """Whether a server lists it beside its boosts or in their place."""
    boosts = [status(9, account={"id": "2", "acct": "b"}, reblog=status(1)) for _ in range(2)]
    events, _ = read([*boosts, status(5), status(1)])

    assert [(event.actor, event.target) for event in events] == [("nym", "1"), ("nym", "5")]


def test_a_status_that_tells_nothing_is_counted(read):
    """With the reason, and without anybody's words."""
    bad = [status(1, account=None), status(2, id=7), status(3, created_at="today")]
    events, faults = read([*bad, status(4, created_at="2026-01-01T00:00:00"), status(5)])

    assert [event.target for event in events] == ["5"]
    assert faults == [
        "line 1: it has no account",
        "line 2: it has no id",
        "line 3: created_at is no moment with a zone",
        "line 4: created_at is no moment with a zone",
    ]


def test_a_span_has_its_first_moment_and_not_its_last(read):
    """What is older is not asked for: the second page would hold one more."""
    span = {"since": "2026-01-01T00:00:02.25Z", "until": "2026-01-01T01:00:04.25+01:00"}
    events, _ = read([status(4), status(3), status(2), status(1)], [status(3)], **span)

    assert [event.target for event in events] == ["3", "2"]


def test_a_server_that_goes_in_a_circle_is_left(read):
    """The same page again."""
    with pytest.raises(NotPossible, match="again and again"):
        read([status(1)], [status(1)], [status(1)])


@pytest.mark.parametrize("answer", [{"error": "no"}, ["no"], "no"])
def test_an_answer_that_is_no_list_of_statuses_is_refused(read, answer):
    """In one sentence."""
    with pytest.raises(BadInput, match="no list of statuses: check the address"):
        read(answer)


@pytest.mark.parametrize("account", ["", "a b", "nym@", "../x"])
def test_an_account_that_cannot_be_is_refused_at_once(account):
    """Nobody is asked about it."""
    with pytest.raises(BadInput, match="an account must be"):
        reader.read_mastodon("https://social.example", accounts=[account])


def test_a_token_that_cannot_be_sent_is_refused_and_not_shown():
    """It may be a secret all the same."""
    with pytest.raises(BadInput, match=r"^the token of the login must be printable ASCII$"):
        reader.read_mastodon("https://social.example", login=("nym", "gehéim"))


def test_an_account_that_is_not_there_is_named(monkeypatch):
    """Rather than the address, which is right."""
    monkeypatch.setattr(reader, "ask", lambda *_: Response(status=404))
    with pytest.raises(NotPossible, match="404 Not Found: there is no account nym there, check its name"):
        list(reader.read_mastodon("https://social.example", accounts=["nym"]))
