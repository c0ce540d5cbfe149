"""What an author is told: all they may know, in JSON or as a page, and nothing that a page could run."""

import json
from fractions import Fraction
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from gateway.middleware.holding import some_call
from tarry.core.errors import BadInput
from tarry.gateway.middleware.answers import about_receipt, admit, refusal, withdraw_by_form
from tarry.keep.errors import NoSuchPost, Paused, TooLate, Unavailable
from tarry.keep.posts import Receipt, Status


def a_hold(result):
    """A hold that answers one thing to everything."""

    def answer(*_):
        if isinstance(result, Exception):
            raise result
        return result

    settings = SimpleNamespace(address=urlsplit("https://forum.example.org/talk"))
    gate = SimpleNamespace(status=answer, withdraw=answer)
    return SimpleNamespace(admit=answer, gate=gate, settings=settings)


def status(earliest, latest, **others):
    return Status(**{"state": "waiting", "tick": Fraction(60), **others}, earliest=earliest, latest=latest)


@pytest.mark.parametrize(
    ("ticks", "moments", "words"),
    [
        ((1, 1), ("1970-01-01T00:01:00Z",) * 3, "It will appear at 1970-01-01 00:01:00 UTC."),
        (
            (1, 2),
            (None, "1970-01-01T00:01:00Z", "1970-01-01T00:02:00Z"),
            "It will appear at 1970-01-01 00:01:00 UTC or at 1970-01-01 00:02:00 UTC; which of them,",
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


def test_an_author_is_told_between_which_moments_it_will_appear():
    """Where its draws must not be told, programs find that beside the moments, and people in words."""
    hold = a_hold(Receipt("s3cret", 7, status(1, 2, in_between=True)))
    told = json.loads(admit(hold, some_call(), "/posts").body)
    page = admit(hold, some_call(), "/posts", html=True).body.decode()

    assert (told["release_at"], told["in_between"]) == (None, True)
    assert "It will appear between 1970-01-01 00:01:00 UTC and 1970-01-01 00:02:00 UTC; your other" in page


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoSuchPost(), 404),
        (TooLate("released"), 409),
        (Paused("not now"), 409),
        (Unavailable("away"), 503),
        (BadInput("a target must be short, and this one is long"), 422),
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


def test_a_page_tells_whole_seconds_and_none_too_early():
    page = admit(
        a_hold(Receipt("s3cret", 7, status(3, 3, tick=Fraction(1, 2)))), some_call(), "/", html=True
    )

    assert b"It will appear at 1970-01-01 00:00:02 UTC." in page.body


def test_a_page_has_a_way_back_and_a_form_to_withdraw():
    hold = a_hold(Receipt("s3cret", 7, status(1, 2)))
    page = admit(hold, some_call(), "/posts", html=True, fields={"token": '"><script>'})
    text = page.body.decode()

    assert '<a href="/talk/">' in text
    assert '<form method="post" action="/talk/_tarry/withdraw">' in text
    assert '<input type="hidden" name="receipt" value="s3cret">' in text
    assert '<input type="hidden" name="token" value="&quot;&gt;&lt;script&gt;">' in text
    assert page.headers["Referrer-Policy"] == "same-origin"  # else browsers call its origin "null"


def test_all_pages_about_a_call_have_one_length():
    receipts = [Receipt(secret, 7, status(1, latest)) for secret in ("a", "b" * 64) for latest in (1, 2)]
    pages = [admit(a_hold(receipt), some_call(), "/", html=True) for receipt in receipts]
    taken_back = withdraw_by_form(a_hold(status(1, 1, state="withdrawn")), "POST", b"receipt=a")

    assert len({len(page.body) for page in [*pages, taken_back]}) == 1


def test_a_form_takes_a_call_back():
    answer = withdraw_by_form(a_hold(status(1, 1, state="withdrawn")), "POST", b"token=x&receipt=+s3cret+")

    assert answer.status == 200
    assert b"It will not appear." in answer.body


@pytest.mark.parametrize(
    "body", [b"", b"receipt=", b"\xff", b"receipt=a" + b"&a=b" * 50, b"receipt=" + b"a" * 5000]
)
def test_a_form_without_a_receipt_is_answered_like_a_wrong_one(body):
    answer = withdraw_by_form(a_hold(status(1, 1)), "POST", body)

    assert answer.status == 404
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


def test_a_form_that_comes_too_late_is_told_so():
    assert withdraw_by_form(a_hold(TooLate("released")), "POST", b"receipt=a").status == 409


def test_a_page_runs_nothing_that_is_quoted():
    page = refusal(422, "found <script>alert(1)</script>", html=True)

    assert b"<script>" not in page.body
    assert b"&lt;script&gt;" in page.body
