"""One visit to OpenReview: what its answers come to, how they are told, and how long that may take."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.http_receiver import HttpReceiver, says
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.net.http_call import Response
from tarry.places.accounts import Account
from tarry.places.openreview.client import OpenReviewVisit

LOGIN_WAIT_S = 1200


@pytest.fixture
def server():
    """Something that answers."""
    server = HttpReceiver()
    yield server
    server.stop()


def visit(port=9):
    """A visit that has not logged in."""
    at = f"http://127.0.0.1:{port}"
    account = Account(login="ann@example.org", password="s3cretword", at=at)  # noqa: S106 - of nobody
    return OpenReviewVisit(account, timeout_s=20, hidden=["my own words"])


def said(status, *headers, **told):
    """An answer with this JSON."""
    return says(status, "Said", *headers, body=json.dumps(told).encode())


ASKS = {
    "login": lambda each: each.log_in(),
    "look": lambda each: each.notes({"forum": "x"}),
    "post": lambda each: each.post({"note": {}}),
}
UNCLEAR = {
    "nothing": b"\r\n",
    "no JSON": says(200, "OK", body=b"<html>"),
    "a proxy": says(502, "Bad Gateway"),
    "too slow": says(408, "Slow"),
    "too much": said(429, message="slow down"),
    "too long": says(200, "OK", body=b" " * ((16 << 20) + 1)),
}


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("answer", UNCLEAR)
def test_only_a_note_without_a_clear_answer_may_have_arrived(server, ask, answer):
    """To log in and to look does nothing; who is told to wait may have been heard all the same."""
    server.answer = UNCLEAR[answer]

    with pytest.raises(Unreachable) as trouble:
        ASKS[ask](visit(server.port))
    assert trouble.value.sent is (ask == "post")


@pytest.mark.parametrize("ask", ASKS)
def test_who_does_not_listen_has_got_nothing(ask):
    """Connection refused."""
    with pytest.raises(Unreachable, match="Connection refused") as trouble:
        ASKS[ask](visit())
    assert not trouble.value.sent


def test_a_note_that_is_to_wait_waits_as_long_as_it_is_told(server):
    """It is still one account's matter, and the try counts."""
    server.answer = said(429, "Retry-After: 77")
    with pytest.raises(LockedOut) as trouble:
        visit(server.port).post({})
    assert (trouble.value.wait_s, trouble.value.sent) == (77, True)


@pytest.mark.parametrize(
    "answer",
    [
        said(400, name="Error", message="Invalid username or password"),
        said(401, message="no"),
        said(403, name="ForbiddenError", message="no"),
        said(200, mfaPending=True),
    ],
)
def test_a_refused_login_is_not_tried_again_for_a_while(server, answer):
    """Who knocks every few minutes is shut out in the end."""
    server.answer = answer
    with pytest.raises(LockedOut) as trouble:
        visit(server.port).log_in()
    assert trouble.value.wait_s == LOGIN_WAIT_S


@pytest.mark.parametrize("message", ["a" * 1_000_000, "a." * 500_000, "~a" * 500_000, "a@" * 500_000])
def test_a_long_message_is_not_looked_through_for_minutes(message):
    """Another thread of the keeper would stand still as long."""
    answer = Response(status=400, body=json.dumps({"name": "Error", "message": message}).encode())
    begun = time.process_time()
    told = visit()._error_in(answer)

    assert time.process_time() - begun < 2
    assert len(told) < 300


@given(before=some.integers(0, 900), blanks=some.integers(1, 900), secret=some.sampled_from(
    ["ann@example.org", "Ann@Example.ORG", "~Ann_Lee1", "my own words", "s3cretword"]
))  # fmt: skip
def test_no_place_of_a_message_tells_a_name(before, blanks, secret):
    """Wherever it is cut off."""
    message = f"{'x' * before}{' ' * blanks}{secret} said {secret}"
    told = visit()._error_in(Response(status=400, body=json.dumps({"message": message}).encode()))

    assert not any(each in told.lower() for each in ("ann", "lee", "own words", "s3cret", "example"))


def test_a_small_answer_is_not_read_without_end(server):
    """A login is told in a few words; a million bytes of them are none."""
    server.answer = says(200, "OK", body=b'{"token": "x"}'.ljust((1 << 20) + 1))
    with pytest.raises(Unreachable, match="OpenReview answered more than 1048576 bytes"):
        visit(server.port).log_in()


def test_a_refusal_is_for_a_person(server):
    """And needs no mark: whoever looks after parked posts looks."""
    server.answer = said(400, name="InvalidFieldError", message="no such field")
    with pytest.raises(Refused, match="does not take this note: 400 InvalidFieldError: no such field"):
        visit(server.port).post({})
