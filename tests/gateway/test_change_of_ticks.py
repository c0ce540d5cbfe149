"""Another tick, window or label mode: all spaces together, while nothing is on its way."""

import pytest

from contracts.house import ALL_GONE, KINDS, POLICY, House, new_database
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.core.straddle import quiet_ticks
from tarry.gateway.catalog import NoSuchSpace
from tarry.gateway.feed import Feed
from tarry.gateway.gateway import Submission
from tarry.gateway.policy_changes import change_all_policies, change_policy
from tarry.gateway.space_changes import adopt_delays, open_space
from tarry.keep.posts import Post
from tarry.keep.store import snapshot

COARSE = Policy(epsilon="1", gap="1h", window="10m", tick="7m")  # no hour is a whole number of these ticks
WIDE = Policy(epsilon="1", gap="30s", window="12s")
FOLLOWER = Policy(epsilon="1", gap="30s", window="10s", labels="follower")
SPACES = ("reviews", "talk")


@pytest.fixture(params=KINDS)
def house(request, tmp_path):
    house = House(new_database(request, request.param, tmp_path), spaces=SPACES)
    yield house
    house.store.close()


def pause(house, *names, is_open=False):
    for name in names or SPACES:
        house.change(lambda transaction, name=name: open_space(transaction, name, is_open=is_open))


def change(house, policy, **others):
    policies = {**dict.fromkeys(SPACES, policy), **others}
    return house.change(lambda t: change_all_policies(t, house.gateway.keys, house.clock, policies))


def settings(house):
    with house.store.transaction("reading") as transaction:
        return snapshot(transaction).settings


@pytest.mark.parametrize("policy", [COARSE, WIDE, FOLLOWER], ids=["tick", "window", "labels"])
def test_all_spaces_change_together_and_work_afterwards(house, policy):
    house.admit("ann", "p1", b"old")
    house.jump(ALL_GONE)
    pause(house)
    house.jump(2 * 3600)
    changed = change(house, policy)
    pause(house, is_open=True)

    assert {name: version.number for name, version in changed.items()} == dict.fromkeys(SPACES, 2)
    assert (settings(house).tick, settings(house).window_ticks, settings(house).labels) == (
        policy.tick,
        policy.window_ticks,
        policy.labels,
    )
    with house.store.transaction("reading") as transaction:
        house.gateway.vault.now(transaction)  # as any keeper does: the settings are new
    receipt = house.admit("bob", "p1", b"new")
    waits = receipt.status.latest - house.clock.wall / 1_000_000 / float(policy.tick)
    assert 0 < waits < 20_000 / float(policy.tick)
    house.jump(20_000)
    assert house.feed() == [b"old", b"new"]


def test_they_stay_paused_until_opened(house):
    pause(house)
    change(house, WIDE)

    assert not any(space.is_open for space in house.gateway.catalog.spaces.values())


def test_every_space_is_named_and_paused(house):
    pause(house, "talk")
    with pytest.raises(
        BadInput, match="only while every space is paused, and 'reviews' is open: tarry space pause"
    ):
        change(house, WIDE)
    pause(house)
    with pytest.raises(BadInput, match="must have a policy for every space, also 'reviews'"):
        house.change(lambda t: change_all_policies(t, house.gateway.keys, house.clock, {"talk": WIDE}))
    with pytest.raises(NoSuchSpace):
        change(house, WIDE, nowhere=WIDE)
    with pytest.raises(BadInput, match="must have the same tick, window and labels"):
        change(house, WIDE, talk=COARSE)
    assert settings(house).window_ticks == POLICY.window_ticks


def test_it_waits_for_what_waits_and_then_until_no_story_reaches_over_it(house):
    """From the last arrival to the first under the new policies lie G + 1 ticks of the longer reach."""
    house.admit()
    pause(house)
    with pytest.raises(NotPossible, match="posts still wait under the old policies"):
        change(house, WIDE)
    house.jump(ALL_GONE)
    (release,) = [row["release"] for row in house.rows("posts")]
    quiet = release + quiet_ticks(POLICY, WIDE)
    for last in (quiet - 20, quiet - 1):
        house.jump(max(0, last - house.clock.wall // 1_000_000))
        with pytest.raises(NotPossible, match="try again after 2026-01-01T00:0"):
            change(house, WIDE)
    house.jump(1)
    change(house, WIDE)
    assert settings(house).window_ticks == WIDE.window_ticks


def test_a_withdrawn_post_counts_as_an_arrival(house):
    receipt = house.admit()
    house.gateway.receipts.withdraw(receipt.secret)
    pause(house)
    with pytest.raises(NotPossible, match="try again after"):
        change(house, WIDE)
    house.jump(ALL_GONE)
    change(house, WIDE)


def test_what_was_counted_in_ticks_is_counted_anew(house):
    """Decisions of accounts hold from the same moment on, rounded up."""
    house.change(
        lambda transaction: transaction.tell(
            "insert_space",
            name="free",
            title="free",
            circle="all",
            outlet='{"kind": "feed"}',
            adoption="opt-out",
        )
    )
    text = house.gateway.catalog.space("talk").version.text
    house.change(
        lambda transaction: (
            transaction.tell("insert_version", space="free", version=1, policy=text, first_tick=7),
            transaction.tell("count_change"),
        )
    )
    keys, clock = house.gateway.keys, house.clock
    tick = house.change(lambda t: adopt_delays(t, keys, clock, "free", actor="ann", delayed=False))
    far = {"since": 0, "until": tick + 86_400, "resumes": tick + 86_400}
    house.change(lambda t: t.tell("lock_out", account=keys.login("somebody"), **far))
    house.admit_many(["ann"])
    house.jump(3 * 3600)
    pause(house, *SPACES, "free")
    changed = change(house, COARSE, free=COARSE)

    (row,) = house.rows("adoptions")
    assert row["first_tick"] == -(-tick // 420)
    first = {(each["space"], each["version"]): each["first_tick"] for each in house.rows("versions")}
    assert first["free", 1] == 1
    assert first["talk", 2] == changed["talk"].first_tick == -(-house.clock.wall // 420_000_000)
    assert [house.rows(table) for table in ("hours", "outlook", "lockouts")] == [[], [], []]


def test_a_store_that_was_brought_back_is_resumed_first(house):
    pause(house)
    house.change(lambda transaction: transaction.tell("pause", paused=1))
    with pytest.raises(NotPossible, match="run tarry resume first"):
        change(house, WIDE)


@pytest.mark.parametrize("policy", [COARSE, WIDE], ids=["tick", "window"])
def test_receipts_and_keys_are_known_as_long_as_was_promised(house, policy):
    """A request that comes again is no second post, whatever has become of the ticks."""
    asked = Submission(
        space="talk",
        posts=[Post(actor="ann", target="p1", outlet="", content=b"once")],
        key="a1",
        sender=b"a token",
        body=b"a body",
    )
    ((first,),) = house.gateway.admit([asked])
    house.jump(ALL_GONE)
    (told,) = Feed(house.store, "talk").latest()
    pause(house)
    house.jump(2 * 3600)
    change(house, policy)
    pause(house, is_open=True)
    ((again,),) = house.gateway.admit([asked])
    late = again.status.release_at - told.at // 1_000_000

    assert again.secret == first.secret
    assert again.status.state == "released"
    assert 0 <= late < policy.tick
    assert house.gateway.receipts.status(first.secret) == again.status
    house.jump(8 * 86_400)
    assert house.rows("posts") == []


def test_every_server_counts_in_the_new_ticks_once_it_has_read_the_book(house):
    """Also one that releases nothing, and so never asks for the time."""
    pause(house)
    change(house, COARSE)

    assert house.gateway.vault.settings == settings(house)


def test_a_policy_that_was_replaced_at_once_still_reaches_on(house):
    """Its last posts may have come a moment before those of the next one."""
    long = Policy(epsilon="1", gap="1h", window="10s")
    for policy in (long, POLICY):
        house.change(
            lambda t, policy=policy: change_policy(t, house.clock, "talk", policy, accept_straddle=True)
        )
    begun = house.clock.wall // 1_000_000
    house.jump(1)
    house.admit()
    pause(house)
    house.jump(ALL_GONE)
    house.jump(begun + quiet_ticks(long, WIDE) - 1 - house.clock.wall // 1_000_000)
    with pytest.raises(NotPossible, match="try again after 2026-01-01T01:0"):
        change(house, WIDE)
    house.jump(2)
    change(house, WIDE)


def test_after_other_ticks_the_next_change_pauses_no_longer_than_before(house):
    """What was counted in short ticks is not taken for long ones."""
    pause(house)
    change(house, COARSE)
    slower = Policy(epsilon="1", gap="2h", window="10m", tick="7m")
    version = house.change(lambda t: change_policy(t, house.clock, "talk", slower))
    now = -(-house.clock.wall // 420_000_000)

    assert version.first_tick == now + quiet_ticks(COARSE, slower)
