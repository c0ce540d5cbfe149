"""A store that was brought back: what may have left is parked, once, and nothing else is."""

import pytest

from contracts.house import ALL_GONE, KINDS, House, new_database
from tarry.core import plugins
from tarry.core.errors import NotPossible
from tarry.core.policy import Policy
from tarry.gateway.backup import back_up, may_have_left, resume


@pytest.fixture(params=KINDS)
def house(request, tmp_path):
    house = House(new_database(request, request.param, tmp_path))
    yield house
    house.store.close()


@pytest.fixture
def bring_back(tmp_path):
    """The gateway as of a backup made now, in place of its database."""
    houses = []

    def do(house):
        path = tmp_path / f"backup-{len(houses)}.db"
        back_up(house.store, path)
        houses.append(House(str(path), house.clock, spaces=()))
        return houses[-1]

    yield do
    for house in houses:
        house.store.close()


def listed(house):
    with house.store.transaction("reading") as transaction:
        return may_have_left(transaction, house.clock)


def resumed(house):
    return house.change(lambda transaction: resume(transaction, house.gateway.keys, house.clock))


def test_what_has_left_since_the_backup_is_parked_and_never_published_twice(house, bring_back):
    receipts = [house.admit(f"a{n}", f"p{n}", b"%d" % n) for n in range(6)]
    house.jump(11)  # all labels are known
    left = sorted(house.feed())
    old = bring_back(house)
    assert [house.state(receipt) for receipt in receipts].count("waiting") > 0
    house.jump(ALL_GONE)
    assert len(house.feed()) == 6

    overdue, parked = listed(old), resumed(old)
    old.jump(ALL_GONE)

    assert parked == len(overdue) == 6 - len(left)
    assert sorted(old.feed()) == left
    states = [old.state(receipt) for receipt in receipts]
    assert states.count("parked") == parked
    assert states.count("released") == len(left)
    assert {each.space for each in overdue} == {"talk"}
    due = {post.post: post for post in old.gateway.parked("talk")}
    assert {each.post: each.at for each in overdue} == {number: post.at for number, post in due.items()}
    assert all("may have left: look, then retry or withdraw" in post.problem for post in due.values())


def test_what_had_no_label_yet_may_have_left_as_well(house, bring_back):
    """Its release was not known at the backup; once it is, it lies in the past."""
    receipts = [house.admit("ann", "p1"), house.admit("ann", "p2"), house.admit("bob", "p1")]
    old = bring_back(house)
    house.jump(ALL_GONE)
    assert len(house.feed()) == 3

    assert len(listed(old)) == 3
    assert resumed(old) == 3
    old.jump(ALL_GONE)
    assert old.feed() == []
    assert [old.state(receipt) for receipt in receipts] == ["parked"] * 3


def test_what_may_have_left_is_told_without_a_draw(request, tmp_path, bring_back, monkeypatch):
    """Of a law that is not coupled: whatever was drawn, it is listed from its earliest moment on."""
    monkeypatch.setitem(plugins._OURS["law"], "loose", "contracts.keeping:loose")
    policy = Policy(epsilon="1", gap="30s", window="10s", law="loose")
    house = House(new_database(request, "sqlite", tmp_path, "loose"), policy=policy)
    receipts = [house.admit(f"a{n}", f"p{n}") for n in range(6)]
    (earliest,) = {each.status.earliest for each in receipts}
    old = bring_back(house)
    house.jump(ALL_GONE)
    house.store.close()

    assert {each.at for each in listed(old)} == {earliest}  # ticks of a second
    assert len(listed(old)) == 6 == resumed(old)


def test_what_is_still_to_come_leaves_at_its_tick(house, bring_back):
    receipts = [house.admit(f"a{n}") for n in range(4)]
    house.jump(11)
    old = bring_back(house)
    before = {row["id"]: row["release"] for row in old.rows("posts") if row["state"] == "waiting"}
    assert len(before) > 1
    house.jump(5)
    due = [post for post, release in before.items() if release < house.clock.wall // 1_000_000]

    assert resumed(old) == len(due)
    after = {row["id"]: row["release"] for row in old.rows("posts") if row["state"] == "waiting"}
    assert after == {post: release for post, release in before.items() if post not in due}
    old.jump(ALL_GONE)
    assert sum(old.state(receipt) == "released" for receipt in receipts) == 4 - len(due)


def test_an_operator_retries_what_has_not_left(house, bring_back):
    house.admit(content=b"late")
    old = bring_back(house)
    house.clock.sleep(ALL_GONE)
    resumed(old)
    (parked,) = old.gateway.parked("talk")
    old.gateway.retry("talk", parked.post)
    old.jump(1)

    assert old.feed() == [b"late"]


def test_posts_come_in_again_after_it(house, bring_back):
    old = bring_back(house)
    resumed(old)
    old.admit()
    old.jump(ALL_GONE)

    assert old.feed() == [b"hello"]


def test_what_is_not_paused_is_not_resumed(house):
    receipt = house.admit()
    with pytest.raises(NotPossible, match="this gateway is not paused"):
        resumed(house)
    assert house.state(receipt) == "waiting"
