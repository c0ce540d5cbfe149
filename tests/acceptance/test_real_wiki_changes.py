"""What the outlet does to the pages of a real MediaWiki, what it leaves alone, and what it tries again."""

import threading
import time
from contextlib import suppress
from fractions import Fraction
from types import SimpleNamespace

import pytest

from acceptance.at_wiki import (
    EDIT,
    append,
    deliver,
    new_page,
    new_title,
    outlet_to,
    release_id,
    write_accounts,
)
from contracts.held_line import HeldLine
from contracts.scripted_entropy import Script
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.keep.gate import Gate
from tarry.keep.posts import Post
from tarry.testing.outlets import POLICY, SOONEST, OutletKeeping

LONGEST_LOCKOUT_S = 5400


@pytest.fixture
def page(wiki):
    """A page of the test's own."""
    return new_page(wiki)


@pytest.fixture
def outlet(wiki, tmp_path):
    """An outlet to the wiki that tests share."""
    return outlet_to(wiki.port, tmp_path)


# --- what a release does ----------------------------------------------------------------------------


def test_an_edit_replaces_the_revision_that_it_was_made_from(wiki, outlet, page):
    """The text is new, the author is the account, and the summary ends in a marker that is no secret."""
    base = wiki.history(page)[-1]["revid"]
    options = {"account": "nym", "page": page, "action": "edit", "base_revision": base, "summary": "voles"}
    deliver(outlet, options, "Owls eat voles.")

    old, new = wiki.history(page)
    assert (new["parentid"], new["user"]) == (old["revid"], "Nym")
    assert new["slots"]["main"]["content"] == "Owls eat voles."
    assert new["comment"] == f"voles ({release_id(options)[:16]})"


def test_two_accounts_append_to_one_page_each_under_its_own_name(wiki, outlet, page):
    """What was there stays, and each section is its author's."""
    for account in ("nym", "alter"):
        deliver(outlet, append(page, account), f"Said by {account}.")

    assert [revision["user"] for revision in wiki.history(page)] == ["Admin", "Nym", "Alter"]
    text = wiki.text(page)
    assert text.startswith("Owls eat mice.")
    assert text.index("Said by nym.") < text.index("Said by alter.")


@pytest.mark.parametrize("action", ["edit", "create", "append"])
def test_a_lost_answer_is_read_back_and_nothing_is_done_twice(wiki, page, tmp_path, action):
    """The wiki has obeyed, and hangs up: the next try finds its marker."""
    if action == "create":
        page = new_title()
    options = {"account": "nym", "page": page, "action": action}
    if action == "edit":
        options["base_revision"] = wiki.history(page)[-1]["revid"]
    if action == "append":
        options["heading"] = "Food"
    before = len(wiki.history(page))
    with HeldLine(wiki.port) as line:
        outlet = outlet_to(line.port, tmp_path)
        cut_off(line, outlet, options)
        assert len(wiki.history(page)) == before + 1
        deliver(outlet, options)

    assert len(line.with_words(EDIT)) == 1
    assert len(wiki.history(page)) == before + 1


def test_a_page_that_was_created_and_deleted_is_not_created_again(wiki, tmp_path):
    """Its answer was lost, an administrator has deleted it, and its release has moved on since."""
    options = {"account": "nym", "page": new_title(), "action": "create"}
    with HeldLine(wiki.port) as line:
        outlet = outlet_to(line.port, tmp_path)
        cut_off(line, outlet, options)
        wiki.as_admin(action="delete", title=options["page"])
        moved = Fraction(int(time.time()) + 600)
        with pytest.raises(Refused, match="has been deleted, perhaps after an earlier try had created it"):
            deliver(outlet, options, attempt=2, at=moved)

    assert wiki.history(options["page"]) == []
    assert len(line.with_words(EDIT)) == 1


def test_a_second_try_creates_a_page_that_was_never_deleted(wiki, outlet):
    """Its log has nothing to tell."""
    page = new_title()
    deliver(outlet, {"account": "nym", "page": page, "action": "create"}, attempt=2)

    assert [revision["user"] for revision in wiki.history(page)] == ["Nym"]


def cut_off(line, outlet, options):
    """Deliver, and be cut off after the wiki has obeyed."""
    problems = []

    def try_it():
        try:
            deliver(outlet, options)
        except Unreachable as problem:
            problems.append(problem)

    with line.holding(EDIT) as held:
        thread = threading.Thread(target=try_it)
        thread.start()
        assert held.wait(20), problems
    thread.join(60)
    assert problems, "it was answered"


def test_two_tries_at_the_same_moment_append_once(wiki, outlet, page):
    """As when a worker that was thought dead wakes up: the wiki is asked twice and obeys once."""
    start = threading.Barrier(2)

    def try_it():
        start.wait(60)
        with suppress(Refused, Unreachable):
            deliver(outlet, append(page))

    threads = [threading.Thread(target=try_it) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    deliver(outlet, append(page))

    assert [revision["user"] for revision in wiki.history(page)] == ["Admin", "Nym"]


# --- what is for a person ---------------------------------------------------------------------------


def test_an_edit_of_a_page_that_has_changed_is_parked_and_the_others_text_is_kept(wiki, outlet, page):
    """A conflict is explained, and never overwritten."""
    base = wiki.history(page)[-1]["revid"]
    options = {"account": "nym", "page": page, "action": "edit", "base_revision": base}
    keeping = OutletKeeping(SimpleNamespace(outlet=outlet, options=options, content=b"Owls eat voles."))
    keeping.admit("ann", SOONEST)
    wiki.edit(page, "Owls eat everything.")
    keeping.wait_until_due()

    assert keeping.releaser.release() == 0
    assert keeping.status.state == "parked"
    assert "has changed since the revision that this edit was made from" in keeping.status.problem
    assert wiki.text(page) == "Owls eat everything."
    assert len(wiki.history(page)) == 2


def test_what_cannot_be_done_to_a_page_is_refused_and_changes_nothing(wiki, outlet, page):
    """One that is there is not created, one that is not there not added to, a protected one left alone."""
    with pytest.raises(Refused, match="the page is there already"):
        deliver(outlet, {"account": "nym", "page": page, "action": "create"})
    with pytest.raises(Refused, match="there is no such page"):
        deliver(outlet, append(new_title()))
    wiki.as_admin(action="protect", title=page, protections="edit=sysop")
    with pytest.raises(Refused, match="protectedpage"):
        deliver(outlet, append(page))

    assert wiki.text(page) == "Owls eat mice."


# --- what a later try changes -----------------------------------------------------------------------


def test_a_wrong_password_moves_all_that_waits_for_the_account_and_nothing_is_lost(wiki, page, tmp_path):
    """One account's outage: its posts keep their distance, and another account's leave on time."""
    outlet = outlet_to(wiki.port, tmp_path)
    other, third = new_title(), new_title()
    for title in (other, third):
        wiki.edit(title, "More owls.")
    world = SimpleNamespace(outlet=outlet, content=b"Some words.")
    keeping = OutletKeeping(world)
    receipts = {}
    for number, options in enumerate([append(page), append(other), append(third, "alter")]):
        world.options = options
        receipts[number] = admit(keeping, f"somebody {number}", SOONEST + 5 * number)
    write_accounts(tmp_path, nym="f" * 32)
    keeping.tick(SOONEST + 20)

    assert keeping.releaser.release() == 1, "only the other account gets in"
    states = [keeping.gate.status(receipt.secret) for receipt in receipts.values()]
    assert [status.state for status in states] == ["waiting", "waiting", "released"]
    assert states[1].release_at - states[0].release_at == 5, "they have come closer to each other"
    assert states[0].release_at > keeping.closed + 60
    assert "login" in states[0].problem
    assert "Nym" not in states[0].problem

    write_accounts(tmp_path)
    keeping.clock.sleep(LONGEST_LOCKOUT_S)
    keeping.close()
    assert keeping.releaser.release() == 2
    assert [wiki.history(title)[-1]["user"] for title in (page, other, third)] == ["Nym", "Nym", "Alter"]
    assert [len(wiki.history(title)) for title in (page, other, third)] == [2, 2, 2]


def admit(keeping, actor, delay):
    """Hand the world's post in, under a random key of its own."""
    world = keeping.world
    keeping.gate = Gate(keeping.vault, POLICY, Script([delay]))
    post = Post(
        actor=actor,
        target=world.options["page"],
        outlet="out",
        content=world.content,
        options=world.options,
    )
    return keeping.gate.admit(post)


def test_a_wiki_that_is_read_only_throttles_or_is_away_is_tried_again(own_wiki, tmp_path):
    """Not now: all of it passes by itself; an account that is throttled is one account's matter."""
    outlet = outlet_to(own_wiki.port, tmp_path)
    own_wiki.edit("Owls", "Old text.")

    own_wiki.configure("$wgReadOnly = 'It is being copied.';")
    with pytest.raises(Unreachable, match="the wiki cannot do it now"):
        deliver(outlet, append("Owls"))

    own_wiki.configure("$wgRateLimits = ['edit' => ['user' => [0, 60], 'newbie' => [0, 60]]];")
    with pytest.raises(LockedOut, match="less at a time"):
        deliver(outlet, append("Owls"))

    own_wiki.stop()
    with pytest.raises(Unreachable, match="Connection refused"):
        deliver(outlet, append("Owls"))

    own_wiki.configure("")
    own_wiki.start()
    deliver(outlet, append("Owls"))
    assert [revision["user"] for revision in own_wiki.history("Owls")] == ["Admin", "Nym"]


def test_an_account_that_fails_too_often_is_left_alone_as_long_as_the_wiki_says(own_wiki, tmp_path):
    """A login that is throttled tells for how long; afterwards the right password gets in."""
    own_wiki.edit("Owls", "Old text.")
    own_wiki.configure("$wgPasswordAttemptThrottle = [['count' => 1, 'seconds' => 7200]];")
    outlet = outlet_to(own_wiki.port, tmp_path)
    write_accounts(tmp_path, nym="f" * 32)
    waits = []
    for _ in range(3):
        with pytest.raises(LockedOut, match="refuses this account's login") as told:
            deliver(outlet, append("Owls"))
        waits.append(told.value.wait_s)

    assert waits == [1200, 7200, 7200], "only the last two were told"
    write_accounts(tmp_path)
    own_wiki.configure("")
    deliver(outlet, append("Owls"))
    assert [revision["user"] for revision in own_wiki.history("Owls")] == ["Admin", "Nym"]
