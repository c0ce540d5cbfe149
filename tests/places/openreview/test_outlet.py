"""The OpenReview outlet: one note, once, under the name of the author's choice, and nothing else."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.http_receiver import says
from contracts.openreview_server import VENUE, Person
from contracts.review_world import (
    ANN,
    AT,
    COMMENT,
    FIND,
    LOGIN,
    OLD,
    POST,
    REVIEW,
    ReviewWorld,
    WireWorld,
    answers,
)
from contracts.scripted_entropy import Script
from tarry.core.errors import BadInput
from tarry.keep.closing import close_ticks
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.keep.gate import Gate
from tarry.keep.posts import Post, Release
from tarry.keep.releaser import Releaser
from tarry.keep.store import MICROS
from tarry.places.accounts import Accounts
from tarry.places.openreview.outlet import OpenReview
from tarry.testing import ManualClock, memory_vault
from tarry.testing.outlets import (
    POLICY,
    SOONEST,
    OutletCase,
    OutletSuite,
    check_side_channel,
    opened,
    release_of,
)


def says_bytes(way, body):
    """The server answers well, with other bytes."""
    return lambda world: world.api.instead.update(
        {way: lambda file: file.write(says(200, "OK", body=body))}
    )


TROUBLES = {
    "does not listen": (lambda world: world.api.stop(), Unreachable),
    "hangs up": (lambda world: world.api.instead.update({LOGIN: lambda file: None}), Unreachable),
    "loses the answer": (lambda world: world.api.lost.add(POST), Unreachable),
    "another password": (lambda world: world.write_account(password=OLD), LockedOut),
    "second factor": (lambda world: world.api.second_factor.add("ann@example.org"), LockedOut),
    "an accounts file that is open": (lambda world: world.file.chmod(0o644), Unreachable),
    "no accounts file": (lambda world: world.file.unlink(), Unreachable),
    "wants a browser": (answers(LOGIN, 403, name="ChallengeRequiredError", message="x"), LockedOut),
    "login is blocked": (answers(LOGIN, 403, name="ForbiddenError", message="x"), LockedOut),
    "login is somewhere else": (answers(LOGIN, 301, "Location: http://127.0.0.1:9/"), Refused),
    "login is nowhere": (answers(LOGIN, 404), Refused),
    "login without a token": (says_bytes(LOGIN, b"{}"), Unreachable),
    "login with two lines": (says_bytes(LOGIN, b'{"token": "a\\r\\nX: y"}'), Unreachable),
    "too many logins": (answers(LOGIN, 429), LockedOut),
    "too many questions": (answers(FIND, 429), LockedOut),
    "too many posts": (answers(POST, 429), LockedOut),
    "login has lapsed": (answers(POST, 401, name="TokenExpiredError", message="x"), LockedOut),
    "is busy": (answers(FIND, 503), Unreachable),
    "is slow": (answers(POST, 408), Unreachable),
    "has an error": (answers(POST, 500, name="Error", message="x"), Unreachable),
    "finds nonsense": (says_bytes(FIND, b"<html>"), Unreachable),
    "finds no notes": (says_bytes(FIND, b'{"count": 0}'), Unreachable),
    "answers nonsense": (says_bytes(POST, b"[]"), Unreachable),
    "does not like it": (answers(POST, 400, name="InvalidFieldError", message="x"), Refused),
    "does not allow it": (answers(POST, 403, name="ForbiddenError", message="x"), Refused),
    "does not let it be read": (answers(FIND, 403, name="ForbiddenError", message="x"), Refused),
}
UNDELIVERABLE = [
    {"surprise": 1},
    {7: 1},
    {"account": "bob"},
    {"account": ["ann"]},
    {"invitation": "no invitation"},
    {"invitation": "Venue.org/2026"},
    {"signature": ""},
    {"signature": "two words"},
    {"forum": None},
    {"replyto": "a\nb"},
    {"readers": []},
    {"readers": "everyone"},
    {"readers": [1]},
    {"field": ""},
    {"content_type": "text/html"},
    {"content_type": "application/json", "field": "comment"},
    {"accounts": "/etc/passwd"},
    {"cdate": 1},
]


class TestOpenReview(OutletSuite):
    """Notes meet the contract of outlets."""

    case = OutletCase(world=ReviewWorld, undeliverable=UNDELIVERABLE, troubles=TROUBLES)

    def test_two_arrivals_look_the_same(self, tmp_path):
        """Not only what is posted: every byte of all the requests is the same."""
        check_side_channel(WireWorld, tmp_path)


@pytest.fixture
def world(tmp_path):
    """A venue of one's own."""
    with opened(ReviewWorld, tmp_path / "world") as world:
        yield world


def problem_of(world, trouble, error, **changes):
    """What is told when a delivery fails."""
    trouble(world)
    with pytest.raises(error) as told:
        world.outlet.deliver(release_of(world, **changes))
    return told.value


def test_a_note_is_posted_with_three_requests(world):
    """A login, a look and one note edit without any date: the server's own clock makes the dates."""
    world.outlet.deliver(release_of(world))

    assert [each.line.partition("?")[0].removesuffix(" HTTP/1.1") for each in world.api.received] == [
        LOGIN,
        FIND,
        POST,
    ]
    assert [dict(each.headers).get("User-Agent") for each in world.api.received] == ["tarry"] * 3
    login, _, edit = world.api.received
    assert json.loads(login.body) == {"id": "ann@example.org", "password": ANN.password}
    assert json.loads(edit.body) == {
        "invitation": COMMENT,
        "signatures": [ANN.signatures[0]],
        "note": {
            "forum": "paper3",
            "replyto": "paper3",
            "signatures": [ANN.signatures[0]],
            "readers": ["everyone"],
            "content": {"comment": {"value": world.content.decode()}},
        },
    }


def test_an_object_of_fields_is_wrapped(world):
    """With JSON as its type the content is a whole review, and a text may go to another field."""
    fields = {"title": "Review", "rating": 7, "keywords": ["a", "b"]}
    options = {**world.options, "invitation": REVIEW, "content_type": "application/json"}
    world.outlet.check_content(options, json.dumps(fields).encode())
    world.outlet.deliver(release_of(world, options=options, content=json.dumps(fields).encode()))
    options = {**world.options, "field": "title", "replyto": world.api.notes[0]["id"]}
    world.outlet.deliver(release_of(world, options=options, content=b"Thanks"))

    review, reply = world.api.notes
    assert review["content"] == {name: {"value": value} for name, value in fields.items()}
    assert reply["content"] == {"title": {"value": "Thanks"}}
    assert reply["replyto"] == review["id"]


# --- what is told --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "told", "wait_s"),
    [
        (["Retry-After: 90"], {}, 90),
        (["Retry-After: 999999999"], {}, 86_400),
        (
            [],
            {"message": "Too many requests. Please try again in 30 minutes and 8 seconds (2026-08-05-1)"},
            1808,
        ),
        ([], {"message": "Please try again in 1 hour and 1 minute"}, 3660),
        (["Retry-After: Fri, 01 Jan 2027 00:00:00 GMT"], {}, 60),
        ([], {"message": 7}, 60),
        ([], {}, 60),
    ],
)
def test_how_long_to_stay_away_is_heard(world, headers, told, wait_s):
    """Of the header, or else of the message."""
    problem = problem_of(world, answers(FIND, 429, *headers, **told), LockedOut)

    assert problem.wait_s == wait_s


@pytest.mark.parametrize(
    ("options", "content", "sentence"),
    [
        (
            {"signature": f"{VENUE}/Submission3/Reviewer_other"},
            b"I agree.",
            "403 ForbiddenError: ... cannot sign as ...",
        ),
        (
            {"field": "secret"},
            b"my own words",
            "400 AdditionalPropertiesError: The property secret (...) is not allowed",
        ),
        (
            {"forum": "nowhere"},
            b"I agree.",
            "400 InvalidFieldError: The forum or the note replied to does not exist",
        ),
    ],
)
def test_a_refusal_is_explained_without_names(world, options, content, sentence):
    """What OpenReview says is passed on, but for profiles, signatures and the author's words."""
    options = {**world.options, **options}

    told = problem_of(world, lambda _: None, Refused, options=options, content=content)
    assert str(told) == f"OpenReview does not take this note: {sentence}"


def test_no_sentence_names_the_account(world):
    """Neither its login nor its password, whatever the server says of them, nor the name in the file."""
    said = f"ann@example.org with {ANN.password} is ~Ann_Lee1\x1b[31m\r\n{ANN.signatures[0]}"
    for way, status in [(LOGIN, 400), (LOGIN, 401), (LOGIN, 429), (FIND, 500), (POST, 400), (POST, 403)]:
        world.api.instead.clear()
        told = str(problem_of(world, answers(way, status, name="Error", message=said), Exception))
        assert not any(each in told for each in ("ann", "Ann", ANN.password, "abcd", "\x1b", "\n"))
    world.write_account(login=7)
    assert "ann" not in str(problem_of(world, lambda _: None, Unreachable))


def test_a_login_that_fails_says_where_the_password_is(world):
    """A person can act on it."""
    problem = problem_of(world, lambda each: each.write_account(password=OLD), LockedOut)

    assert str(problem) == (
        "OpenReview refuses the login: 400 Error: Invalid username or password: "
        "check login and password of this account in the accounts file; it is tried again later"
    )


# --- accounts ------------------------------------------------------------------------------------


def test_an_account_is_named_with_its_place(world):
    """All anonymous names of one login are one account; what names none has none."""
    other = {**world.options, "signature": f"{VENUE}/Submission8/Reviewer_wxyz", "forum": "paper8"}
    world.write_account(login="Ann@Example.org")

    assert world.outlet.account(world.options) == world.outlet.account(other)
    assert world.outlet.account(world.options) == f"{world.api.url} ann@example.org"
    assert world.outlet.account({**world.options, "account": "bob"}) is None
    assert world.outlet.account({}) is None


def test_a_login_that_fails_moves_everything_of_the_person(world):
    """Two papers, two anonymous names, one login: they wait by the same time, and leave as far apart."""
    vault = memory_vault(POLICY, clock := ManualClock(), out=world.outlet)
    names = [f"{VENUE}/Submission{number}/Reviewer_{number}" for number in (3, 8)]
    world.api.people["ann@example.org"] = Person(ANN.password, ANN.profile, tuple(names))
    world.write_account(password=OLD)
    gates = [Gate(vault, POLICY, Script([SOONEST + 4 * number])) for number in range(2)]
    receipts = [
        gate.admit(
            Post(
                actor=name,
                target=name,
                outlet="out",
                content=b"I agree.",
                options={**world.options, "signature": name},
            )
        )
        for gate, name in zip(gates, names, strict=True)
    ]

    def let_time_pass(ticks):
        for _ in range(ticks):
            clock.sleep(1)
            with vault.store.transaction("closing") as transaction:
                close_ticks(transaction, vault.keys, clock)
            Releaser(vault).release()

    def leaves():
        return [gates[0].status(each.secret).latest for each in receipts]

    first, second = leaves()
    let_time_pass(first - clock.wall // MICROS + 1)
    moved = [after - before for before, after in zip((first, second), leaves(), strict=True)]
    assert moved[0] == moved[1] >= 300
    assert len(world.api.asked(LOGIN)) == 1
    world.write_account()
    let_time_pass(moved[0] + 8)

    assert [note["signatures"] for note in world.api.notes] == [[name] for name in names]
    assert leaves()[1] - leaves()[0] == second - first == 4


def test_a_changed_password_holds_from_then_on(world):
    """The accounts file is read at every delivery."""
    problem_of(world, lambda each: each.write_account(password=OLD), LockedOut)
    world.write_account()
    world.outlet.deliver(release_of(world))

    assert len(world.api.notes) == 1


def test_ones_own_store_may_name_another_accounts_file(world, tmp_path):
    """Its path is absolute; where many share an outlet no post has a say in it."""
    options = {**world.options, "accounts": str(world.file)}
    mine = OpenReview(Accounts(tmp_path / "nowhere"), own=True)
    mine.check(options)
    mine.deliver(release_of(world, options=options))

    assert len(world.api.notes) == 1
    assert mine.account(options) == world.outlet.account(world.options)
    for path in ("accounts.toml", 7, "/\0"):
        with pytest.raises(BadInput, match="must be an absolute path"):
            mine.check({**options, "accounts": path})


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        ("https://openreview.net", "must be that of its API 2: use https://api2.openreview.net"),
        ("https://API.openreview.net/", "must be that of its API 2: use"),
        ("http://api2.openreview.net", "must begin with https://, not http://"),
        ("https://api2.openreview.net/?x=1", "must have no query"),
        ("https://ann:pw@api2.openreview.net", "must hold no user or password"),
        ("api2.openreview.net", "must begin with http:// or https://"),
    ],
)
def test_a_bad_address_is_refused_at_admission(world, at, sentence):
    """The website, API 1 and a line in the clear are not where a password is sent."""
    world.write_account(at=at)

    with pytest.raises(BadInput, match="the address of OpenReview") as told:
        world.outlet.check(world.options)
    assert sentence in str(told.value)
    assert type(problem_of(world, lambda _: None, Refused)) is Refused


def test_a_bad_configuration_is_refused_at_once(world, tmp_path):
    """An operator hears of it when the outlet is made; one's own store may have no accounts yet."""
    with pytest.raises(BadInput, match="the address of OpenReview must begin with https://"):
        OpenReview(Accounts(world.file, place="http://api2.openreview.net"))
    with pytest.raises(BadInput, match="the accounts file '"):
        OpenReview(Accounts(tmp_path / "nowhere", place=world.api.url))
    OpenReview(Accounts(tmp_path / "nowhere"), own=True)


@pytest.mark.parametrize("timeout_s", [0, -1, 30.1, float("nan")])
def test_a_try_that_may_take_for_ever_is_refused(timeout_s, tmp_path):
    """Each request is given at most half a minute."""
    with pytest.raises(BadInput, match="the timeout of OpenReview must be above 0 and at most 30 s"):
        OpenReview(Accounts(tmp_path), timeout_s=timeout_s)


def test_admission_asks_nobody(world):
    """A question would show when somebody hands something in."""
    world.outlet.check(world.options)
    world.outlet.check_content(world.options, world.content)
    world.outlet.account(world.options)

    assert world.api.received == []


# --- whatever a note holds -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "content", "sentence"),
    [
        ("text/plain", b"\xff", "must be UTF-8 text"),
        ("text/plain", b" \n\t", "is empty: send a text"),
        ("text/plain", b"a\0b", "must have no control characters but line ends and tabs"),
        ("text/plain", b"x" * (1 << 20) + b"!", "must be at most 1048576 bytes, not 1048577"),
        ("application/json", b"I agree.", "must be JSON"),
        ("application/json", b'{"rating": NaN}', "must be JSON"),
        ("application/json", b"[" * 100_000, "must be JSON"),
        ("application/json", b"[]", "must be a JSON object of one or more fields"),
        ("application/json", b"{}", "must be a JSON object of one or more fields"),
        ("application/json", b'{"": 1}', "must be a JSON object of one or more fields"),
        ("application/json", b'{"comment": {"value": "x"}}', "must have bare values"),
    ],
)
def test_content_that_is_no_note_is_refused(world, kind, content, sentence):
    """At admission in words, and at the release for a person."""
    options = {**world.options, "content_type": kind}

    with pytest.raises(BadInput, match="the content of a note") as told:
        world.outlet.check_content(options, content)
    assert sentence in str(told.value)
    problem_of(world, lambda _: None, Refused, options=options, content=content)
    assert world.api.received == []


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """One world for many examples."""
    with opened(ReviewWorld, tmp_path_factory.mktemp("lasting") / "world") as world:
        yield world


values = some.recursive(
    some.booleans() | some.integers(-(2**53), 2**53) | some.text(),
    lambda inner: some.lists(inner, max_size=3),
    max_leaves=4,
)


@given(fields=some.dictionaries(some.sampled_from(["comment", "title", "rating"]), values, min_size=1))
def test_whatever_is_posted_is_there_once(lasting, fields):
    """Any fields arrive as they are, and a second try of them finds them."""
    lasting.api.notes.clear()
    options = {**lasting.options, "content_type": "application/json"}
    told = {"content": json.dumps(fields).encode(), "options": options}
    for attempt in (1, 2, 3):
        lasting.outlet.deliver(release_of(lasting, attempt=attempt, **told))

    (note,) = lasting.api.notes
    assert {name: each["value"] for name, each in note["content"].items()} == fields


def test_a_release_is_all_that_is_needed(world):
    """No option but those named, and a target that is whatever it is."""
    options = {name: world.options[name] for name in ("account", "invitation", "signature", "forum")}
    world.outlet.deliver(
        Release(id="5a", target="x", content=b"I agree.", options=options, at=Fraction(AT))
    )

    assert "readers" not in json.loads(world.api.asked(POST)[0].body)["note"]
