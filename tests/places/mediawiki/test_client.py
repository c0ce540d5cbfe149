"""One visit of a wiki: the login, the look, the change, and what is kept between them."""

import dataclasses
import json

import pytest

from contracts.http_receiver import says
from contracts.wiki_server import PASSWORD, WikiServer, told
from tarry.core.errors import BadInput
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.places.accounts import Account
from tarry.places.mediawiki import client as wiki_session
from tarry.places.mediawiki.client import WikiPage, WikiVisit, wiki_address


@pytest.fixture
def server():
    """A wiki that has nothing to object in the end."""
    with WikiServer() as server:
        yield server
    assert server.wrong == []


def visit(server, **changes):
    """A visit that has not logged in."""
    account = Account(login="Nym@tarry", password=PASSWORD, at=server.at)
    return WikiVisit(dataclasses.replace(account, **changes), timeout_s=20)


def test_a_login_takes_a_token_first(server):
    """And what was told before the login is not said after it."""
    caller = visit(server)
    caller.log_in()
    caller.look("Owls")

    assert server.steps() == ["token", "login", "look"]
    assert [each.headers["Cookie"] for each in server.receiver.received] == [
        None,
        "wiki_session=before1; wiki_old=1",
        "wiki_session=in1",
    ]


def test_nothing_is_kept_from_one_visit_to_the_next(server):
    """Two accounts are never in one session."""
    visit(server).log_in()
    visit(server, login="Other@tarry").log_in()

    assert [each.headers["Cookie"] for each in server.receiver.received[2:]] == [
        None,
        "wiki_session=before2; wiki_old=1",
    ]


def test_a_wrong_password_is_told_without_the_wikis_words(server):
    """They may name the account."""
    with pytest.raises(LockedOut) as trouble:
        visit(server, password=PASSWORD[::-1]).log_in()
    assert str(trouble.value).startswith("the wiki refuses this account's login: Failed: check login")


@pytest.mark.parametrize("result", ["Nym", "nym", "Wrong Nym", "Failed: 7", "x" * 31, "\u0401", "\ud800"])
def test_a_result_that_is_no_word_of_a_wikis_is_not_repeated(server, result):
    """It may be the account's name, or what was sent."""
    server.trouble["login"] = says(200, "OK", body=json.dumps({"login": {"result": result}}).encode())
    with pytest.raises(LockedOut, match="refuses this account's login: for a reason of its own"):
        visit(server).log_in()


@pytest.mark.parametrize("step", ["token", "login", "look"])
def test_half_a_character_is_nothing_to_stumble_over(server, step):
    """A token, a name or a place to go on from that no text can hold is sent back as well as can be."""
    half = "\ud800"
    answers = {
        "token": {"query": {"tokens": {"logintoken": half}}},
        "login": {"login": {"result": "Success", "lgusername": half}},
        "look": {"query": {"pages": [{"missing": True}], "tokens": {"csrftoken": half}}},
    }
    answers["look"] |= {"continue": {"continue": "||", "rvcontinue": half}}
    server.trouble[step] = says(200, "OK", body=json.dumps(answers[step]).encode())

    with pytest.raises((Refused, Unreachable)):
        look_at_owls(visit(server))


def look_at_owls(caller):
    """A visit without a change."""
    caller.log_in()
    caller.look("Owls")


def test_words_before_the_login_are_told_without_names_too(server):
    """The account is known before the wiki has said how it writes it."""
    words = f"User nym two (NYM_TWO) is blocked, {PASSWORD}!"
    server.trouble["login"] = told({"error": {"code": "blocked", "info": words}})
    with pytest.raises(Refused) as trouble:
        visit(server, login="Nym_two@tarry").log_in()

    expected = "blocked: User (the account) ((the account)) is blocked, ...!"
    assert str(trouble.value) == f"the wiki refuses this ({expected})"


@pytest.mark.parametrize("deleted", [None, "2026-01-01T00:00:00Z"])
def test_the_last_deletion_of_a_page_is_told(server, deleted):
    """None, if it was never deleted."""
    if deleted:
        server.write("Owls", "x")
        server.delete("Owls", at=deleted)
    caller = visit(server)
    caller.log_in()

    assert caller.deleted_at("Owls") == deleted


@pytest.mark.parametrize(
    "query",
    [{}, {"logevents": 7}, {"logevents": [7]}, {"logevents": [{}]}, {"logevents": [{"timestamp": 7}]}],
)
def test_a_log_that_cannot_be_read_is_for_a_later_try(server, query):
    """Nobody knows then whether the page was deleted."""
    caller = visit(server)
    caller.log_in()
    server.trouble["log"] = told({"query": query})

    with pytest.raises(Unreachable) as trouble:
        caller.deleted_at("Owls")
    assert not trouble.value.sent


def test_a_page_that_is_not_there_is_seen(server):
    """Its title is free."""
    caller = visit(server)
    caller.log_in()
    page = caller.look("Owls")

    assert (page.newest, page.is_redirect, list(page.summaries)) == (None, False, [])
    assert page.token not in repr(page)


def test_a_page_is_seen_with_what_the_account_did(server):
    """On the page all of it, elsewhere the newest; of others nothing."""
    server.write("Owls", "1", "Nym", "mine")
    server.write("Owls", "2", "Somebody", "theirs")
    server.write("Hawks", "3", "Nym", "elsewhere")
    newest = server.write("Owls", "4", "Nym", "mine again")
    server.redirects.add("Owls")
    caller = visit(server)
    caller.log_in()
    page = caller.look("Owls")

    assert (page.newest, page.is_redirect) == (newest, True)
    assert set(page.summaries) == {"mine", "mine again", "elsewhere"}


def test_a_hidden_summary_is_no_trouble(server):
    """An administrator may take one out of everybody's sight."""
    caller = visit(server)
    caller.log_in()
    pages = [{"lastrevid": 7, "revisions": [{"revid": 7, "commenthidden": True}, {"comment": "seen"}, 7]}]
    server.trouble["look"] = told({"query": {"pages": pages, "tokens": {"csrftoken": "x"}}})

    assert caller.look("Owls") == WikiPage(newest=7, summaries=["seen"], token="x")  # noqa: S106 - a server's


def test_a_page_with_endless_revisions_is_for_a_person(server, monkeypatch):
    """What cannot be looked through might hold the marker."""
    monkeypatch.setattr(wiki_session, "_MOST_LOOKS", 3)
    monkeypatch.setattr(wiki_session, "_AT_ONCE", 2)
    for number in range(8):
        server.write("Owls", str(number), "Nym", "mine")
    caller = visit(server)
    caller.log_in()

    with pytest.raises(Refused, match="more than 6 revisions by this account"):
        caller.look("Owls")


@pytest.mark.parametrize(
    "page", [{"title": "Owls"}, {"title": "Owls", "lastrevid": "7"}, {"title": "Owls", "missing": False}]
)
def test_a_look_without_a_revision_is_none(server, page):
    """It is tried again rather than guessed at."""
    caller = visit(server)
    caller.log_in()
    server.trouble["look"] = told({"query": {"pages": [page], "tokens": {"csrftoken": "x"}}})

    with pytest.raises(Unreachable, match="has no revision of the page"):
        caller.look("Owls")


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        ({"result": "Failure", "captcha": {"type": "image"}}, "the wiki refuses this (captcha)"),
        (
            {"result": "Failure", "code": "abusefilter", "info": "No, Nym."},
            "(abusefilter: No, (the account).)",
        ),
        ({"result": "Failure"}, "the wiki refuses this (Failure)"),
    ],
)
def test_a_failure_that_is_no_error_is_for_a_person(server, edit, sentence):
    """Filters and captchas answer in this way."""
    caller = visit(server)
    caller.log_in()
    server.trouble["edit"] = told({"edit": edit})
    fields = {"title": "Owls", "text": "x", "summary": "", "notminor": "1"}
    more = {
        "createonly": "1",
        "starttimestamp": "2026-01-01T00:00:00Z",
        "watchlist": "nochange",
        "md5": "x",
    }

    with pytest.raises(Refused) as trouble:
        caller.save({**fields, **more}, "x")
    assert sentence in str(trouble.value)


def test_an_answer_without_end_is_none(server):
    """More than a wiki has to say about one page."""
    server.trouble["token"] = says(200, "OK", body=b" " * ((256 << 10) + 1))
    with pytest.raises(Unreachable, match="the wiki answered more than 262144 bytes"):
        visit(server).log_in()
    server.trouble = {"look": says(200, "OK", body=b" " * ((4 << 20) + 1))}
    caller = visit(server)
    caller.log_in()

    with pytest.raises(Unreachable, match="the wiki answered more than 4194304 bytes"):
        caller.look("Owls")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/api.php", "http://[::1]:8/w/api.php", "http://localhost/api.php"]
)
def test_a_wiki_on_this_machine_may_speak_in_the_clear(url):
    """Nobody listens in between."""
    assert not wiki_address(url).tls


@pytest.mark.parametrize("url", ["http://10.0.0.7/api.php", "http://localhost.example/api.php"])
def test_a_wiki_elsewhere_may_not(url):
    """A password is sent there."""
    with pytest.raises(BadInput, match="the address of a wiki must begin with https://"):
        wiki_address(url)
