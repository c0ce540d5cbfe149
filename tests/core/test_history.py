"""A history: columns checked when it is made, ticks rounded up exactly, keys that ignore row order."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.entropy import event_key
from tarry.core.errors import BadInput
from tarry.core.exact import ticks_up
from tarry.core.history import History, in_order, row_order

NAMES = st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)])
TEXTS = st.sampled_from(["", "ann", "Ann", "p 1", "名", "12"])
EVENTS = st.lists(st.tuples(NAMES, NAMES, st.integers(-2, 3)), min_size=1, max_size=12) | st.lists(
    st.tuples(TEXTS, TEXTS, st.integers(-2, 3)), min_size=1, max_size=12
)


def history_of(events, **more):
    """A history of (actor, target, time) rows in seconds."""
    actor, target, time = (list(column) for column in zip(*events, strict=True))
    return History(actor=actor, target=target, time=time, unit=Fraction(1), **more)


def rearranged(events, order):
    """The events in another row order."""
    return [events[i] for i in order]


@given(
    times=st.lists(st.integers(-(10**12), 10**15), min_size=1, max_size=20),
    unit=st.fractions(Fraction(1, 10**6), 100, max_denominator=10**6),
    tick=st.fractions(Fraction(1, 1000), 3600, max_denominator=1000),
)
def test_ticks_round_up_exactly_for_any_unit(times, unit, tick):
    """Each arrival gets the tick that `ticks_up` gives its exact moment, however odd the unit."""
    history = History(actor=[0] * len(times), target=[0] * len(times), time=times, unit=unit)

    assert history.ticks(tick).tolist() == [ticks_up(time * unit, tick) for time in times]


@pytest.mark.parametrize("unit", [Fraction(1, 3), Fraction(7, 10**9), Fraction(1, 2**20), Fraction(1)])
def test_ticks_at_the_border_of_a_tick(unit):
    """A moment exactly on a tick stays there; one unit later it belongs to the next."""
    tick = 1000 * unit
    history = History(actor=[0] * 3, target=[0] * 3, time=[1999, 2000, 2001], unit=unit)

    assert history.ticks(tick).tolist() == [2, 2, 3]


@given(EVENTS)
def test_occurrences_count_equal_events_in_row_order(events):
    """Events that share actor, target and time are numbered 0, 1, 2, ... by row."""
    seen = Counter()
    expected = []
    for event in events:
        expected.append(seen[event])
        seen[event] += 1

    assert history_of(events).occurrences.tolist() == expected


@given(EVENTS)
def test_keys_are_those_of_each_event_alone(events):
    """The vector of keys holds what `event_key` gives one event, for numbers and texts."""
    history = history_of(events)
    alone = [event_key(*event, n) for event, n in zip(events, history.occurrences.tolist(), strict=True)]

    assert history.keys.tolist() == alone


@given(EVENTS)
def test_no_two_events_of_a_history_share_a_key(events):
    """Even repeated events have keys of their own."""
    assert len(set(history_of(events).keys.tolist())) == len(events)


@given(EVENTS, st.randoms(use_true_random=False))
def test_keys_do_not_depend_on_row_order(events, random):
    """Each event has the same keys in any order of rows; repeated ones share theirs out anew."""
    order = random.sample(range(len(events)), len(events))
    keys, shuffled = history_of(events).keys.tolist(), history_of(rearranged(events, order)).keys.tolist()

    assert Counter(zip(events, keys, strict=True)) == Counter(
        zip(rearranged(events, order), shuffled, strict=True)
    )


@given(EVENTS)
def test_sequences_rank_events_by_time(events):
    """Without an order of admission, events are admitted one by one in the order of their times."""
    history = history_of(events)
    times = [time for _, time in sorted(zip(history.sequences.tolist(), history.times, strict=True))]

    assert sorted(history.sequences.tolist()) == list(range(len(events)))
    assert times == sorted(times)


@given(EVENTS.map(lambda events: list(dict.fromkeys(events))), st.randoms(use_true_random=False))
def test_sequences_do_not_depend_on_row_order(events, random):
    """Distinct events keep their place in the order of admission when rows are shuffled."""
    order = random.sample(range(len(events)), len(events))
    here = dict(zip(events, history_of(events).sequences.tolist(), strict=True))
    shuffled = rearranged(events, order)

    assert dict(zip(shuffled, history_of(shuffled).sequences.tolist(), strict=True)) == here


def test_simultaneous_events_are_not_admitted_in_row_order():
    """Among equal times a hash decides, so that the order of a file tells nothing."""
    forward = history_of([(actor, 0, 0) for actor in range(50)]).sequences.tolist()

    assert forward != sorted(forward)


def test_a_given_order_of_admission_is_kept():
    """Where admissions were numbered, these numbers count."""
    assert history_of([(1, 1, 0), (1, 2, 0)], sequence=[9, 4]).sequences.tolist() == [9, 4]


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64])
def test_integer_names_of_any_width_are_the_same_name(kind):
    """A name's code is its number, whatever type a file stored it in."""
    history = History(actor=np.array([3, 7], dtype=kind), target=[1, 1], time=[0, 0])

    assert history.actor_ids.tolist() == [3, 7]
    assert history.keys.tolist() == history_of([(3, 1, 0), (7, 1, 0)]).keys.tolist()


@pytest.mark.parametrize(
    "names", [[1, "1"], ["a\0", "a"], [2**63 + 1, -1], [1.5, 2.0], [float("nan"), 1.0], [True, False]]
)
@pytest.mark.parametrize("column", ["actor", "target"])
def test_names_that_could_be_mixed_up_are_refused(names, column):
    """Mixtures, floats, booleans and texts that end in NUL could make two names one."""
    columns = {"actor": [1, 2], "target": [1, 2], column: names}

    with pytest.raises(BadInput, match=f"column {column}"):
        History(**columns, time=[0, 0])


def test_labels_compare_names_and_not_their_hashes(monkeypatch):
    """Even if every text had the same hash, two targets would stay two."""
    monkeypatch.setattr("tarry.core.lanes.stable_code", lambda name: 1)
    history = History(actor=["ann", "ann"], target=["p", "q"], time=[0, 0])

    assert len(set(history.target_ids.tolist())) == 2


@pytest.mark.parametrize("time", [[-(2**62), 2**62], [0, 2**61]])
def test_arrivals_too_far_from_zero_are_refused(time):
    """Differences of ticks stay within 63 bits."""
    history = History(actor=[1, 1], target=[1, 2], time=time, unit=Fraction(1))

    with pytest.raises(BadInput, match=r"row \d arrives 2\^61 ticks or more from tick 0"):
        history.ticks(Fraction(1))


@pytest.mark.parametrize("unit", [Fraction(0), Fraction(-1), 0.001])
def test_a_unit_is_exact_and_positive(unit):
    """A float or a unit of nothing is refused when the history is made."""
    with pytest.raises(BadInput, match="the unit of time"):
        History(actor=[1], target=[1], time=[0], unit=unit)


def test_times_beyond_63_bits_are_refused():
    """An unsigned time that would wrap is not read as a negative one."""
    with pytest.raises(BadInput, match="63 bits"):
        History(actor=[1], target=[1], time=np.array([2**63], dtype=np.uint64))


def test_a_circle_of_parents_is_refused():
    """References that lead nowhere would wait for each other for ever."""
    with pytest.raises(BadInput, match=r"the parents of row \d form a circle"):
        History(actor=[0, 1, 2], target=[0, 1, 2], time=[0, 0, 0], parent=[1, 2, 0])


def test_equal_events_that_differ_in_track_keep_their_numbers_in_any_order():
    """Occurrences follow what is known of the events, not the rows they stand in."""
    there = History(actor=[1, 1], target=[1, 1], time=[0, 0], track=["a", "b"])
    back = History(actor=[1, 1], target=[1, 1], time=[0, 0], track=["b", "a"])

    assert there.occurrences.tolist() == back.occurrences.tolist()[::-1]


def test_a_number_and_its_text_are_different_names():
    """Actor 12 and actor "12" are not mixed up."""
    assert history_of([(12, 1, 0)]).keys.tolist() != history_of([("12", 1, 0)]).keys.tolist()


def test_texts_in_object_columns_are_texts():
    """A column of Python strings, as table libraries give it, has the keys of a column of texts."""
    rows = np.array(["ann", "bob"], dtype=object)
    history = History(actor=rows, target=rows, time=[0, 1])

    assert (
        history.keys.tolist()
        == History(actor=["ann", "bob"], target=["ann", "bob"], time=[0, 1]).keys.tolist()
    )


def test_optional_columns_have_plain_defaults():
    """Without the column nothing is declared, there is no track and nobody waits for anybody."""
    history = history_of([(1, 2, 3)])

    assert history.declarations.tolist() == [False]
    assert history.tracks is None
    assert history.parents is None


@pytest.mark.parametrize("more", [{}, {"track": [], "declared": [], "sequence": [], "parent": []}])
def test_an_empty_history_is_a_history(more):
    """No events at all are fine in every column."""
    history = History(actor=[], target=[], time=[], **more)

    assert len(history) == 0
    assert history.ticks(Fraction(1)).tolist() == history.keys.tolist() == history.sequences.tolist() == []


LEAST = {"actor": [1, 2], "target": [1, 2], "time": [0, 5]}


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"target": [1]}, "column target must have 2 rows as actor has, not shape (1,)"),
        ({"time": [0, 1, 2]}, "column time must have 2 rows as actor has, not shape (3,)"),
        ({"time": [[0, 1]]}, "column time must have 2 rows as actor has, not shape (1, 2)"),
        ({"declared": [True]}, "column declared must have 2 rows as actor has, not shape (1,)"),
        ({"track": ["a"] * 5}, "column track must have 2 rows as actor has, not shape (5,)"),
        ({"time": [0.0, 1.5]}, "column time must hold whole numbers of at most 63 bits, not float64"),
        (
            {"time": [0, float("nan")]},
            "column time must hold whole numbers of at most 63 bits, not float64",
        ),
        ({"time": ["0", "1"]}, "column time must hold whole numbers of at most 63 bits, not <U1: convert"),
        ({"time": [True, False]}, "column time must hold whole numbers of at most 63 bits, not bool"),
        ({"time": [0, 2**70]}, "column time must hold whole numbers of at most 63 bits, not object"),
        ({"parent": [-1, 2]}, "column parent must name rows 0..1 or -1, not 2"),
        ({"parent": [-2, 0]}, "column parent must name rows 0..1 or -1, not -2"),
        ({"parent": [-1, 0.0]}, "column parent must hold row numbers, not float64"),
        ({"parent": [1, -1]}, "row 0 arrives before its parent: let a parent arrive no later"),
        ({"sequence": [1, 0]}, "row 0 comes after a later event in column sequence: let column sequence"),
        ({"actor": ["a", "b\0"]}, "the text in row 1 of column actor ends in NUL: remove that character"),
        ({"actor": ["a", 1]}, "column actor must hold numbers or texts, not both"),
    ],
)
def test_a_bad_column_gets_one_sentence(columns, sentence):
    """A column of the wrong length, kind or content is refused by name."""
    with pytest.raises(BadInput) as caught:
        History(**{**LEAST, **columns})

    assert str(caught.value).startswith(sentence)
    assert len(str(caught.value).splitlines()) == 1


rows = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-2, 2)), max_size=8)


def columns(rows):
    return [np.array([row[i] for row in rows], dtype=np.int64) for i in range(3)]


@given(rows=rows)
def test_rows_are_ordered_by_the_first_column_then_the_second_and_ties_stay(rows):
    """The order is that of a stable sort of whole rows."""
    assert row_order(*columns(rows)).tolist() == sorted(range(len(rows)), key=lambda i: rows[i])


@given(
    columns=st.lists(
        st.tuples(
            st.integers(-(1 << 63), 1 << 62),
            st.sampled_from([np.int64, np.uint64, np.bool_]),
            st.integers(0, 1 << 62),
        ),
        min_size=1,
        max_size=4,
    ),
    seed=st.integers(0, 99),
)
def test_numbers_of_any_size_are_ordered(columns, seed):
    """Narrow columns share a word and wide ones take several, of signed and unsigned numbers and bits."""
    draws = np.random.default_rng(seed)
    drawn = [
        (start + draws.integers(0, reach // 2 + 1, 60) * 2).astype(kind) for start, kind, reach in columns
    ]
    assert row_order(*drawn).tolist() == np.lexsort(drawn[::-1]).tolist()


@given(rows=rows)
def test_rows_are_in_order_exactly_when_sorting_changes_nothing(rows):
    """What spares the sort is true of sorted rows and of no others."""
    assert in_order(*columns(rows)) == (rows == sorted(rows))
    assert in_order(*columns(sorted(rows)))
