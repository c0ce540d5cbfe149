"""Families: what spends another one's coin has its target and goes after it; all others are strangers."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from contracts.node_server import coin_of, make_transaction
from tarry.core.errors import BadInput
from tarry.places.bitcoin.transaction import Queued, arrange, read_transaction


def made(*coins, **what):
    return read_transaction(make_transaction(*coins, **what).encode())


def child(*parents, index=0):
    return made(*(coin_of(parent.raw.hex(), index) for parent in parents))


def lines(placed):
    """Whom everybody follows, by name."""
    return {each.transaction.txid: [one.txid for one in each.line] for each in placed}


def test_strangers_are_targets_of_their_own():
    """Whatever was handed in together: any two of them count as batched."""
    one, two = made(1), made(2)

    assert [(each.target, each.after) for each in arrange([one, two], [])] == [
        (one.txid, None),
        (two.txid, None),
    ]


def test_a_named_target_is_everybodys():
    """Its owner says that they belong together."""
    assert {each.target for each in arrange([made(1), made(2)], [], "rent")} == {"rent"}


def test_a_child_follows_its_parent_in_whatever_order_they_come():
    """Everybody can see that they belong together."""
    parent = made(1)
    last = child(middle := child(parent))

    placed = arrange([last, parent, middle], [])
    assert lines(placed) == {
        parent.txid: [],
        middle.txid: [parent.txid],
        last.txid: [parent.txid, middle.txid],
    }
    assert {each.target for each in placed} == {parent.txid}


def test_a_child_of_a_waiting_one_has_its_target():
    """And only that: another one would split one act in two."""
    parent = made(1)
    queue = [Queued(parent, "rent"), Queued(made(9), "other")]

    (placed,) = arrange([child(parent)], queue)
    assert (placed.target, placed.after) == ("rent", parent.txid)
    assert arrange([child(parent)], queue, "rent") == [placed]
    with pytest.raises(BadInput, match="a transaction must have the target of what it spends"):
        arrange([child(parent)], queue, "mine")


def test_siblings_follow_one_parent():
    """Each spends a coin of its own."""
    parent = made(1, values=(5, 6))
    placed = arrange([child(parent), child(parent, index=1)], [Queued(parent, "rent")])

    assert [each.after for each in placed] == [parent.txid] * 2


def test_two_parents_in_one_row_are_one_line():
    """The later of them is the one to wait for."""
    first = made(1, values=(5, 6))
    second = child(first)
    both = made(coin_of(first.raw.hex(), 1), coin_of(second.raw.hex()))
    queue = [Queued(first, "rent"), Queued(second, "rent", after=first.txid)]

    for known, given_now in ((queue, [both]), (queue[:1], [both, second]), ([], [both, second, first])):
        assert lines(arrange(given_now, known))[both.txid] == [first.txid, second.txid]


def test_two_parents_side_by_side_are_refused():
    """One post waits for one other; and they had two targets so far."""
    one, two = made(1), made(2)
    for queue, now in (([Queued(one, "a"), Queued(two, "b")], []), ([], [one, two])):
        with pytest.raises(
            BadInput, match="spends from 2 that wait side by side: send it when all but one"
        ):
            arrange([*now, child(one, two)], queue)


def test_a_child_of_a_parked_one_is_refused():
    """Nobody knows whether that will ever leave."""
    with pytest.raises(BadInput, match="spends from one that is parked: tarry repeat that one first"):
        arrange([child(parent := made(1))], [Queued(parent, "rent", waits=False)])


@pytest.mark.parametrize(
    ("waits", "told"), [(True, "a transaction waits already"), (False, "is parked already")]
)
def test_the_same_one_twice_is_refused(waits, told):
    """At once, or while the first waits; another witness makes no other transaction."""
    again = made(1, script="", witnesses=[["aa"]])
    with pytest.raises(BadInput, match="is given twice"):
        arrange([made(1), made(1)], [])
    with pytest.raises(BadInput, match=told):
        arrange([again], [Queued(made(1, script="", witnesses=[["bb"]]), "rent", waits=waits)])


def test_two_that_spend_one_coin_are_refused():
    """Only one of them can ever be mined."""
    one, other = made(1, 2), made(2, 3)
    for queue, now, told in (
        ([], [one, other], "two of the given transactions spend the same coin: send one of the two"),
        ([Queued(one, "a")], [other], "another in the queue spends: withdraw that one first"),
        ([Queued(one, "a", id="3fa8")], [other], "another in the queue spends, 3fa8: tarry withdraw 3fa8"),
    ):
        with pytest.raises(BadInput, match=told):
            arrange(now, queue)


def test_a_parent_does_not_come_after_its_child():
    """The child would leave on its own, and be refused."""
    with pytest.raises(BadInput, match="withdraw that one first, and send both together"):
        arrange([parent := made(1)], [Queued(child(parent), "rent")])


@given(data=some.data(), count=some.integers(1, 7))
def test_in_every_family_parents_go_first_and_share_the_target(data, count):
    """Any forest, of which any beginning waits already, in any order."""
    everybody, parents = [], {}
    for number in range(count):
        parent = data.draw(some.none() | some.sampled_from(everybody)) if everybody else None
        each = made(number + 1) if parent is None else made(coin_of(parent.raw.hex(), number))
        everybody.append(each)
        parents[each.txid] = parent and parent.txid
    waiting = data.draw(some.integers(0, count))
    queue = [Queued(each.transaction, each.target, each.after) for each in arrange(everybody[:waiting], [])]
    placed = arrange(data.draw(some.permutations(everybody[waiting:])), queue)

    targets = {each.transaction.txid: each.target for each in (*queue, *placed)}
    seen = {each.transaction.txid for each in queue}
    for each in placed:
        parent = parents[each.transaction.txid]
        assert each.after == parent
        assert parent is None or parent in seen
        assert each.target == (each.transaction.txid if parent is None else targets[parent])
        seen.add(each.transaction.txid)
    assert len(seen) == count
