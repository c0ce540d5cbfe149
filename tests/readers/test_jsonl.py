"""Lines of JSON objects: the fast and the forgiving way agree, and faults are told by line."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.kinds import stored_zstd
from tarry.core.errors import BadInput
from tarry.readers import jsonl
from tarry.readers.columns import Wanted
from tarry.readers.faults import SHOWN
from tarry.readers.files import read_history
from tarry.readers.jsonl import _fast, read_objects
from tarry.readers.sources import TextFile

GOOD = b'{"actor": "a", "target": 7, "time": 1}'


def read(*lines, **options):
    """Read these lines; an object is written as JSON."""
    content = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return read_bytes(content, **options)


def read_bytes(content, **options):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(content)
        return read_history(path, **options)


def told(columns):
    """Lines and reasons of what could not be read."""
    return [(fault.line, fault.reason) for fault in columns.unreadable]


# A line, and what is wrong with it: "" for nothing, None for a line that is no row.
LINES = {
    GOOD: "",
    b' {"time": -5, "target": 8, "actor": "\\u00e9\\n", "more": [1, {"x": null}]} \r': "",
    b'{"actor": "a", "target": 7, "time": 1.5, "more": "text"}': "",
    b'{"actor": "a", "target": 7}': "time is missing",
    b'{"actor": null, "target": 7, "time": 1}': "actor is missing",
    b'{"actor": "", "target": 7, "time": 1}': "actor is missing",
    b"{}": "actor is missing",
    b'{"actor": ["a"], "target": 7, "time": 1}': "actor is a list",
    b'{"actor": "a", "target": {"id": 7}, "time": 1}': "target is an object",
    b'{"actor": "a", "target": true, "time": 1}': "target is true or false",
    b'{"actor": "a", "target": 7, "time": [1]}': "time is a list",
    b'{"actor": "a", "target": 7, "time": NaN}': "not JSON: a number that is none or too long",
    b'{"actor": "a", "target": 7, "time": 1': "not JSON: Expecting ',' delimiter (character 38)",
    GOOD + GOOD: "not JSON: Extra data (character 39)",
    b"[1, 2]": "not a JSON object",
    b"null": "not a JSON object",
    b"5": "not a JSON object",
    b'"text"': "not a JSON object",
    b"actor,target,time": "not JSON: Expecting value (character 1)",
    b'{"actor": "\xff", "target": 7, "time": 1}': "the line is not UTF-8 text",
    b"[" * 100_000: "not JSON: too many brackets",
    b"": None,
    b" \t": None,
    b"\r": None,
}


@given(st.lists(st.sampled_from(list(LINES)), max_size=40), st.booleans())
def test_every_line_that_cannot_be_read_is_told(lines, zstd):
    """With its number and a reason, whatever stands around it."""
    lines = [line for line in lines if len(line) < 1000 or not zstd]
    content = b"\n".join([GOOD, *lines])

    columns = read_bytes(stored_zstd(content) if zstd else content, time_unit="s")

    expected = [(number, LINES[line]) for number, line in enumerate(lines, 2) if LINES[line]]
    assert told(columns) == expected[:SHOWN]
    assert columns.unreadable_count == len(expected)
    assert len(columns) == 1 + sum(LINES[line] == "" for line in lines)


NAMES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
)


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=8))
def test_numbers_and_texts_may_mix_and_then_are_texts(names):
    """A column of numbers stays one; where texts are among them, 5 and "5" are one name."""
    columns = read(*({"actor": actor, "target": target, "time": 5} for actor, target in names))

    for place, role in enumerate(("actor", "target")):
        column = [name[place] for name in names]
        numbers = [isinstance(name, int) for name in column]
        mixed = any(numbers) and not all(numbers)
        assert columns.frame[role].to_list() == (column if all(numbers) else [str(name) for name in column])
        note = f"numbers and texts mix in the column of the {role}: all read as texts"
        assert (note in columns.notes) == mixed


def test_numbers_written_with_a_point_are_whole_if_all_are():
    """Some exports write 5.0 for 5; a name with a fraction is none."""
    columns = read({"actor": 5.0, "target": 1, "time": 1}, {"actor": 6, "target": 1, "time": 1})

    assert columns.frame["actor"].to_list() == [5, 6]

    with pytest.raises(BadInput, match="must name the actor by whole numbers or texts, not Float64"):
        read({"actor": 5.5, "target": 1, "time": 1})


@pytest.mark.parametrize("blank", [b"", b" \t"])
def test_sound_lines_are_read_the_fast_way(blank):
    """Blank lines do not matter, and lines are right all the same."""
    with patch.object(jsonl, "read_objects", side_effect=AssertionError):
        columns = read(blank, GOOD, blank, {"actor": "b", "target": 7, "time": None}, blank)

    assert told(columns) == [(4, "time is missing")]


def test_lines_that_cannot_be_matched_to_rows_are_looked_at_one_by_one():
    """If the two ways of counting disagree, neither is trusted."""
    with patch.object(jsonl, "_lines", return_value=np.array([1])):
        columns = read(GOOD, GOOD, {"actor": "b", "target": 7, "time": None})

    assert told(columns) == [(3, "time is missing")]


def test_a_text_that_looks_like_a_line_of_json_does_no_harm():
    """The slow way is taken for nothing."""
    columns = read({"actor": '{"actor": 5}', "target": "p", "time": 1})

    assert columns.frame["actor"].to_list() == ['{"actor": 5}']
    assert not any("mix" in note for note in columns.notes)


def test_further_columns_of_any_kind_are_kept():
    """What nobody asks for may hold anything, also things that do not go together."""
    rows = [{"actor": "a", "target": 1, "time": 1, "x": x} for x in ({"y": 1}, 5, True, [1], None, "t")]

    columns = read(*rows)

    assert len(columns) == len(rows)
    assert columns.frame["x"].dtype == pl.String
    assert columns.frame["target"].dtype == pl.Int64


def test_times_as_iso_texts_and_the_order_of_keys_are_read():
    """The first line does not decide what is there."""
    columns = read({"x": 1}, {"time": "1970-01-01T00:00:01Z", "actor": 1, "target": 2})

    assert columns.arrival.tolist() == [1_000_000]
    assert told(columns) == [(1, "actor is missing")]


def test_a_file_of_lists_is_refused_with_its_first_fault():
    """Nothing in it is an event."""
    with pytest.raises(BadInput, match="none among 2: the first fault is in line 1: actor is a list"):
        read(*[{"actor": [1], "target": 1, "time": 1}] * 2)


def test_a_mark_of_the_byte_order_is_no_fault():
    """Some editors put one at the beginning."""
    assert len(read_bytes(b"\xef\xbb\xbf" + GOOD + b"\n" + GOOD)) == 2


def test_times_may_be_numbers_and_texts():
    """Each is read by its own rule, on both ways."""
    rows = [
        {"actor": "a", "target": 1, "time": time} for time in (1_700_000_000, "1970-01-01T00:00:01Z", 2.5)
    ]

    for columns in (read(*rows), read(*rows, b"[]")):
        assert columns.arrival.tolist() == [1_700_000_000_000_000, 1_000_000, 2_500_000]
        assert "2 of 3 times are numbers, the others ISO 8601 texts" in columns.notes


TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
MORE = st.dictionaries(st.sampled_from("xyz"), st.one_of(st.none(), st.integers(-9, 9)))


@given(st.lists(st.tuples(TEXTS, st.integers(-9, 9), st.integers(-9, 9), MORE), min_size=1, max_size=6))
def test_the_fast_and_the_slow_way_read_the_same(events):
    """The same table, of the same kinds, on the same lines."""
    rows = [
        {"actor": actor, "target": target, "time": time, **more} for actor, target, time, more in events
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("\n\n".join(json.dumps(row) for row in rows))
        text = TextFile(path=path, what="it")
        fast, slow = _fast(text, Wanted()), read_objects(text, Wanted())

    assert fast is not None
    assert fast.frame.equals(slow.frame)
    assert fast.frame.schema == slow.frame.schema
    assert fast.lines.tolist() == slow.lines.tolist() == list(range(1, 2 * len(rows), 2))
    assert slow.faults.count == 0
