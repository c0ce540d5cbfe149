"""Labels: the vectorised labeller equals one written from the definitions, event by event."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tarry.core.history import History
from tarry.core.labels import label_events, partner_distance

FAR = np.iinfo(np.int64).max
RULES = ("held", "simultaneous", "follower", "declared", "none")
NAMES = {
    "numbers": lambda i: i,
    "texts": lambda i: f"name {i}",
    "far numbers": lambda i: (-1) ** i * (2**62 + i),
}


def batched(rule, rows, window):
    """The label of every row by definition; a row is (actor, target, tick, declared, sequence)."""
    return [_is_batched(rule, x, rows, window) for x in rows]


def _is_batched(rule, x, rows, window):
    near = [y for y in rows if y[0] == x[0] and abs(y[2] - x[2]) <= window]
    follows = any(y[1] != x[1] and y[4] < x[4] for y in near)
    if rule == "held":
        return any(y[1] != x[1] for y in near)
    if rule == "simultaneous":
        return any(y[1] != x[1] and y[2] == x[2] for y in rows if y[0] == x[0])
    if rule == "follower":
        return follows
    if rule == "declared":
        return follows or any(y[3] and y[4] <= x[4] for y in near)
    return False


def admitted(events, priorities):
    """Events with a sequence: by tick, and by priority inside a tick."""
    order = sorted(range(len(events)), key=lambda i: (events[i][2], priorities[i]))
    sequence = dict(zip(order, range(len(events)), strict=True))
    return [(*event, sequence[i]) for i, event in enumerate(events)]


@st.composite
def histories(draw, most=12):
    """Rows in any order, with ties and bursts on one target."""
    event = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-3, 9), st.booleans())
    events = draw(st.lists(event, max_size=most))
    return admitted(events, draw(st.permutations(range(len(events)))))


def as_history(rows, name=NAMES["numbers"], *, sequence=True):
    """The rows as columns, with ticks for times."""
    return History(
        actor=[name(row[0]) for row in rows],
        target=[name(row[1]) for row in rows],
        time=[row[2] for row in rows],
        unit=Fraction(1),
        declared=[row[3] for row in rows],
        sequence=[row[4] for row in rows] if sequence else None,
    )


def labels(rule, rows, window, name=NAMES["numbers"]):
    """What the library says."""
    history = as_history(rows, name)
    return label_events(rule, history, history.times, window).tolist()


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("rule", RULES)
@given(rows=histories(), window=st.integers(0, 5))
def test_labels_equal_the_definitions(rule, name, rows, window):
    """Every rule labels every small history as its definition does, whatever the names."""
    assert labels(rule, rows, window, name) == batched(rule, rows, window)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rule", RULES)
def test_labels_equal_the_definitions_on_larger_histories(rule, seed):
    """The same holds for hundreds of events with many ties, bursts and long chains."""
    rng = np.random.default_rng(seed)
    events = zip(
        rng.integers(0, 6, 400).tolist(),
        rng.integers(0, 4, 400).tolist(),
        (rng.integers(0, 300, 400) // 3).tolist(),
        (rng.random(400) < 0.05).tolist(),
        strict=True,
    )
    rows = admitted(list(events), rng.permutation(400).tolist())

    for window in (0, 1, 3, 20):
        assert labels(rule, rows, window) == batched(rule, rows, window)


@pytest.mark.parametrize("rule", RULES)
@given(rows=histories(), window=st.integers(0, 5), random=st.randoms(use_true_random=False))
def test_labels_do_not_depend_on_row_order(rule, rows, window, random):
    """Shuffling the rows shuffles the labels with them."""
    order = random.sample(range(len(rows)), len(rows))
    here = labels(rule, rows, window)

    assert labels(rule, [rows[i] for i in order], window) == [here[i] for i in order]


@pytest.mark.parametrize("rule", ["follower", "declared"])
@given(rows=histories(), window=st.integers(0, 5))
def test_without_admissions_the_sequence_of_the_history_counts(rule, rows, window):
    """Where no order of admission is given, labels follow the history's own."""
    history = as_history(rows, sequence=False)
    told = [(*row[:4], place) for row, place in zip(rows, history.sequences.tolist(), strict=True)]

    assert label_events(rule, history, history.times, window).tolist() == batched(rule, told, window)


@given(rows=histories(), window=st.integers(0, 5))
def test_partnership_is_mutual(rows, window):
    """Under held labels nobody is batched alone: a batched event has a batched partner."""
    marks = labels("held", rows, window)
    for row, mark in zip(rows, marks, strict=True):
        partners = [
            other
            for y, other in zip(rows, marks, strict=True)
            if y[0] == row[0] and y[1] != row[1] and abs(y[2] - row[2]) <= window
        ]

        assert mark == any(partners) == all([mark, *partners])


@given(rows=histories(), window=st.integers(0, 5))
def test_who_follows_is_batched_under_every_rule_with_a_window(rows, window):
    """A follower is batched under held and under declared labels too."""
    follower = labels("follower", rows, window)

    for rule in ("held", "declared"):
        assert all(labels(rule, rows, window)[i] for i, mark in enumerate(follower) if mark)


@pytest.mark.parametrize("rule", ["held", "follower", "declared"])
@given(rows=histories(), window=st.integers(0, 5))
def test_a_longer_window_takes_no_label_away(rule, rows, window):
    """What is batched with a window stays so with a longer one."""
    wider = labels(rule, rows, window + 1)

    assert all(wider[i] for i, mark in enumerate(labels(rule, rows, window)) if mark)


@given(rows=histories())
@example(rows=[(0, 0, 0, False, 0), (0, 1, 0, False, 1), (0, 0, 1, False, 2)])
def test_partner_distance_is_that_of_the_nearest_partner(rows):
    """The smaller of both sides is the distance to the nearest event of the actor on another target."""
    history = as_history(rows)
    before, after = partner_distance(history, history.times)
    nearest = [
        min((abs(y[2] - x[2]) for y in rows if y[0] == x[0] and y[1] != x[1]), default=FAR) for x in rows
    ]

    assert np.minimum(before, after).tolist() == nearest


@given(rows=histories())
def test_partner_distance_tells_before_from_after(rows):
    """Each side is the distance to the nearest partner there; partners in the same tick are on either."""
    history = as_history(rows)
    sides = partner_distance(history, history.times)
    for i, x in enumerate(rows):
        apart = [y[2] - x[2] for y in rows if y[0] == x[0] and y[1] != x[1]]
        if 0 in apart:
            continue
        expected = [
            min((-d for d in apart if d < 0), default=FAR),
            min((d for d in apart if d > 0), default=FAR),
        ]

        assert [int(side[i]) for side in sides] == expected


@given(rows=histories(), window=st.integers(0, 8))
def test_rows_that_are_in_order_already_get_the_same_labels(rows, window):
    """Sorting by actor and time first, which spares a sort inside, changes no label."""
    order = sorted(range(len(rows)), key=lambda i: (rows[i][0], rows[i][2]))
    ordered = labels("held", [rows[i] for i in order], window)

    assert ordered == [labels("held", rows, window)[i] for i in order]


def test_the_last_of_a_batch_is_batched_under_held_labels():
    """Held labels look to both sides: the later of two posts has its partner behind it."""
    assert labels("held", [(0, 0, 0, False, 0), (0, 1, 5, False, 1)], 5) == [True, True]


def test_bursts_are_not_merged():
    """Of three posts on one target only those near a post elsewhere are batched: no chain is closed."""
    burst = [(0, 0, 0, False, 0), (0, 0, 5, False, 1), (0, 0, 10, False, 2), (0, 1, 15, False, 3)]

    assert labels("held", burst, 5) == [False, False, True, True]


def test_a_burst_on_one_target_alone_is_not_batched():
    """Posts on one target are no batch however many and close they are."""
    assert labels("held", [(0, 0, 0, False, i) for i in range(6)], 9) == [False] * 6


def test_the_window_includes_its_end():
    """Exactly the window apart is batched, a tick more is not."""
    pair = [(0, 0, 0, False, 0), (0, 1, 7, False, 1)]

    assert [labels("held", pair, window)[0] for window in (6, 7)] == [False, True]


def test_in_one_tick_the_order_of_admission_tells_who_follows():
    """Follower labels leave the first admitted of a tick unbatched, whichever row it is in."""
    tick = [(0, 0, 4, False, 8), (0, 1, 4, False, 3), (0, 2, 4, False, 5)]

    assert labels("follower", tick, 0) == [True, False, True]


def test_a_declaration_reaches_one_window_and_one_person():
    """After "more to come" the author's posts of the next window are batched, and no others."""
    rows = [(0, 0, 0, True, 0), (0, 0, 4, False, 1), (0, 0, 5, False, 2), (1, 1, 5, False, 3)]

    assert labels("declared", rows, 4) == [True, True, False, False]


def test_a_declaration_does_not_reach_back():
    """A post admitted before the declaration is not batched by it."""
    assert labels("declared", [(0, 0, 0, False, 0), (0, 0, 0, True, 1)], 3) == [False, True]


@pytest.mark.parametrize("rule", RULES)
def test_an_empty_history_has_no_labels(rule):
    """No events, no labels, no error."""
    assert labels(rule, [], 3) == []
