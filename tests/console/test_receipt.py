"""The receipt page on the server's side: a ticket, its moments, and no word of an arrival."""

import re
from unittest.mock import Mock

import pytest

from contracts.at_board import OURS, board_visitor, hand_in, pass_ticks, plain
from contracts.keeping import season_policy
from tarry.core import plugins
from tarry.core.policy import Policy
from tarry.core.release import Draws
from tarry.gateway.feed import Feed, FeedOutlet
from tarry.gateway.testing import small_gateway
from tarry.keep.errors import Unreachable
from tarry.keep.releaser import MOST_ATTEMPTS, Releaser


@pytest.fixture
def gateway():
    return small_gateway(spaces=("talk", "wiki"))


@pytest.fixture
def visitor(gateway):
    with board_visitor(gateway) as http:
        yield http


# --- the ticket ---------------------------------------------------------------------------------------


def test_the_ticket_names_board_thread_and_name_before_and_after_the_release(gateway, visitor):
    where = hand_in(visitor).headers["location"]
    before = plain(visitor.get(where).text)
    pass_ticks(gateway, 200)
    after = plain(visitor.get(where).text)
    (item,) = Feed(gateway.store, "talk").latest()

    for words in (before, after):
        assert f"Board talk Thread cats Your name there {item.options['by']}" in words
    assert "Your post has appeared." in after


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_the_answer_given_is_kept_in_the_address_alone_and_an_edit_keeps_it(answer):
    gateway = small_gateway(Policy(epsilon="1", gap="60s", window="10s", labels="declared"))
    with board_visitor(gateway) as http:
        where = hand_in(http, more=answer).headers["location"]
        words = {"yes": "Will you post more? Yes, on another thread too", "no": "Will you post more? No"}
        assert where.endswith(f"?answer={answer}")
        assert words[answer] in plain(http.get(where).text)
        assert "Will you post more?" not in http.get(where.partition("?")[0]).text
        edited = http.post(
            where.partition("?")[0] + "/edit", data={"content": "new", "answer": answer}, headers=OURS
        ).headers["location"]
        assert words[answer] in plain(http.get(edited).text)
        assert "<x>" not in http.get(where.partition("?")[0] + "?answer=<x>").text


def test_two_moments_stand_with_what_decides_between_them(gateway, visitor, monkeypatch):
    draw(monkeypatch, unbatched=20, batched=50)
    where = hand_in(visitor).headers["location"]
    words = plain(visitor.get(where).text)

    assert re.search(
        r"at one of two moments: 2026-01-01 00:00:3\d UTC if nothing of yours on another thread lies "
        r"within 10s of it 2026-01-01 00:01:0\d UTC if something does",
        words,
    )
    pass_ticks(gateway, 12)
    assert "Your post appears at 2026-01-01 00:00:3" in plain(visitor.get(where).text)


def test_under_the_cosine_law_the_two_draws_are_not_shown_before_the_label(monkeypatch):
    """Its laws are not coupled: two posts of one tick have one page, whatever they drew."""
    gateway = small_gateway(season_policy())
    with board_visitor(gateway) as http:
        pages = []
        hand_in(http)  # the browser has its key
        for draws in ((0, 8), (5, 30)):
            draw(monkeypatch, *draws)
            pages.append(without_secret(http, hand_in(http).headers["location"]))

    assert pages[0] == pages[1]
    assert "Your post appears between" in pages[0]
    assert 'class="span"' in pages[0]


# --- nothing of the arrival ---------------------------------------------------------------------------


def draw(monkeypatch, unbatched, batched):
    """From now on posts draw these delays, in ticks."""
    monkeypatch.setattr("tarry.keep.admission.draw_pair", lambda *_: Draws(unbatched, batched))


def without_secret(http, where) -> str:
    """A page without the secret of its address, and without the random id of a release."""
    page = http.get(where).text.replace(where.partition("?")[0].rpartition("/")[2], "")
    return re.sub("/post/[0-9a-f]{32}", "", page)


def test_a_page_depends_on_the_release_and_on_this_moment_and_not_on_when_the_post_was_sent(monkeypatch):
    """Two worlds in which a post was sent at different ticks and leaves at the same: byte for byte."""
    seen = []
    for early in (0, 4):
        gateway = small_gateway()
        with board_visitor(gateway) as http:
            http.cookies.set("tarry_me", "a" * 64)
            pass_ticks(gateway, 3 + early)
            draw(monkeypatch, 20 - early, 50 - early)
            where = hand_in(http).headers["location"]
            pass_ticks(gateway, 6 - early)
            pages = [without_secret(http, where)]
            pass_ticks(gateway, 9)  # the label is decided in both
            pages.append(without_secret(http, where))
            pass_ticks(gateway, 40)
            pages.append(without_secret(http, where))
        seen.append(pages)

    assert seen[0] == seen[1]
    assert ["one of two moments" in page for page in seen[0]] == [True, False, False]
    assert "Your post has appeared." in seen[0][2]


def test_a_page_of_a_post_that_waits_has_one_length(gateway, visitor, monkeypatch):
    """Whatever is known by now; the text alone makes it longer."""
    draw(monkeypatch, 20, 50)
    where = hand_in(visitor).headers["location"]
    lengths = set()
    for _ in range(10):
        lengths.add(len(visitor.get(where).content))
        pass_ticks(gateway, 2)
    longer = hand_in(visitor, target="dogs", content="x" * 1000).headers["location"]

    assert len(lengths) == 1
    assert len(visitor.get(longer).content) - lengths.pop() == 1000 - len("They do not care.")


# --- what its author may know and do --------------------------------------------------------------------


@pytest.mark.parametrize("ends", ["waiting", "parked"])
def test_a_post_that_may_have_appeared_says_so_and_cannot_be_changed(gateway, visitor, monkeypatch, ends):
    """As long as nobody knows, the page offers neither to change it nor to take it back."""
    deliver = Mock(side_effect=Unreachable("it hung up", sent=True))
    monkeypatch.setattr(gateway.vault.outlets["talk"], "deliver", deliver)
    monkeypatch.setattr(FeedOutlet, "in_store", False)  # as a place elsewhere
    where = hand_in(visitor).headers["location"]
    assert "Withdraw" in visitor.get(where).text
    for _ in range(200):
        if not deliver.called:
            pass_ticks(gateway, 1)
    for _ in range(MOST_ATTEMPTS if ends == "parked" else 0):
        gateway.clock.sleep(300)
        Releaser(gateway.vault).sweep()
        Releaser(gateway.vault).release()
    page = visitor.get(where).text

    assert gateway.receipts.status(where[-64:]).state == ends
    assert "may have appeared" in page
    assert "<form" not in page.partition("<main")[2]
    assert "hung up" not in page
    assert "has been told" not in page  # nobody was: it is on a list


def test_a_receipt_page_says_between_which_moments_a_post_appears(monkeypatch):
    """Where its draws must not be told before its label is decided; then it says when."""
    monkeypatch.setitem(plugins._OURS["law"], "loose", "contracts.keeping:loose")
    gateway = small_gateway(Policy(epsilon="1", gap="60s", window="10s", law="loose"))
    with board_visitor(gateway) as http:
        where = hand_in(http).headers["location"]
        before = http.get(where).text
        pass_ticks(gateway, 10)
        status = gateway.receipts.status(where[-64:])

    assert re.search(r"Your post appears between <strong>.*</strong> and <strong>.*</strong>", before)
    assert "one of two moments" not in before
    assert "This page says when exactly once" in before
    assert (status.latest - status.earliest, status.in_between) == (74, True)


def test_a_receipt_never_says_that_a_post_appears_at_a_moment_that_is_over(gateway, visitor, monkeypatch):
    """The place that it goes to is away: from the moment on it was due, and has not appeared yet."""
    monkeypatch.setattr(gateway.vault.outlets["talk"], "deliver", Mock(side_effect=Unreachable("away")))
    monkeypatch.setattr(FeedOutlet, "in_store", False)  # as a place elsewhere
    where = hand_in(visitor).headers["location"]
    shown = "Your post was due at", "Your post appears at"
    before = visitor.get(where).text
    while (status := gateway.receipts.status(where[-64:])).release_at is None:
        pass_ticks(gateway, 1)
    seconds = float(status.release_at) - gateway.clock.read().wall / 1e6
    pass_ticks(gateway, int(seconds) + 2)
    after = visitor.get(where).text

    for page, (hidden, seen) in ((before, shown), (after, shown[::-1])):
        assert re.search(rf"<div data-\w+>\s*<p[^>]*>{seen}", page)
        assert not re.search(rf"<div data-\w+>\s*<p[^>]*>{hidden}", page)
    assert "<textarea" in after


def test_nobody_is_told_about_a_post_without_its_receipt(visitor):
    strange = visitor.get(f"/receipt/{'0' * 64}")

    assert strange.status_code == 404
    assert "No post has this receipt" in strange.text
    for change in ("edit", "withdraw"):
        answer = visitor.post(f"/receipt/{'0' * 64}/{change}", data={"content": "x"}, headers=OURS)
        assert answer.status_code == 404


def test_what_has_left_cannot_be_changed(gateway, visitor):
    there = hand_in(visitor).headers["location"]
    pass_ticks(gateway, 200)

    assert "Your post has appeared." in visitor.get(there).text
    answer = visitor.post(f"{there}/withdraw", headers=OURS)
    assert answer.status_code == 409
    assert "cannot be changed any more" in answer.text


def test_into_the_place_that_an_operator_emptied_the_author_puts_something_else(gateway, visitor):
    there = hand_in(visitor).headers["location"]
    gateway.withdraw_on("talk", "cats")
    emptied = visitor.get(there).text
    answer = visitor.post(f"{there}/edit", data={"content": "They do."}, headers=OURS)
    filled = visitor.get(there).text
    visitor.post(f"{there}/withdraw", headers=OURS)
    withdrawn = visitor.get(there).text

    assert "An operator has withdrawn your post." in emptied
    assert f"{there}/withdraw" not in emptied
    assert answer.status_code == 303
    assert "They do.</textarea>" in filled
    assert "Your post was withdrawn." in withdrawn
    assert f"{there}/edit" not in withdrawn
