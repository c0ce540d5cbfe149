"""The MediaWiki outlet changes a page once, however often it tries, and never over other people's words."""

from fractions import Fraction

import pytest

from contracts.http_receiver import says
from contracts.wiki_server import error, told
from contracts.wiki_world import MARKER, WikiWorld, page
from tarry.keep.errors import Refused, Unreachable
from tarry.testing.outlets import SOONEST, OutletKeeping, opened, release_of

AT = Fraction(1_767_225_660)  # of `release_of`


@pytest.fixture
def world(tmp_path):
    """A wiki and an outlet."""
    with opened(WikiWorld, tmp_path / "world") as world:
        yield world


# --- once ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["options", "edit", "create"])
def test_a_change_that_was_made_is_not_made_again(world, kind):
    """Whichever try it is: an operator's, or one from a backup, does not know of the first."""
    release = release_of(world, options=getattr(world, kind))
    for _ in range(3):
        world.outlet.deliver(release)

    assert len(world.server.made()) == 1
    assert world.server.steps().count("edit") == 1


@pytest.mark.parametrize("kind", ["options", "edit", "create"])
def test_an_answer_that_was_lost_is_no_second_change(world, kind):
    """The wiki obeys, and nobody hears of it."""
    release = release_of(world, options=getattr(world, kind))
    world.server.hangs_up_after_edit = True
    with pytest.raises(Unreachable, match="the wiki hung up"):
        world.outlet.deliver(release)
    world.server.write("Talk:Owls", "Somebody else was quick.")
    world.outlet.deliver(release)

    assert len(world.server.made()) == 1


@pytest.mark.parametrize("kind", ["options", "edit", "create"])
def test_an_earlier_try_that_arrives_late_is_met_and_recognised(world, kind):
    """It was still on its way when this one looked: the wiki refuses the second, which counts as done."""
    options = getattr(world, kind)
    title, comment = options["page"], f"{options.get('summary', '')} {MARKER}".strip()
    world.server.meanwhile = lambda: world.server.write(title, "as the first try wrote it", "Nym", comment)

    world.outlet.deliver(release_of(world, options=options))

    assert len(world.server.made()) == 1
    assert page(world, title) == "as the first try wrote it"


@pytest.mark.parametrize("most_at_once", [1, 2, 3])
def test_a_change_is_found_however_many_came_after_it(world, most_at_once):
    """The wiki tells its revisions bit by bit."""
    release = release_of(world)
    world.outlet.deliver(release)
    for number in range(5):
        world.server.write("Talk:Owls", f"text {number}", "Nym", "something else")
    world.server.most_at_once = most_at_once
    world.outlet.deliver(release)

    assert world.server.steps().count("edit") == 1


def test_what_somebody_else_marks_is_no_change_of_ours(world):
    """The marker is there for everybody to copy: only the account's own changes count."""
    world.server.write("Talk:Owls", "Ha!", "Mallory", f"what they eat {MARKER}")
    world.outlet.deliver(release_of(world))

    assert len(world.server.forms("edit")) == 1


def test_a_page_that_was_moved_is_not_created_again(world):
    """The change is found where it is now."""
    release = release_of(world, options=world.create)
    world.outlet.deliver(release)
    world.server.move("Hawks", "Draft:Hawks")
    world.outlet.deliver(release)

    assert list(world.server.pages) == ["Talk:Owls", "Draft:Hawks"]


def test_a_page_that_was_deleted_since_its_release_is_not_created_again(world):
    """Nobody but an administrator sees whether it was ours, so a person looks."""
    release = release_of(world, options=world.create)
    world.outlet.deliver(release)
    world.server.delete("Hawks")

    with pytest.raises(Refused, match="the page was deleted meanwhile; look why before"):
        world.outlet.deliver(release)
    assert "Hawks" not in world.server.pages


def test_a_page_that_was_deleted_before_its_release_moved_on_is_not_created_again(world):
    """An outage has moved it past the deletion, which the wiki itself then does not mind."""
    world.server.hangs_up_after_edit = True
    with pytest.raises(Unreachable):
        world.outlet.deliver(release_of(world, options=world.create, attempt=1))
    world.server.hangs_up_after_edit = False
    world.server.delete("Hawks", at="2026-01-01T00:02:00Z")
    moved = release_of(world, options=world.create, attempt=2, at=AT + 3600)

    with pytest.raises(Refused, match="has been deleted, perhaps after an earlier try"):
        world.outlet.deliver(moved)
    assert "Hawks" not in world.server.pages


@pytest.mark.parametrize(("attempt", "asked"), [(1, 0), (2, 1)])
def test_a_page_that_was_deleted_long_ago_is_created(world, attempt, asked):
    """That was another page. A first try has nothing to ask: the wiki compares by itself."""
    world.server.write("Hawks", "Hawks are birds.")
    world.server.delete("Hawks", at="2024-12-01T00:00:00Z")
    world.outlet.deliver(release_of(world, options=world.create, attempt=attempt))

    assert page(world, "Hawks") == world.content.decode()
    assert world.server.steps().count("log") == asked


@pytest.mark.parametrize("kind", ["options", "edit"])
def test_only_a_creation_asks_for_deletions(world, kind):
    """An edit of a page that is gone is refused without."""
    world.outlet.deliver(release_of(world, options=getattr(world, kind), attempt=2))

    assert "log" not in world.server.steps()


# --- what may have happened ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "answer", "sent"),
    [
        ("edit", b"\r\n", True),
        ("edit", says(200, "OK", body=b"<html>"), True),
        ("edit", says(502, "Bad Gateway"), True),
        ("edit", told({"edit": {}}), True),
        ("edit", error("internal_api_error_DBQueryError"), True),
        ("edit", error("badtoken"), False),
        ("edit", error("readonly"), False),
        ("edit", error("maxlag"), False),
        ("edit", error("ratelimited"), False),
        ("look", b"\r\n", False),
        ("look", says(502, "Bad Gateway"), False),
        ("look", told({"query": 7}), False),
        ("login", b"\r\n", False),
        ("login", told({"login": {}}), False),
        ("token", says(502, "Bad Gateway"), False),
        ("log", says(502, "Bad Gateway"), False),
    ],
)
def test_only_a_change_without_a_clear_answer_may_have_happened(world, step, answer, sent):
    """To log in and to look does nothing; and a wiki that says why not has not done it."""
    world.server.trouble[step] = answer

    with pytest.raises(Unreachable) as trouble:
        world.outlet.deliver(release_of(world, options=world.create, attempt=2))
    assert trouble.value.sent is sent


def test_a_wiki_that_does_not_listen_has_got_nothing(world):
    """Connection refused."""
    world.server.stop()
    with pytest.raises(Unreachable) as trouble:
        world.outlet.deliver(release_of(world))
    assert not trouble.value.sent


def test_a_text_that_is_there_already_is_done(world):
    """The wiki makes no revision of it, at any try."""
    release = release_of(world, options=world.edit, content=b"Owls are birds.")
    world.outlet.deliver(release)
    world.outlet.deliver(release)

    assert world.server.made() == []


# --- never over others ---------------------------------------------------------------------------


def test_a_conflict_is_parked_and_explained(world):
    """Somebody was quicker: their words stay, and the author is told what to do."""
    world.options = world.edit
    world.server.write("Talk:Owls", "Owls are nocturnal birds.")
    keeping = OutletKeeping(world)
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()

    assert keeping.releaser.release() == 0
    assert keeping.status.state == "parked"
    assert keeping.status.problem == (
        "the page has changed since the revision that this edit was made from, and was left as it is: "
        "take the new text and hand yours in again"
    )
    assert page(world) == "Owls are nocturnal birds."


def test_an_edit_of_ones_own_is_a_conflict_too(world):
    """The author has not seen it either when this text was made."""
    world.server.write("Talk:Owls", "Mine.", "Nym", "from elsewhere")

    with pytest.raises(Refused, match="has changed since"):
        world.outlet.deliver(release_of(world, options=world.edit))


def test_somebody_who_is_quicker_by_a_moment_is_not_overwritten(world):
    """Between the look and the change: the wiki itself compares once more."""
    world.server.meanwhile = lambda: world.server.write("Talk:Owls", "Quick.")

    with pytest.raises(Refused, match="somebody changed the page meanwhile; take the new text"):
        world.outlet.deliver(release_of(world, options=world.edit))
    assert page(world) == "Quick."


def test_a_section_tells_what_it_was_made_for(world):
    """The newest revision at the look: by that the wiki notices a section that it has just been given."""
    newest = world.server.write("Talk:Owls", "Somebody was here.")
    world.outlet.deliver(release_of(world))

    (form,) = world.server.forms("edit")
    assert (form["baserevid"], form["nocreate"]) == (str(newest), "1")


def test_a_section_does_not_mind_who_was_quicker(world):
    """It goes below what they wrote."""
    world.server.meanwhile = lambda: world.server.write("Talk:Owls", "Quick.")
    world.outlet.deliver(release_of(world))

    assert page(world).startswith("Quick.\n\n== Food & drink ==")


@pytest.mark.parametrize("kind", ["edit", "options"])
@pytest.mark.parametrize("late", [False, True])
def test_a_page_that_is_gone_is_not_made_again(world, kind, late):
    """Neither when the look shows it, nor when it goes between the look and the change."""
    if late:
        world.server.meanwhile = lambda: world.server.delete("Talk:Owls")
    else:
        world.server.delete("Talk:Owls")

    with pytest.raises(Refused, match="there is no such page"):
        world.outlet.deliver(release_of(world, options=getattr(world, kind)))
    assert world.server.pages == {}


def test_a_page_that_somebody_made_meanwhile_is_left_alone(world):
    """`create` creates."""
    world.server.write("Hawks", "Hawks are birds.")

    with pytest.raises(Refused, match="the page is there already; edit it or append to it"):
        world.outlet.deliver(release_of(world, options=world.create))
    assert page(world, "Hawks") == "Hawks are birds."
