"""What a wiki's answers mean, and that what it says is told plainly."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tarry.core.errors import TarryError
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.net.http_call import Response
from tarry.places.http import wait_of
from tarry.places.mediawiki.client import Hidden, page_of, read_answer, refusal, text_at

PASSING = ("readonly", "maxlag", "badtoken", "assertuserfailed", "ratelimited")


def answer(told, status=200, **headers):
    """An answer with this JSON."""
    body = told if isinstance(told, bytes) else json.dumps(told).encode()
    return Response(status=status, body=body, headers=headers)


def error(code, info="Some words."):
    """An error as a wiki tells it."""
    return {"error": {"code": code, "info": info}}


def test_an_answer_that_is_no_error_is_read():
    """Whatever it says."""
    assert read_answer(answer({"query": {"pages": []}})) == {"query": {"pages": []}}


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        (answer(error("readonly")), Unreachable, "the wiki cannot do it now (readonly: Some words.)"),
        (answer(error("readonly"), 503), Unreachable, "the wiki cannot do it now (readonly: Some words.)"),
        (answer(error("blocked"), 403), Refused, "the wiki refuses this (blocked: Some words.)"),
        (answer(error("spamblacklist", "evil.example")), Refused, "the wiki refuses this (spamblacklist)"),
        (answer(error("a\x1b[2J")), Refused, "the wiki refuses this (an unknown code: Some words.)"),
        (answer(error("x", "a\x1b[2J\nb")), Refused, "the wiki refuses this (x: a [2J b)"),
        (answer({"error": {}}), Refused, "the wiki refuses this (None)"),
        (answer(b"<html>", 502), Unreachable, "the wiki answered 502"),
        (answer(b"", 404), Refused, "the wiki answered 404"),
        (
            answer(b"", 302),
            Refused,
            "the wiki answered 302 Found: redirects are not followed, give the final address of api.php",
        ),
        (answer(b"{}"), Unreachable, "the wiki answered something that is not JSON"),
        (answer(b"[" * 100_000), Unreachable, "the wiki answered something that is not JSON"),
        (
            answer(b'{"query": ' + b"9" * 5000 + b"}"),
            Unreachable,
            "the wiki answered something that is not",
        ),
    ],
)
def test_what_goes_wrong_is_sorted_and_told(given, kind, sentence):
    """For a person, or for a later try, in one plain line."""
    with pytest.raises(kind) as told:
        read_answer(given)
    assert type(told.value) is kind
    assert str(told.value).startswith(sentence)


@pytest.mark.parametrize(
    ("header", "wait_s"), [({"retry-after": "7"}, 7), ({}, 60), ({"retry-after": "-"}, 60)]
)
def test_an_account_that_is_too_quick_waits(header, wait_s):
    """As long as the wiki says, or for a minute."""
    with pytest.raises(LockedOut) as told:
        read_answer(answer(error("ratelimited"), **header))
    assert told.value.wait_s == wait_s


@pytest.mark.parametrize(
    ("told", "wait_s"),
    [
        ({"wait": 0}, 0),
        ({"wait": "90"}, 90),
        ({"wait": 10**8}, 172_800),
        ({"wait": 10**30}, 1),
        ({"wait": -5}, 1),
        ({"wait": "\u0663"}, 1),
        ({"wait": None}, 1),
        ({"reason": "Please wait 1 second."}, 1),
        ({"reason": "Please wait 2 days."}, 172_800),
        ({"reason": "Please wait 999999 hours."}, 172_800),
        ({"reason": {"code": "x"}}, 1),
    ],
)
def test_a_wait_is_read_and_bounded(told, wait_s):
    """A wiki cannot move somebody's posts by more than two days at a time."""
    assert wait_of(told.get("wait"), told.get("reason"), 1) == wait_s


@settings(max_examples=50)
@given(words=some.text(), name=some.text(min_size=3), code=some.text())
def test_no_sentence_tells_the_account(words, name, code):
    """Whatever a wiki says of it, as a word of its own."""
    told = str(refusal(code, f"{words} {name} {words}", Hidden(names=(name,))))

    assert told.isprintable()
    if (
        name.isascii()
        and name.isalnum()
        and f" {name.lower()} " not in " the account refuses this wiki an "
    ):
        assert name not in told.replace(code, "").split()


@pytest.mark.parametrize("name", ["Nym two", "Nym_two", "nym two"])
@pytest.mark.parametrize(
    "words",
    ["Nym two", "Nym_two", "NYM TWO", "nym\xa0two", "User:Nym_two/Draft", "User_Nym_two", "Nym%20two's"],
)
def test_a_name_is_hidden_however_it_is_spelt(name, words):
    """Wikis write blanks as lines below, and begin every name with a capital."""
    told = Hidden(names=(name,)).out_of(f"({words}) is blocked")

    assert "(the account)" in told
    assert "two" not in told.lower()


@pytest.mark.parametrize("password", ["s3cretword", "tarry@s3cretword"])
def test_a_password_is_hidden_wherever_it_stands(password):
    """As a part of a word, and without the part that only tells whose it is."""
    told = str(refusal("x", "lgpassword=s3cretwords, tarry@s3cretword", Hidden(password=password)))

    assert "s3cret" not in told


def test_a_name_is_no_code():
    """A wiki that answers with the account's name tells no code."""
    assert str(refusal("nym-two", "", Hidden(names=("Nym",)))) == "the wiki refuses this (an unknown code)"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (answer(b"", 502), True),
        (answer(b"", 408), True),
        (answer(b"<html>"), True),
        (answer(error("internal_api_error_DBQueryError")), True),
        (answer(error("internal_api_error_DBQueryError"), 500), True),
        *((answer(error(code), status), False) for code in PASSING for status in (200, 503)),
    ],
)
def test_only_what_leaves_open_whether_it_was_done_is_told_so(given, sent):
    """A wiki that says why it does not do it has not done it."""
    with pytest.raises(Unreachable) as told:
        read_answer(given)
    assert told.value.sent is sent


@given(
    some.recursive(some.none() | some.booleans() | some.integers() | some.text(), some.lists, max_leaves=5)
)
def test_nonsense_is_never_an_answer(value):
    """Only our own errors come out, whatever is in the places that matter."""
    for told in ({"query": value}, {"query": {"pages": value}}, {"query": {"pages": [value]}}):
        with pytest.raises(TarryError):
            page_of(told)
        with pytest.raises(Unreachable):
            text_at(told, "query", "tokens", "csrftoken")


@pytest.mark.parametrize("page", [{"invalid": True}, {"special": True}])
def test_a_title_that_cannot_be_a_page_is_for_a_person(page):
    """Or one of another wiki, for which there is no page in the answer at all."""
    for query in ({"pages": [page]}, {"interwiki": [{"iw": "en"}]}):
        with pytest.raises(Refused, match="the wiki can have no page of this title"):
            page_of({"query": query})
