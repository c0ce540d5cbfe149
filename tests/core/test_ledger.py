"""The ledger: a plain count, overall and per pseudonym, equal to one written from the definition."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.history import History
from tarry.core.labels import label_events
from tarry.core.ledger import (
    LedgerLine,
    ledger,
    ledger_line,
    linking_cost,
    pseudonym_ledger,
    total_line,
)
from tarry.core.policy import Policy
from tarry.core.promise import promise
from tarry.core.season import Season, ladder

SHARE = Fraction(1, 4)
PROMISE = promise(Policy(epsilon="0.5", gap="11m"))
SEASON = Season(acts=60, epsilon=Fraction(4), delta=Fraction("0.01"))
COSINE = {"gap": "11m", "window": "5m", "law": "cosine", "order": "4", "season": SEASON}
IN_SEASON = promise(Policy(**COSINE, blocks=14))
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 8)), max_size=14)


def history_of(rows, name=lambda i: i, sequence=None):
    """(actor, target, tick) rows as columns."""
    return History(
        sequence=sequence,
        actor=[name(row[0]) for row in rows],
        target=[name(row[1]) for row in rows],
        time=[row[2] for row in rows],
        unit=Fraction(1),
    )


def ticks_of(history):
    """Arrival ticks of a second."""
    return history.ticks(Fraction(1))


def line(count):
    """A plain count: twelve shares of a quarter are three nats, and more are beyond the promise."""
    return LedgerLine(count, SHARE * count, beyond=count > 12)


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
    return {name: line(count) for name, count in counts.items()}


@given(ROWS, st.data())
def test_an_actor_pays_a_share_for_each_batched_event(rows, data):
    """Each actor's account is the number of their batched events, times the share; others have none."""
    marks = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    counts = {}
    for row, mark in zip(rows, marks, strict=True):
        if mark:
            counts[row[0]] = counts.get(row[0], 0) + 1
    accounts = ledger(PROMISE, history_of(rows), np.array(marks, dtype=bool))

    assert accounts == {actor: line(n) for actor, n in counts.items()}


@given(ROWS, st.integers(0, 4))
def test_a_pseudonym_pays_for_itself_and_for_who_depends_on_it(rows, window):
    """A pseudonym's account equals the definition's, under held labels."""
    history = history_of(rows)
    marks = label_events("held", history, ticks_of(history), window)

    assert pseudonym_ledger(PROMISE, history, ticks_of(history), marks, window) == spent(
        rows, marks.tolist(), window
    )


@given(ROWS, st.integers(0, 4), st.data())
def test_a_pseudonym_pays_by_any_labels(rows, window, data):
    """The same holds for labels that come from elsewhere, such as declarations."""
    marks = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    history = history_of(rows)
    found = pseudonym_ledger(PROMISE, history, ticks_of(history), np.array(marks, dtype=bool), window)

    assert found == spent(rows, marks, window)


@given(ROWS, st.integers(0, 4))
def test_no_pseudonym_pays_more_than_its_actor(rows, window):
    """What can be learned about one pseudonym is part of what can be learned about the person."""
    history = history_of(rows)
    marks = label_events("held", history, ticks_of(history), window)
    actors = ledger(PROMISE, history, marks)

    for (actor, _), account in pseudonym_ledger(PROMISE, history, ticks_of(history), marks, window).items():
        assert account.nats <= actors[actor].nats


def test_accounts_carry_the_names_of_the_history():
    """Texts stay texts: the ledger names people as the history does."""
    history = history_of([(0, 0, 0), (0, 1, 0)], name="n{}".format)
    both = np.array([True, True])

    assert set(ledger(PROMISE, history, both)) == {"n0"}
    assert set(pseudonym_ledger(PROMISE, history, ticks_of(history), both, 0)) == {
        ("n0", "n0"),
        ("n0", "n1"),
    }


@pytest.mark.parametrize(("members", "actor", "pseudonym"), [(2, 2, 2), (3, 3, 1), (6, 6, 1)])
def test_a_batch_of_m_costs_m_shares_and_not_a_share_a_pair(members, actor, pseudonym):
    """A batch of two hangs on either pseudonym; of a larger one each pays for itself alone."""
    history = history_of([(0, target, 0) for target in range(members)])
    marks = np.ones(members, dtype=bool)

    assert ledger(PROMISE, history, marks)[0].batched_events == actor
    assert pseudonym_ledger(PROMISE, history, ticks_of(history), marks, 0)[0, 0].batched_events == pseudonym


def test_twenty_pairs_at_a_half_leave_nothing():
    """Ten nats are spent by twenty pairs at epsilon 0.5, and the account says that this means nothing."""
    rows = [(0, target, 10 * i) for i in range(20) for target in (0, 1)]
    account = ledger(PROMISE, history_of(rows), np.ones(40, dtype=bool))[0]

    assert account == LedgerLine(40, Fraction(10), beyond=True)


@pytest.mark.parametrize(("count", "beyond"), [(12, False), (13, True)])
def test_above_three_nats_a_promise_says_little(count, beyond):
    """The line lies at three nats."""
    assert ledger_line(PROMISE, count).beyond == beyond


def test_nobody_batched_spends_nothing():
    """Empty accounts are not listed."""
    history = history_of([(0, 0, 0)])

    assert ledger(PROMISE, history, np.array([False])) == {}
    assert pseudonym_ledger(PROMISE, history, ticks_of(history), np.array([False]), 5) == {}


def test_a_follower_s_partners_are_the_earlier_ones():
    """Under look-back labels the first of a burst pays for the second, whatever comes after it."""
    history = history_of([(1, 7, 0), (1, 8, 1), (1, 9, 2)])
    marks = label_events("follower", history, ticks_of(history), 1)
    found = pseudonym_ledger(PROMISE, history, ticks_of(history), marks, 1, rule="follower")

    assert {name: account.batched_events for name, account in found.items()} == {
        (1, 7): 1,
        (1, 8): 2,
        (1, 9): 1,
    }


# --- many rows at once ----------------------------------------------------------------------------


@given(ROWS, st.integers(0, 4), st.data())
def test_a_pseudonym_s_followers_pay_by_any_labels(rows, window, data):
    """Look-back: the partners of an event are the earlier rows of its actor, in the order of arrival."""
    marks = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    rows.sort(key=lambda row: row[2])
    expected = {}
    for place, (x, mark) in enumerate(zip(rows, marks, strict=True)):
        if not mark:
            continue
        earlier = [y for y in rows[:place] if y[0] == x[0] and x[2] - y[2] <= window]
        partners = {y[1] for y in earlier if y[1] != x[1]}
        for target in [x[1], *(partners if len(partners) == 1 else ())]:
            expected[x[0], target] = expected.get((x[0], target), 0) + 1
    history = history_of(rows, sequence=list(range(len(rows))))
    found = pseudonym_ledger(
        PROMISE, history, ticks_of(history), np.array(marks, dtype=bool), window, rule="follower"
    )

    assert {name: each.batched_events for name, each in found.items()} == expected


# --- a season -------------------------------------------------------------------------------------


def test_in_a_season_losses_cancel():
    """A season's acts cost what it states; by what one alone may cost they would be far more."""
    acts = ledger_line(IN_SEASON, 60, exact=True)

    assert acts.nats <= SEASON.epsilon
    assert 60 * IN_SEASON.share > 3 * acts.nats
    assert (acts.beyond, ledger_line(IN_SEASON, 61).beyond) == (False, True)


def test_a_line_is_never_below_the_exact_one():
    """By the ladder and the wide grid a little more is charged, never less."""
    for count in (1, 2, 7, 64, 65, 99, 1000):
        rough, exact = ledger_line(IN_SEASON, count), ledger_line(IN_SEASON, count, exact=True)
        assert exact.nats <= rough.nats <= Fraction(11, 10) * exact.nats + Fraction(1, 50)


def test_a_season_does_not_begin_anew_because_a_policy_does():
    """Forty acts under each of two versions cost as eighty: more than the season allows."""
    other = promise(Policy(**COSINE, blocks=15))
    total = total_line({IN_SEASON: 40, other: 40})

    assert (total.batched_events, total.beyond) == (80, True)
    assert ledger_line(other, 80, exact=True).nats < total.nats < 2 * ledger_line(IN_SEASON, 40).nats
    assert not total_line({IN_SEASON: 30, other: 20}).beyond


def test_whoever_is_at_the_end_of_a_season_is_not_beyond_it():
    """Where the ladder could make the difference, the counts themselves are taken."""
    twin = promise(Policy(**{**COSINE, "labels": "simultaneous", "window": "0s"}, blocks=14))

    assert not total_line({IN_SEASON: 30, twin: 30}).beyond


def test_acts_outside_a_season_add_their_share():
    """A policy with a constant loss is a factor like any other."""
    alone = ledger_line(IN_SEASON, 30)
    total = total_line({IN_SEASON: 30, PROMISE: 4})

    assert total.nats == alone.nats + 4 * SHARE
    assert total_line({IN_SEASON: 0, PROMISE: 4}) == ledger_line(PROMISE, 4)
    assert total_line({}) == LedgerLine(0, Fraction(0), beyond=False)


def test_two_pseudonyms_cost_the_smaller_ledger():
    """All acts of either may be given to somebody else: the cheaper story bounds the claim."""
    rows = [(0, target, 10 * i) for i in range(3) for target in (0, 1)] + [(0, 2, 20)]
    history = history_of(rows)
    marks = label_events("held", history, ticks_of(history), 5)
    lines = pseudonym_ledger(IN_SEASON, history, ticks_of(history), marks, 5)

    assert [lines[0, target].batched_events for target in (0, 1, 2)] == [5, 5, 1]
    assert linking_cost(lines[0, 0], lines[0, 2]) == lines[0, 2]


def test_ten_thousand_actors_take_few_sums():
    """Counts go up a ladder, so up to 5,000 acts are at most 150 sums, whoever has them."""
    counts = np.arange(10_000) * 5003 % 5000 + 1
    rungs = {min(rung for rung in ladder() if rung >= count) for count in set(counts.tolist())}

    assert len(rungs) <= 150
    history = History(
        actor=np.repeat(np.arange(100), counts[:100]),
        target=np.zeros(counts[:100].sum(), dtype=np.int64),
        time=np.arange(counts[:100].sum()),
        unit=Fraction(1),
    )
    lines = ledger(IN_SEASON, history, np.ones(counts[:100].sum(), dtype=bool))

    assert [lines[actor].batched_events for actor in range(100)] == counts[:100].tolist()
    assert len({line.nats for line in lines.values()}) <= 150
