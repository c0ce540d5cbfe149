"""Ending a space: nothing more comes in, what waits leaves, and its rows go when nobody needs them."""

import pytest

from contracts.house import ALL_GONE, KINDS, POLICY, House, new_database
from tarry.core.errors import NotPossible
from tarry.core.policy import Policy
from tarry.gateway.catalog import NoSuchSpace, read_catalog
from tarry.gateway.gateway import Submission
from tarry.gateway.policy_changes import change_all_policies, change_policy
from tarry.gateway.space_changes import add_space, end_space, open_space, remove_space
from tarry.gateway.testing import new_token
from tarry.keep.errors import Paused
from tarry.keep.posts import Post

WEEK_S = 7 * 24 * 3600
TABLES = ("posts", "arrivals", "ledger", "spaces", "versions", "releases", "tokens")


@pytest.fixture(params=KINDS)
def house(request, tmp_path):
    house = House(new_database(request, request.param, tmp_path), spaces=("talk", "reviews"))
    yield house
    house.store.close()


def end(house, name="talk"):
    return house.change(lambda transaction: end_space(transaction, house.clock, name))


def remove(house, name="talk"):
    house.change(lambda transaction: remove_space(transaction, house.clock, name))


def hand_in(house, key=None, space="talk"):
    post = Post(actor="bob", target="p9", outlet="", content=b"again")
    (answer,) = house.gateway.admit([Submission(space=space, posts=[post], key=key, body=b"again")])
    return answer


def test_an_ended_space_takes_nothing_in_and_lets_out_what_waits(house):
    receipt = house.admit(content=b"before")
    end(house)
    refusal = hand_in(house)
    house.jump(ALL_GONE)

    assert isinstance(refusal, Paused)
    assert str(refusal) == "space 'talk' has ended and takes no more posts: use another space"
    assert house.state(receipt) == "released"
    assert house.feed() == [b"before"]
    assert isinstance(hand_in(house, space="reviews"), list)


def test_what_was_accepted_before_the_end_is_known_when_it_comes_again(house):
    """A client whose answer was lost asks again: it must not take its post for refused."""
    (first,) = hand_in(house, key="k")
    end(house)
    (again,) = hand_in(house, key="k")

    assert again.secret == first.secret


def test_it_is_not_opened_again_and_gets_no_other_policy(house):
    end(house)
    other = Policy(epsilon="2", gap="30s", window="10s")

    for change in (
        lambda transaction: open_space(transaction, "talk", is_open=True),
        lambda transaction: change_policy(transaction, house.clock, "talk", other),
    ):
        with pytest.raises(
            NotPossible, match=r"space 'talk' has ended: make a new one with tarry space add"
        ):
            house.change(change)
    with pytest.raises(NotPossible, match="has ended already"):
        end(house)


def test_a_space_goes_only_when_nothing_of_it_can_be_asked_for(house):
    with pytest.raises(NotPossible, match="has not ended: run tarry space end talk first"):
        remove(house)
    house.admit()
    end(house)
    with pytest.raises(NotPossible, match="posts of 'talk' wait or are parked"):
        remove(house)
    house.jump(ALL_GONE)
    with pytest.raises(NotPossible, match=r"asked for or compared: try again after 2026-01-08T00:0"):
        remove(house)
    house.jump(WEEK_S)
    remove(house)
    with pytest.raises(NoSuchSpace):
        house.gateway.catalog.space("talk")


def test_a_space_without_posts_goes_when_no_promise_reaches_back_to_it(house):
    end(house)
    reach = POLICY.start_ticks(POLICY.gap) + 1
    house.jump(reach - 2)
    with pytest.raises(NotPossible, match="try again after"):
        remove(house)
    house.jump(3)
    remove(house)


def test_a_gateway_keeps_one_space(house):
    for name in ("talk", "reviews"):
        end(house, name)
    house.jump(WEEK_S)
    remove(house)

    with pytest.raises(NotPossible, match="'reviews' is the only one"):
        remove(house, "reviews")


def test_its_rows_go_and_those_of_other_spaces_stay(house):
    for space in ("talk", "reviews"):
        house.admit("ann", "p1", space=space)
        house.admit("ann", "p2", space=space)  # batched: the ledger counts them
    house.jump(ALL_GONE)
    tokens = [new_token(house.gateway, spaces=spaces) for spaces in (("talk",), ("talk", "reviews"), ())]
    before = {table: house.rows(table) for table in TABLES}
    end(house)
    house.jump(WEEK_S)
    remove(house)
    after = {table: house.rows(table) for table in TABLES}

    assert {row["period"] for row in before["ledger"]} == {"talk 1", "reviews 1"}
    assert {row["period"] for row in after["ledger"]} == {"reviews 1"}
    assert {row["space"] for row in after["releases"]} == {"reviews"}
    assert [row["name"] for row in after["spaces"]] == ["reviews"]
    assert [row["space"] for row in after["versions"]] == ["reviews"]
    assert len(tokens) == 3
    good = sorted(sorted(token.spaces) for token in house.gateway.catalog.tokens.values())
    assert good == [[], ["reviews"]]  # the one for talk alone is good for nothing, and not for everything


def test_a_new_space_of_its_name_begins_anew(house):
    house.admit(content=b"old")
    house.jump(ALL_GONE)
    end(house)
    house.jump(WEEK_S)
    remove(house)
    house.change(lambda t: add_space(t, house.gateway.keys, house.clock, "talk", POLICY))
    house.admit(content=b"new")
    house.jump(ALL_GONE)

    assert house.feed() == [b"new"]
    assert house.gateway.catalog.space("talk").version.number == 1


def test_its_end_is_counted_in_new_ticks_when_they_change(house):
    ended = end(house)
    house.change(lambda transaction: open_space(transaction, "reviews", is_open=False))
    coarse = Policy(epsilon="1", gap="1h", window="10m", tick="1m")
    house.jump(WEEK_S)
    policies = {"talk": coarse, "reviews": coarse}
    house.change(lambda t: change_all_policies(t, house.gateway.keys, house.clock, policies))

    with house.store.transaction("reading") as transaction:
        moved = read_catalog(transaction).space("talk").ended_tick
    assert moved == -(-ended.ended_tick // 60)
