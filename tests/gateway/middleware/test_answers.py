"""What an author is told: all they may know, in JSON or as a page, and nothing that a page could run."""

import json
from fractions import Fraction
from types import SimpleNamespace

import pytest

from gateway.middleware.holding import some_call
from tarry.core.errors import BadInput
from tarry.gateway.middleware.answers import about_receipt, admit, refusal
from tarry.keep.errors import NoSuchPost, Paused, TooLate, Unavailable
from tarry.keep.posts import Receipt, Status


def a_hold(result):
    """A hold that answers one thing to everything."""

    def answer(*_):
        if isinstance(result, Exception):
            raise result
        return result

    return SimpleNamespace(admit=answer, gate=SimpleNamespace(status=answer, withdraw=answer))


def status(earliest, latest, **others):
    return Status(**{"state": "waiting", "tick": Fraction(60), **others}, earliest=earliest, latest=latest)


@pytest.mark.parametrize(
    ("ticks", "moments", "words"),
    [
        ((1, 1), ("1970-01-01T00:01:00Z",) * 3, "It will appear at 1970-01-01T00:01:00Z."),
        (
            (1, 2),
            (None, "1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z"),
            "It will appear at 1970-01-01T00:01:00Z or at 1970-01-01T00:02:00Z; which of them,",
        ),
        ((None, None), (None, None, None), "It will appear soon."),
    ],
)
def test_an_author_is_told_the_moment_or_the_two_it_may_be(ticks, moments, words):
    hold = a_hold(Receipt("s3cret", 7, status(*ticks)))
    told = json.loads(admit(hold, some_call(), "/posts").body)

    assert tuple(told[name] for name in ("release_at", "earliest_at", "latest_at")) == moments
    assert (told["receipt"], told["state"]) == ("s3cret", "waiting")
    page = admit(hold, some_call(), "/posts", html=True)
    assert page.status == 202
    assert words in page.body.decode()
    assert "s3cret" in page.body.decode()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoSuchPost(), 404),
        (TooLate("released"), 409),
        (Paused("not now"), 409),
        (Unavailable("away"), 503),
        (BadInput("a target", "is short", found="a long one"), 422),
    ],
)
def test_a_refusal_is_one_sentence(error, code):
    for answer in (admit(a_hold(error), some_call(), "/posts"), about_receipt(a_hold(error), "GET", "x")):
        assert answer.status == code
        assert json.loads(answer.body) == {"status": code, "detail": str(error)}
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_why_a_call_is_parked_is_told_to_its_author():
    parked = a_hold(status(1, 1, state="parked", problem="the view answered 403"))

    assert json.loads(about_receipt(parked, "GET", "x").body)["problem"] == "the view answered 403"


def test_a_page_runs_nothing_that_is_quoted():
    page = refusal(422, "found <script>alert(1)</script>", html=True)

    assert b"<script>" not in page.body
    assert b"&lt;script&gt;" in page.body
