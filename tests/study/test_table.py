"""The event table: one order for any order of rows, filters that leave out what they say."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.pair_loop import EVENTS, table_of_rows
from tarry.core.entropy import stable_code
from tarry.core.errors import BadInput, NotPossible
from tarry.readers.frames import read_frame
from tarry.study import table as module
from tarry.study.table import EventTable, event_table, table_of

SECOND = 1_000_000
some = settings(max_examples=60)


def rows_of(table):
    """(actor, target, time), in the table's order."""
    return list(zip(table.actor.tolist(), table.target.tolist(), table.time.tolist(), strict=True))


def signed(name):
    """The stable number of a name, as a table holds it."""
    return int(np.uint64(stable_code(name)).astype(np.int64))


def frame_of(**columns):
    """Columns as a reader gives them; seconds since 1970 as times."""
    size = len(next(iter(columns.values())))
    usual = {"target": list(range(size)), "time": [1_600_000_000 + i for i in range(size)]}
    return read_frame(pl.DataFrame({**usual, **columns}))


@some
@given(rows=EVENTS, seed=st.integers(0, 99))
def test_a_table_is_the_same_in_any_order_of_rows(rows, seed):
    """Sorted by actor, time and target; `row` leads back to what was given."""
    table = table_of_rows(rows)
    places = np.random.default_rng(seed).permutation(len(rows)).tolist()

    assert rows_of(table) == sorted(rows, key=lambda row: (row[0], row[2], row[1]))
    assert rows_of(table_of_rows([rows[i] for i in places])) == rows_of(table)
    assert [rows[i] for i in table.row.tolist()] == rows_of(table)
    assert sorted(table.row.tolist()) == list(range(len(rows)))


@some
@given(rows=EVENTS)
def test_a_table_counts_its_actors_targets_and_candidates(rows):
    """Candidates are unordered pairs of rows on different targets."""
    table = table_of_rows(rows)
    targets = [target for _, target, _ in rows]
    candidates = sum(a != b for i, a in enumerate(targets) for b in targets[:i])

    assert (len(table), table.actors, table.targets) == (
        len(rows),
        len({row[0] for row in rows}),
        len(set(targets)),
    )
    assert table.candidate_pairs == candidates


@some
@given(rows=EVENTS)
def test_ranks_tell_names_apart_and_leave_no_number_out(rows):
    table = table_of_rows(rows)
    for names, ranks in ((table.actor, table.actor_rank), (table.target, table.target_rank)):
        assert ranks.tolist() == np.unique(names, return_inverse=True)[1].tolist()


@some
@given(rows=EVENTS, most=st.integers(1, 20))
def test_filters_leave_out_what_they_say(rows, most):
    """Repeated events, busy actors, and what lies outside a stretch of time."""
    table = table_of_rows(rows)
    events = {actor: sum(row[0] == actor for row in rows) for actor, _, _ in rows}
    first, last = (rows[0][2], max(time for _, _, time in rows)) if rows else (0, 0)

    assert rows_of(table.collapse()) == sorted(set(rows), key=lambda row: (row[0], row[2], row[1]))
    assert rows_of(table.without_busy(most)) == [row for row in rows_of(table) if events[row[0]] <= most]
    assert rows_of(table.between(first, last)) == [r for r in rows_of(table) if first <= r[2] < last]


@pytest.mark.parametrize("most", [0, -1])
def test_busy_begins_above_one_event(most):
    with pytest.raises(BadInput, match=f"the most events of an actor must be at least 1, not {most}"):
        table_of_rows([(1, 1, 1)]).without_busy(most)


def test_texts_become_their_stable_numbers():
    """The same whether given as columns or read from a file, so that a seed means the same for both."""
    actors, targets = ["zoë", "ann", "ann", ""], ["p1", "p2", "", "ünï"]
    given_here = event_table(actor=actors, target=targets, time=[0, 1, 2, 3])
    read = table_of(frame_of(actor=["zoë", "ann", "ann"], target=["p1", "p2", "p3"]))

    assert dict(zip(given_here.row.tolist(), given_here.actor.tolist(), strict=True)) == {
        row: signed(name) for row, name in enumerate(actors)
    }
    assert sorted(read.actor.tolist()) == sorted(map(signed, ["zoë", "ann", "ann"]))
    assert sorted(read.target.tolist()) == sorted(map(signed, ["p1", "p2", "p3"]))


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt32, pl.Int64, pl.UInt64])
def test_whole_numbers_are_names_of_their_own(kind):
    table = table_of(
        frame_of(actor=pl.Series([7, 8, 7], dtype=kind), target=pl.Series([1, 2, 3], dtype=kind))
    )

    assert sorted(table.actor.tolist()) == [7, 7, 8]
    assert table.actor.dtype == table.target.dtype == np.int64


def test_the_largest_numbers_are_told_apart():
    """Names above 2^63 are names too."""
    names = pl.Series([(1 << 64) - 1, (1 << 63), 1], dtype=pl.UInt64)

    assert table_of(frame_of(actor=names)).actors == 3


def test_categories_and_texts_are_the_same_names():
    texts = frame_of(actor=["x", "y", "x"])
    kinds = frame_of(actor=pl.Series(["x", "y", "x"], dtype=pl.Categorical))

    assert rows_of(table_of(texts)) == rows_of(table_of(kinds))


def test_one_very_long_name_makes_the_others_no_longer():
    """A thousand names beside one of a million characters: 4 GB, if all were padded to it."""
    names = [*map(str, range(1000)), "x" * 1_000_000]

    assert table_of(frame_of(actor=names)).actors == 1001


def test_two_names_with_one_number_are_refused(monkeypatch):
    """It never happens; if it did, two people would be one."""
    monkeypatch.setattr(module, "stable_code", lambda name: 5)
    with pytest.raises(BadInput, match="two names of the column actor get the same number"):
        table_of(frame_of(actor=["x", "y"]))


@pytest.mark.parametrize("far", [1 << 62, -(1 << 63), (1 << 60) + 2])
def test_times_whose_difference_would_leave_64_bits_are_refused(far):
    with pytest.raises(BadInput, match=r"times must lie within 2\^60 microseconds of 1970"):
        event_table(actor=[1, 1], target=[1, 2], time=[0, far])


@pytest.mark.parametrize(
    ("told", "bots"),
    [
        ({"is_bot": [True, False, None, True]}, "ad"),
        ({"Bot": ["yes", "no", "TRUE", ""]}, "ac"),
        ({"is_bot": [1, 0, 0, 1]}, "ad"),
        ({"is_bot": [1.0, 0.0, None, 1.0]}, "ad"),
    ],
)
def test_bots_are_those_a_column_marks(told, bots):
    """However it says yes; where it says nothing the event counts."""
    columns = frame_of(actor=["a", "b", "c", "d"], **told)
    left = table_of(columns, bots=False)

    assert sorted(left.actor.tolist()) == sorted(signed(name) for name in "abcd" if name not in bots)
    assert len(table_of(columns)) == 4


def test_unasked_bots_are_left_out_where_a_column_marks_them():
    """With a note, and never by their names alone."""
    marked = table_of(frame_of(actor=["a", "b", "c"], is_bot=[False, True, False]), bots=None)

    assert len(marked) == 2
    assert marked.notes == (
        "1 events of bots, whom the column is_bot marks, are left out (--with-bots keeps them)",
    )
    for told in ({}, {"bot": [False, False, False]}):
        plain = table_of(frame_of(actor=["SineBot", "b", "c"], **told), bots=None)
        assert (len(plain), plain.notes) == (3, ())


def test_a_column_that_says_something_else_stops_nobody_who_did_not_ask():
    columns = frame_of(actor=["a", "b"], bot=["R2D2", ""])
    told = table_of(columns, bots=None).notes

    assert told == ("the column bot does not say yes or no: bots, if any, are not left out",)
    with pytest.raises(BadInput, match="the column bot must say true or false"):
        table_of(columns, bots=False)


def test_without_such_a_column_bots_are_known_by_their_names():
    """A bot's name says so after its beginning; Bothilde and Bot are people."""
    names = ["SineBot", "tidy_bot", "Bothilde", "Bot", "ann"]
    left = table_of(frame_of(actor=names), bots=False)

    assert sorted(left.actor.tolist()) == sorted(map(signed, names[2:]))


def test_numbers_do_not_tell_who_is_a_bot():
    with pytest.raises(BadInput, match="nothing says who is a bot: actors are numbers"):
        table_of(frame_of(actor=[1, 2]), bots=False)


@pytest.mark.parametrize(
    ("options", "left"),
    [({"most": 1}, "0 are left of 4 rows"), ({"collapse": True}, "1 is left of 4 rows")],
)
def test_a_history_without_pairs_gets_one_sentence(options, left):
    columns = frame_of(actor=["a"] * 4, target=["p"] * 4, time=[1_600_000_000] * 4)
    with pytest.raises(NotPossible, match=f"at least 2 events to have pairs, and {left}"):
        table_of(columns, **options)


def test_filters_go_one_after_the_other():
    """Bots first, then the busy, then repeated events: each counts what the one before has left."""
    columns = frame_of(
        actor=["a", "a", "a", "b", "b", "c", "d"],
        target=["p", "p", "q", "p", "q", "p", "q"],
        time=[1_600_000_000] * 7,
        bot=[1, 0, 0, 0, 0, 1, 0],
    )
    left = table_of(columns, bots=False, most=2, collapse=True)

    assert sorted(left.row.tolist()) == [1, 2, 3, 4, 6]
    assert left.notes == (
        "2 events of bots are left out",
        "0 events share actor, target and time with another, and count once",
    )


def test_the_history_of_a_table_is_its_rows():
    """In the table's order, in microseconds."""
    table = table_of_rows([(2, 1, 5), (1, 9, 7)])
    history = table.history

    assert isinstance(table, EventTable)
    assert (history.actors.tolist(), history.targets.tolist(), history.times.tolist()) == (
        [1, 2],
        [9, 1],
        [7, 5],
    )
    assert table.history is history


def test_tracks_and_declarations_stay_with_their_events():
    """Through the order of the table and every filter; nothing said is no, no track is one of its own."""
    columns = frame_of(
        actor=["b", "b", "a", "a"],
        kind=["x", None, "", "y"],
        number=pl.Series([5, None, 7, 5], dtype=pl.Int32),
        more=["yes", None, "no", "TRUE"],
    )
    table = table_of(columns, track="kind", declared="more")
    left = table.keep(table.declared)

    assert [columns.frame["kind"][row] or "" for row in table.row.tolist()] == [
        {signed(name): name for name in ("x", "y", "")}[track] for track in table.track.tolist()
    ]
    assert dict(zip(table.row.tolist(), table.declared.tolist(), strict=True)) == {
        0: True,
        1: False,
        2: False,
        3: True,
    }
    assert sorted(left.row.tolist()) == [0, 3]
    assert left.history.tracks.tolist() == left.track.tolist()
    assert len(set(table_of(columns, track="number").track.tolist())) == 3


@pytest.mark.parametrize("option", ["track", "declared"])
def test_a_further_column_must_be_there(option):
    with pytest.raises(BadInput, match="there is no column 'nowhere': use target, time, actor"):
        table_of(frame_of(actor=["a", "b"]), **{option: "nowhere"})
