"""The MediaWiki outlet: what a wiki is sent, by whose account, and what its answers come to."""

import unicodedata

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as some

from contracts.http_receiver import says
from contracts.wiki_server import PASSWORD, error, told
from contracts.wiki_world import MARKER, Everything, WikiWorld, page, write_accounts
from tarry.core.errors import BadInput
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.places.accounts import Accounts
from tarry.places.mediawiki.outlet import MediaWiki
from tarry.testing.outlets import OutletCase, OutletSuite, check_side_channel, opened, release_of


def at(step, answer):
    """The wiki answers otherwise at one step."""
    return lambda world: world.server.trouble.update({step: answer})


def at_each_step(name, answer, expected):
    """The same trouble wherever it comes."""
    return {
        f"{name} at {step}": (at(step, answer), expected) for step in ("token", "login", "look", "edit")
    }


def status(code):
    """An answer of whatever stands before the wiki."""
    return says(code, "Whatever", body=b"<html>")


FOR_A_PERSON = (
    "articleexists",
    "editconflict",
    "missingtitle",
    "pagedeleted",
    "protectedpage",
    "blocked",
    "autoblocked",
    "permissiondenied",
    "spamblacklist",
    "abusefilter-disallowed",
    "contenttoobig",
    "readapidenied",
    "something-new",
)
PASSING = ("readonly", "maxlag", "badtoken", "assertuserfailed", "internal_api_error_DBQueryError")


class TestMediaWiki(OutletSuite):
    """The outlet meets the contract of outlets."""

    case = OutletCase(
        world=WikiWorld,
        undeliverable=[
            {"account": "nobody"},
            {"account": None},
            {"page": "Talk:"},
            {"page": "Owls|Hawks"},
            {"page": "Special:Log"},
            {"page": "x" * 256},
            {"action": "delete"},
            {"action": "edit"},
            {"action": "create"},  # which has no heading
            {"heading": ""},
            {"heading": "two\nlines"},
            {"summary": "x" * 482},
            {"summary": 7},
            {"minor": "yes"},
            {"base_revision": 7},
            {"accounts": "/etc/passwd"},
            {"url": "https://elsewhere.example/api.php"},
        ],
        troubles={
            "does not listen": (lambda world: world.server.stop(), Unreachable),
            **at_each_step("hang-up", b"\r\n", Unreachable),
            **at_each_step("no JSON", says(200, "OK", body=b"<html>"), Unreachable),
            **at_each_step("an empty object", told({}), Unreachable),
            **at_each_step("a list", told([1]), Unreachable),
            **at_each_step("nonsense", told({"query": 1, "login": 1, "edit": 1}), Unreachable),
            **{f"status {code}": (at("look", status(code)), Unreachable) for code in (408, 429, 500, 503)},
            **{f"status {code}": (at("look", status(code)), Refused) for code in (301, 401, 403, 404, 413)},
            **{code: (at("edit", error(code)), Refused) for code in FOR_A_PERSON},
            **{code: (at("edit", error(code)), Unreachable) for code in PASSING},
            "ratelimited": (at("edit", error("ratelimited")), LockedOut),
            "a wrong password": (at("login", told({"login": {"result": "Failed"}})), LockedOut),
            "a login that needs a second key": (
                at("login", told({"login": {"result": "Aborted"}})),
                LockedOut,
            ),
            "a session that was lost": (
                at("login", told({"login": {"result": "WrongToken"}})),
                Unreachable,
            ),
            "a captcha": (
                at("edit", told({"edit": {"result": "Failure", "captcha": {"type": "image"}}})),
                Refused,
            ),
            "no file": (lambda world: world.accounts.unlink(), Unreachable),
            "a file that others read": (lambda world: world.accounts.chmod(0o644), Unreachable),
            "no page": (lambda world: world.server.delete("Talk:Owls"), Refused),
            "a redirect": (lambda world: world.server.redirects.add("Talk:Owls"), Refused),
        },
    )

    def test_every_request_looks_the_same(self, tmp_path):
        """Not only what a visit has changed: every byte of every request follows from the release."""
        check_side_channel(Everything, tmp_path)


@pytest.fixture
def world(tmp_path):
    """A wiki and an outlet."""
    with opened(WikiWorld, tmp_path / "world") as world:
        yield world


# --- what is done --------------------------------------------------------------------------------


def test_a_section_is_appended(world):
    """Below its heading, by the account, with the marker behind the summary; nothing else is asked."""
    world.outlet.deliver(release_of(world))

    (change,) = world.server.made()
    assert change[1].user == "Nym"
    assert change[1].comment == f"what they eat {MARKER}"
    text = "Owls are birds.\n\n== Food & drink ==\n\nThey eat mice.\n\nLiebe Grüße ~~~~"
    assert page(world) == text
    assert world.server.steps() == ["token", "login", "look", "edit"]


def test_a_page_is_edited(world):
    """Its text is replaced where it is still the revision that the new one was made from."""
    world.outlet.deliver(release_of(world, options={**world.edit, "minor": True}))

    (change,) = world.server.made()
    assert (change[1].comment, change[1].minor) == (MARKER, True)
    assert page(world) == world.content.decode()


def test_a_page_is_created(world):
    """Where there was none."""
    world.outlet.deliver(release_of(world, options=world.create))

    assert page(world, "Hawks") == world.content.decode()


def test_the_requests_are_the_release_and_nothing_else(world):
    """Fixed headers, and of times only the release's, which a creation needs."""
    world.outlet.deliver(release_of(world, options=world.create))

    for request in world.server.receiver.received:
        headers = dict(request.headers)
        headers.pop("Cookie", None)
        assert headers == {
            "Host": f"127.0.0.1:{world.server.receiver.port}",
            "Accept-Encoding": "identity",
            "Content-Length": str(len(request.body)),
            "User-Agent": "tarry",
            "Connection": "close",
            "Content-Type": "application/x-www-form-urlencoded",
        }
    (form,) = world.server.forms("edit")
    assert {name: form[name] for name in ("starttimestamp", "watchlist", "assert", "notminor")} == {
        "starttimestamp": "2026-01-01T00:01:00Z",
        "watchlist": "nochange",
        "assert": "user",
        "notminor": "1",
    }


def test_each_pseudonym_has_an_account_of_its_own(world):
    """One account for all would merge them."""
    world.outlet.deliver(release_of(world))
    world.outlet.deliver(release_of(world, options={**world.options, "account": "other"}, id="b" * 32))

    assert [each.user for _, each in world.server.made()] == ["Nym", "Other"]


def test_a_password_that_was_changed_holds_at_once(world):
    """The file is read at each delivery."""
    world.accounts.write_text(world.accounts.read_text().replace(PASSWORD, "wrong", 1))
    with pytest.raises(LockedOut):
        world.outlet.deliver(release_of(world))
    world.accounts.write_text(world.accounts.read_text().replace("wrong", PASSWORD))

    world.outlet.deliver(release_of(world))
    assert len(world.server.made()) == 1


# --- people --------------------------------------------------------------------------------------


def test_the_account_of_a_post_is_named_with_its_wiki(world):
    """Everything that waits for it moves together when it cannot get in."""
    assert world.outlet.account(world.options) == f"{world.server.at} Nym@tarry"
    assert world.outlet.account({**world.options, "account": "nobody"}) is None
    assert world.outlet.account({}) is None


@pytest.mark.parametrize(
    ("answer", "wait_s"),
    [
        ({"result": "Throttled", "wait": 30}, 30),
        ({"result": "Failed", "reason": "Too many. Please wait 5 minutes before trying again."}, 300),
        ({"result": "Failed", "reason": "Nym has got a wrong password."}, 1200),
    ],
)
def test_a_login_that_fails_is_one_persons_outage(world, answer, wait_s):
    """It tells how long to wait, and not whose account it is."""
    world.server.trouble["login"] = told({"login": answer})

    with pytest.raises(LockedOut) as trouble:
        world.outlet.deliver(release_of(world))
    assert trouble.value.wait_s == wait_s
    sentence = f"the wiki refuses this account's login: {answer['result']}: check login and bot password"
    assert str(trouble.value).startswith(sentence)
    assert "Nym" not in str(trouble.value)


def test_the_words_of_a_wiki_are_told_without_names(world):
    """They are kept with the post and logged."""
    world.server.trouble["edit"] = error("blocked", f"Nym (Nym@tarry, {PASSWORD}) is blocked, not Nymph.")

    with pytest.raises(Refused) as trouble:
        world.outlet.deliver(release_of(world))
    hidden = "(the account)"
    words = f"{hidden} ({hidden}, ...) is blocked, not Nymph."
    assert str(trouble.value) == f"the wiki refuses this (blocked: {words})"


def test_an_account_that_left_the_file_parks_the_post_without_naming_it(world):
    """The sentence is for whoever keeps the file."""
    world.accounts.write_text("")

    with pytest.raises(
        Refused,
        match=r"^the accounts file has no account for this post that is at a wiki: add it",
    ):
        world.outlet.deliver(release_of(world))


# --- configuration -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place",
    [
        "wiki.example/api.php",
        "https://wiki.example/",
        "https://wiki.example/wiki/Owls",
        "https://wiki.example/api.php?action=edit",
        "http://wiki.example/api.php",
        "https://ann:pw@wiki.example/api.php",
    ],
)
def test_a_place_that_is_no_wiki_is_refused_at_once(world, place):
    """Or one that would get passwords in the clear."""
    with pytest.raises(BadInput, match=r"^the address of a wiki "):
        MediaWiki(Accounts(world.accounts, place=place))


def test_a_bad_accounts_file_is_refused_at_once(world):
    """An operator is told at the start, in one sentence."""
    world.accounts.chmod(0o640)

    with pytest.raises(BadInput, match="the accounts file must be closed to everybody else"):
        MediaWiki(Accounts(world.accounts, place=world.server.at))


@pytest.mark.parametrize("timeout_s", [0, -1, 121, float("nan")])
def test_a_visit_that_may_take_for_ever_is_refused(world, timeout_s):
    """A question is given at most two minutes."""
    with pytest.raises(BadInput, match="the timeout of a wiki must be above 0 and at most 120 s"):
        MediaWiki(Accounts(world.accounts, place=world.server.at), timeout_s=timeout_s)


def test_nothing_is_asked_at_admission(world):
    """It would show an arrival."""
    world.outlet.check(world.options)
    world.outlet.check_content(world.options, world.content)
    world.outlet.account(world.options)

    assert world.server.receiver.received == []


class TestInOnesOwnStore:
    """The place comes from the file, and the file may be another one."""

    def test_there_need_be_no_file(self, tmp_path):
        """Until somebody wants an account of it."""
        outlet = MediaWiki(Accounts(tmp_path / "none"), own=True)

        with pytest.raises(BadInput, match=r"the accounts file .* does not exist"):
            outlet.check({"account": "nym", "page": "Owls", "action": "create"})

    def test_a_post_names_a_file(self, world, tmp_path):
        """Which tells where its accounts are."""
        path = write_accounts(tmp_path, at=world.server.at)
        outlet = MediaWiki(Accounts(tmp_path / "none"), own=True)
        options = {**world.options, "accounts": str(path)}
        outlet.check(options)
        outlet.deliver(release_of(world, options=options))

        assert outlet.account(options) == f"{world.server.at} Nym@tarry"
        assert len(world.server.made()) == 1

    def test_an_account_that_is_at_no_wiki_is_refused(self, tmp_path):
        """The file may hold accounts of other places."""
        path = write_accounts(tmp_path)
        path.write_text('[ann]\nlogin = "a"\npassword = "b"\nat = "https://api2.openreview.net"')
        outlet = MediaWiki(Accounts(path), own=True)

        with pytest.raises(BadInput, match=r"the address of a wiki must end in /api\.php"):
            outlet.check({"account": "ann", "page": "Owls", "action": "create"})


# --- whatever a post holds -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """A wiki for many posts."""
    with opened(WikiWorld, tmp_path_factory.mktemp("lasting") / "world") as world:
        yield world


plain = some.text("abz \u00e9\u0301\u212b&=+%;:/._~\U0001f989", min_size=1, max_size=20).filter(str.strip)
lines = plain | some.sampled_from(["a&b=c", "x\r\nCookie: y", "100%25", "+ +", "é", "]]{{"])


@settings(max_examples=50)
@given(title=lines, heading=lines, summary=lines, text=some.text(min_size=1, max_size=80))
def test_what_is_accepted_arrives_as_it_is(lasting, title, heading, summary, text):
    """Form, headers and JSON cannot be broken by what people write; a wiki gets what it keeps."""
    options = {**lasting.options, "page": title, "heading": heading, "summary": summary}
    content = text.encode(errors="surrogatepass")
    try:
        lasting.outlet.check(options)
        lasting.outlet.check_content(options, content)
    except BadInput:
        reject()
    release = release_of(lasting, options=options, content=content)
    lasting.server.pages.clear()
    lasting.server.receiver.received.clear()
    with pytest.raises(Refused, match="there is no such page"):
        lasting.outlet.deliver(release)
    (asked,) = lasting.server.forms("look")
    lasting.server.write(asked["titles"], "Before.")
    lasting.outlet.deliver(release)

    (form,) = lasting.server.forms("edit")
    assert form["title"] == asked["titles"]
    assert form["text"] == unicodedata.normalize("NFC", text)
    assert form["sectiontitle"] == unicodedata.normalize("NFC", heading).strip()
    assert form["summary"] == f"{unicodedata.normalize('NFC', summary).strip()} {MARKER}".strip()
    assert len(form["summary"]) <= 500
