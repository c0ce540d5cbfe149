"""The ledger: a plain count, overall and per pseudonym, equal to one written from the definition."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.history import History
from tarry.core.labels import label_events
from tarry.core.ledger import LedgerLine, ledger, pseudonym_ledger

SHARE = Fraction(1, 4)
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 8)), max_size=14)


def history_of(rows, name=lambda i: i):
    """(actor, target, tick) rows as columns."""
    return History(
        actor=[name(row[0]) for row in rows],
        target=[name(row[1]) for row in rows],
        time=[row[2] for row in rows],
        unit=Fraction(1),
    )


def ticks_of(history):
    """Arrival ticks of a second."""
    return history.ticks(Fraction(1))


def spent(rows, marks, window):
    """Batched events that each pseudonym pays for, by definition."""
    counts = {}
    for x, mark in zip(rows, marks, strict=True):
        if not mark:
            continue
        partners = {y[1] for y in rows if y[0] == x[0] and y[1] != x[1] and abs(y[2] - x[2]) <= window}
        payers = [x[1], *(partners if len(partners) == 1 else ())]
        for target in payers:
            counts[x[0], target] = counts.get((x[0], target), 0) + 1
    return {name: LedgerLine(count, SHARE * count) for name, count in counts.items()}


@given(ROWS, st.data())
def test_an_actor_pays_a_share_for_each_batched_event(rows, data):
    """Each actor's account is the number of their batched events, times the share; others have none."""
    marks = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    counts = {}
    for row, mark in zip(rows, marks, strict=True):
        if mark:
            counts[row[0]] = counts.get(row[0], 0) + 1
    accounts = ledger(SHARE, history_of(rows), np.array(marks, dtype=bool))

    assert accounts == {actor: LedgerLine(n, SHARE * n) for actor, n in counts.items()}


@given(ROWS, st.integers(0, 4))
def test_a_pseudonym_pays_for_itself_and_for_who_depends_on_it(rows, window):
    """A pseudonym's account equals the definition's, under held labels."""
    history = history_of(rows)
    marks = label_events("held", history, ticks_of(history), window)

    assert pseudonym_ledger(SHARE, history, ticks_of(history), marks, window) == spent(
        rows, marks.tolist(), window
    )


@given(ROWS, st.integers(0, 4), st.data())
def test_a_pseudonym_pays_by_any_labels(rows, window, data):
    """The same holds for labels that come from elsewhere, such as declarations."""
    marks = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    history = history_of(rows)
    found = pseudonym_ledger(SHARE, history, ticks_of(history), np.array(marks, dtype=bool), window)

    assert found == spent(rows, marks, window)


@given(ROWS, st.integers(0, 4))
def test_no_pseudonym_pays_more_than_its_actor(rows, window):
    """What can be learned about one pseudonym is part of what can be learned about the person."""
    history = history_of(rows)
    marks = label_events("held", history, ticks_of(history), window)
    actors = ledger(SHARE, history, marks)

    for (actor, _), account in pseudonym_ledger(SHARE, history, ticks_of(history), marks, window).items():
        assert account.nats <= actors[actor].nats


def test_accounts_carry_the_names_of_the_history():
    """Texts stay texts: the ledger names people as the history does."""
    history = history_of([(0, 0, 0), (0, 1, 0)], name="n{}".format)
    both = np.array([True, True])

    assert set(ledger(SHARE, history, both)) == {"n0"}
    assert set(pseudonym_ledger(SHARE, history, ticks_of(history), both, 0)) == {("n0", "n0"), ("n0", "n1")}


@pytest.mark.parametrize(("members", "actor", "pseudonym"), [(2, 2, 2), (3, 3, 1), (6, 6, 1)])
def test_a_batch_of_m_costs_m_shares_and_not_a_share_a_pair(members, actor, pseudonym):
    """A batch of two hangs on either pseudonym; of a larger one each pays for itself alone."""
    history = history_of([(0, target, 0) for target in range(members)])
    marks = np.ones(members, dtype=bool)

    assert ledger(SHARE, history, marks)[0].batched_events == actor
    assert pseudonym_ledger(SHARE, history, ticks_of(history), marks, 0)[0, 0].batched_events == pseudonym


def test_twenty_pairs_at_a_half_leave_nothing():
    """Ten nats are spent by twenty pairs at epsilon 0.5, and the account says that this means nothing."""
    rows = [(0, target, 10 * i) for i in range(20) for target in (0, 1)]
    account = ledger(SHARE, history_of(rows), np.ones(40, dtype=bool))[0]

    assert account == LedgerLine(40, Fraction(10))
    assert account.meaningless


@pytest.mark.parametrize(("nats", "meaningless"), [(Fraction(3), False), (Fraction(3001, 1000), True)])
def test_above_three_nats_a_promise_is_meaningless(nats, meaningless):
    """The line lies at three nats."""
    assert LedgerLine(1, nats).meaningless == meaningless


def test_nobody_batched_spends_nothing():
    """Empty accounts are not listed."""
    history = history_of([(0, 0, 0)])

    assert ledger(SHARE, history, np.array([False])) == {}
    assert pseudonym_ledger(SHARE, history, ticks_of(history), np.array([False]), 5) == {}


def test_a_follower_s_partners_are_the_earlier_ones():
    """Under look-back labels the first of a burst pays for the second, whatever comes after it."""
    history = history_of([(1, 7, 0), (1, 8, 1), (1, 9, 2)])
    marks = label_events("follower", history, ticks_of(history), 1)
    found = pseudonym_ledger(SHARE, history, ticks_of(history), marks, 1, rule="follower")

    assert {name: account.batched_events for name, account in found.items()} == {
        (1, 7): 1,
        (1, 8): 2,
        (1, 9): 1,
    }
