"""Frames as columns: every kind alike, and an exact account of the rows that cannot be read."""

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.kinds import FRAMES, MOMENTS, OnlyAStream, small
from tarry.core.errors import BadInput
from tarry.readers.faults import SHOWN
from tarry.readers.frames import read_frame
from tarry.readers.times import HINT


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_reads_to_the_same_columns(kind):
    """Eager, lazy, or somebody else's that only exports a stream."""
    columns = read_frame(FRAMES[kind](small()))

    assert columns.frame.equals(small())
    assert columns.arrival.tolist() == MOMENTS
    assert columns.notes == ("times read as microseconds, by their size: 2023-11-14 to 2023-11-14",)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "", None]), st.sampled_from([7, None]), st.sampled_from([60, None])
        ),
        min_size=1,
        max_size=60,
    )
)
def test_every_row_is_read_or_accounted_for(rows):
    """No row is lost: it is in the frame, or counted and, among the first, told."""
    frame = pl.DataFrame(
        rows, schema={"actor": pl.String, "target": pl.Int64, "time": pl.Int64}, orient="row"
    )
    good = [bool(actor) and target is not None and time is not None for actor, target, time in rows]
    if not any(good):
        with pytest.raises(BadInput, match="the first fault is in row 1: "):
            read_frame(frame)
        return

    columns = read_frame(frame)

    assert columns.frame.equals(frame.filter(good))
    assert columns.arrival.tolist() == [60_000_000] * sum(good)
    assert columns.unreadable_count == len(rows) - sum(good)
    bad = [row for row, fine in enumerate(good, 1) if not fine]
    assert [fault.line for fault in columns.unreadable] == bad[:SHOWN]


def test_a_row_tells_its_first_fault():
    """Actor, then target, then time."""
    frame = pl.DataFrame(
        {"actor": ["a", None, "a", "a"], "target": ["p", None, "", "p"], "time": [1, None, None, None]}
    )

    told = [fault.reason for fault in read_frame(frame).unreadable]

    assert told == ["actor is missing", "target is missing", "time is missing"]


def test_lines_are_told_where_they_are_known():
    """Rows that came from a text keep the lines they stood on."""
    frame = pl.DataFrame({"actor": [1, None], "target": [1, 1], "time": [1, 1]})

    assert read_frame(frame, lines=[5, 9]).unreadable[0].line == 9

    with pytest.raises(BadInput, match="must be 2, one for each row"):
        read_frame(frame, lines=[5])


def test_flags_name_the_columns_and_the_unit():
    """Any column can be asked for."""
    columns = read_frame(
        pl.DataFrame({"a": [1], "b": [2], "c": [3]}), actor="a", target="b", time="c", time_unit="ms"
    )

    assert (columns.actor, columns.target, columns.time) == ("a", "b", "c")
    assert columns.arrival.tolist() == [3000]


def test_categories_come_out_as_texts():
    """A name is a text however it was stored; further columns stay as they are."""
    kinds = {"actor": pl.Categorical, "kind": pl.Categorical}
    frame = pl.DataFrame(
        {"actor": ["a"], "target": [1], "time": [1], "kind": ["k"]}, schema_overrides=kinds
    )

    columns = read_frame(frame)

    assert columns.frame.schema["actor"] == pl.String
    assert columns.frame.schema["kind"] == pl.Categorical


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"actor": [1]}, "must be one of polars or export an Arrow stream, not dict"),
        (None, "not NoneType"),
        (
            pl.DataFrame({"actor": [], "target": [], "time": []}),
            "has no rows, only the names of columns",
        ),
        (pl.DataFrame(), "has no column for the actor among no columns"),
        (pl.DataFrame({"a": [1]}).lazy().select("gone"), "the query of the lazy frame fails"),
        (pl.scan_csv("/nowhere/at/all.csv"), "the query of the lazy frame fails"),
        (OnlyAStream(pl.Series([1])), "the Arrow stream of OnlyAStream is no table"),
        (
            pl.DataFrame({"actor": [1.5], "target": [1], "time": [1]}),
            "whole numbers or texts, not Float64",
        ),
    ],
)
def test_what_cannot_be_a_history_gets_one_sentence(frame, said):
    """No error of the table library comes through."""
    with pytest.raises(BadInput) as caught:
        read_frame(frame)

    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_stream_that_breaks_is_refused():
    """Somebody else's error becomes our sentence."""

    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError

    with pytest.raises(BadInput, match=r"the Arrow stream of Broken is no table"):
        read_frame(Broken())


def test_guessed_columns_are_told():
    """A column called as what it is was not guessed, and neither was one that a person named."""
    frame = pl.DataFrame({"user": ["a"], "target": ["b"], "created_at": [5], "actor_of": ["c"]})

    assert read_frame(frame).notes[0] == "actor: user, target: target, time: created_at"
    assert not any("actor:" in note for note in read_frame(frame, actor="user", time="created_at").notes)


def test_many_unreadable_rows_are_told_as_a_share():
    """More than a tenth: perhaps the wrong column was taken."""
    frame = pl.DataFrame({"actor": ["a"] * 10 + [None], "target": [1] * 11, "time": [5] * 11})
    worse = frame.with_columns(time=pl.Series([None] + [5] * 10))

    assert not any("cannot be read" in note for note in read_frame(frame).notes)
    assert "2 of 11 rows cannot be read (18.2 %)" in read_frame(worse).notes


def test_what_was_simulated_is_told_from_what_happened():
    """The times of a table with releases may be meant to be those."""
    frame = pl.DataFrame({"actor": ["a"], "target": ["b"], "time": [5], "release": [6]})
    note = "this looks like simulated output: times are those of time (or give --time release)"

    assert note in read_frame(frame).notes
    assert note not in read_frame(frame, time="release").notes


def test_a_person_in_the_wrong_column_is_never_shown():
    """Neither in a reason nor in a refusal."""
    frame = pl.DataFrame({"actor": ["a"] * 2, "target": ["b"] * 2, "time": ["carol@example.org", "5"]})

    assert read_frame(frame).unreadable[0].reason == "time is not a moment (a text of 17 characters)"
    with pytest.raises(BadInput) as caught:
        read_frame(frame.head(1))
    assert "carol" not in str(caught.value)
    assert HINT in str(caught.value)


def test_columns_of_pandas_are_read_whatever_they_are_made_of():
    """Categories, whole numbers with holes, and moments with a zone; no other library is needed."""
    moments = pd.to_datetime(["2023-11-14 01:00", "2023-11-14 02:00", None]).tz_localize("Europe/Berlin")
    frame = pd.DataFrame(
        {
            "actor": pd.Categorical(["ann", "bob", "ann"]),
            "target": pd.array([7, None, 8], dtype="Int64"),
            "time": moments,
        }
    )

    columns = read_frame(frame)

    assert columns.frame.select("actor", "target").rows() == [("ann", 7)]
    assert columns.arrival.tolist() == [1_699_920_000_000_000]
    assert [fault.reason for fault in columns.unreadable] == ["target is missing", "time is missing"]


def test_a_pandas_frame_with_one_name_twice_is_refused():
    frame = pd.DataFrame([["ann", "p", 5]], columns=["actor", "actor", "time"])

    with pytest.raises(BadInput, match="two columns of DataFrame have one name: rename one of them"):
        read_frame(frame)
