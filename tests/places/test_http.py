"""One call in the keeper's words; tests/net has what a call does."""

import pytest

from contracts.http_receiver import HttpReceiver, says
from tarry.keep.errors import LockedOut, Unreachable
from tarry.net.address import read_address
from tarry.places.http import call

LONG_S = 20


@pytest.fixture
def receiver():
    """A server."""
    with HttpReceiver() as receiver:
        yield receiver


def ask(receiver, **more):
    """One call of it."""
    address = read_address(f"http://127.0.0.1:{receiver.port}/api")
    return call(address, {"Mood": "glad"}, b"a=b", **{"timeout_s": LONG_S, "who": "the webhook", **more})


def test_an_answer_is_an_answer(receiver):
    """What is asked and what is said goes through as it is."""
    receiver.answer = says(404, "Not Found", body=b"words")

    answer = ask(receiver, method="PUT", most=5)
    (request,) = receiver.received
    assert (str(answer), answer.body) == ("404 Not Found", b"words")
    assert (request.line, request.headers["Mood"], request.body) == ("PUT /api HTTP/1.1", "glad", b"a=b")
    assert ask(receiver).body == b""


@pytest.mark.parametrize(
    ("answer", "more", "told"),
    [
        (b"", {}, "the webhook hung up"),
        (b"", {"who": "the wiki"}, "the wiki hung up"),
        (b"SSH-2.0\r\n", {}, "the webhook answered something that is not HTTP"),
        (says(200, "OK", body=b"words"), {"most": 4}, "the webhook answered more than 4 bytes"),
        (
            lambda _file, stopping: stopping.wait(LONG_S),
            {"timeout_s": 0.1},
            "the webhook did not answer within 0.1 seconds",
        ),
    ],
)
def test_no_answer_means_not_now(receiver, answer, more, told):
    """It is tried again, and it is nobody's account that is to blame."""
    receiver.answer = answer

    with pytest.raises(Unreachable) as trouble:
        ask(receiver, **more)
    assert str(trouble.value) == told
    assert not isinstance(trouble.value, LockedOut)
