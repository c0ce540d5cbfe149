"""Separated values: the fast and the forgiving way agree, record by record."""

import csv
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.kinds import stored_zstd
from tarry.core.errors import BadInput
from tarry.readers import separated
from tarry.readers.columns import Wanted
from tarry.readers.faults import SHOWN
from tarry.readers.files import read_history
from tarry.readers.separated import read_separated, records
from tarry.readers.sources import TextFile

HEADER = "actor,target,time\n"


def read(content, name="a.csv", **options):
    """Read what a file holds."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_history(path, **options)


def told(columns):
    """Lines and reasons of what could not be read."""
    return [(fault.line, fault.reason) for fault in columns.unreadable]


# A line, and what is wrong with it: "" for nothing, None for a line that is no row.
LINES = {
    b"a,b,5": "",
    b"007,'x',-6": "",
    b'"a, b","c ""d""",7': "",
    b'a,"two\nlines",8': "",
    b'a,"two\r\nlines ","8"\r': "",
    b'"\n\n\n",b,9\r': "",
    b"a,b,10,": "4 fields where the header has 3",
    b"a,b,10,11,12": "5 fields where the header has 3",
    b"a,\xff,10": "the line is not UTF-8 text",
    b'a,"b"c,10': "a quote is out of place",
    b",b,5": "actor is missing",
    b"a,,5": "target is missing",
    b"a": "target is missing",
    b",,": "actor is missing",
    b'"","",""': "actor is missing",
    b"a,b": "time is missing",
    b"a,b, ": "time is missing",
    b"a,b,x": "time is not a moment (a text of 1 character)",
    b"a,b,1e99": "time is outside the years 1900 to 2200 (a text of 4 characters)",
    b"": None,
    b"  ": None,
    b"\r": None,
}


@given(
    st.lists(st.sampled_from(list(LINES)), max_size=50), st.sampled_from([b"", b"\n \r\n"]), st.booleans()
)
def test_every_line_that_cannot_be_read_is_told(lines, before, zstd):
    """With its number, whatever stands before it: blank lines, newlines in quotes, other faults."""
    content = before + HEADER.encode() + b"a,b,1\n" + b"\n".join(lines) + b"\n"
    number, expected = before.count(b"\n") + 3, []
    for line in lines:
        if LINES[line]:
            expected.append((number, LINES[line]))
        number += 1 + line.count(b"\n")

    columns = read(stored_zstd(content) if zstd else content, time_unit="s")

    assert told(columns) == expected[:SHOWN]
    assert columns.unreadable_count == len(expected)
    assert len(columns) == 1 + sum(LINES[line] == "" for line in lines)


SOUND = [line for line, reason in LINES.items() if reason is None or "fields" not in reason]
SOUND = [line for line in SOUND if not (LINES[line] or "").startswith(("the line", "a quote"))]


@given(st.lists(st.sampled_from(SOUND), max_size=20), st.booleans())
def test_the_fast_and_the_slow_way_read_the_same(lines, mark):
    """A file that both can read is the same table on the same lines."""
    content = (b"\xef\xbb\xbf" if mark else b"") + HEADER.encode() + b"\n".join(lines)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(content)
        text = TextFile(path=path, what="it")
        with patch.object(separated, "_slow", side_effect=AssertionError):
            fast = read_separated(text, Wanted())
        with patch.object(separated, "_fast", side_effect=pl.exceptions.ComputeError):
            slow = read_separated(text, Wanted())

    assert fast.lines.tolist() == slow.lines.tolist()
    assert fast.frame.fill_null("").equals(slow.frame.fill_null(""))
    assert fast.faults.count == slow.faults.count == 0


def test_a_quote_that_is_not_closed_costs_one_row():
    """The rows behind it are read."""
    columns = read(HEADER + 'a,b,1\na,"b,2\na,b,3\n')

    assert told(columns) == [(3, "a quote is not closed")]
    assert columns.arrival.tolist() == [1_000_000, 3_000_000]


def test_only_the_first_faults_are_told_and_all_are_counted():
    """Enough to see what is wrong."""
    columns = read(HEADER + "a,b,1\n" + "a,b\n" * 99 + "a,b,c,d\n")

    assert [line for line, _ in told(columns)] == list(range(3, 3 + SHOWN))
    assert columns.unreadable_count == 100


@pytest.mark.parametrize("bad", ["", "a,b,1,x,y\n"])
def test_an_empty_field_is_missing_on_both_ways(bad):
    """What is not written is no text, in further columns too."""
    assert read("actor,target,time,note\na,b,1,\n" + bad).frame.row(0) == ("a", "b", "1", None)


def test_names_are_texts_as_they_are_written():
    """Leading zeros, spaces and fractions belong to the name."""
    columns = read(HEADER + "007, p1,1\n7,1.0,2\n")

    assert columns.frame["actor"].to_list() == ["007", "7"]
    assert columns.frame["target"].to_list() == [" p1", "1.0"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_seen_in_the_header(separator):
    """Some countries write tables with semicolons."""
    content = (HEADER + "a,b,1\n").replace(",", separator)

    assert read(content).frame.row(0) == ("a", "b", "1")


def test_a_tsv_file_has_tabs_only():
    """A comma is a character there."""
    assert read("actor\ttarget\ttime\na,b\tc\t1\n", "a.tsv").frame.row(0) == ("a,b", "c", "1")


def test_columns_without_a_name_or_with_the_same_are_numbered():
    """They are kept, under names that differ."""
    columns = read("actor,,target,time,actor,\na,1,b,5,x,2\n")

    assert columns.frame.columns == ["actor", "column_2", "target", "time", "actor_5", "column_6"]
    assert columns.frame.row(0) == ("a", "1", "b", "5", "x", "2")


@pytest.mark.parametrize(
    "header",
    ["actor,target,time,actor_5,actor", "actor,target,time,column_5,", "actor,target,time,,column_4"],
)
@pytest.mark.parametrize("bad", ["", "a,b,1,2,3,4\n"])
def test_a_number_that_is_taken_already_is_no_trouble(header, bad):
    """Every column is kept on both ways, however odd the header is."""
    columns = read(f"{header}\na,b,1,2,3\n{bad}")

    assert len(set(columns.frame.columns)) == 5
    assert columns.frame.row(0) == ("a", "b", "1", "2", "3")


def test_a_header_of_very_many_columns_is_refused_at_once():
    """A line of separators is rubbish too."""
    with pytest.raises(BadInput, match="has no column for the actor"):
        read("," * 500_000 + "\n")


def test_a_header_may_be_quoted_over_several_lines():
    """Lines are counted from its end, on the fast way too."""
    with patch.object(separated, "_slow", side_effect=AssertionError):
        columns = read('actor,"target",time,"a\nb"\na,b,1\na,,2\n')

    assert columns.frame.columns[3] == "a\nb"
    assert told(columns) == [(4, "target is missing")]


def test_a_large_file_with_one_bad_line_is_read_whole():
    """More rows than are held at once on the slow way."""
    rows = "".join(f"a,b,{count}\n" for count in range(separated._AT_ONCE * 2 + 10))
    columns = read(HEADER + rows + "a,b,1,2\n" + "a,b,5\n")

    assert len(columns) == separated._AT_ONCE * 2 + 11
    assert told(columns) == [(separated._AT_ONCE * 2 + 12, "4 fields where the header has 3")]


@pytest.mark.parametrize(
    ("bad", "said"), [(1, "1 line is not UTF-8 text"), (3, "3 lines are not UTF-8 text")]
)
def test_lines_of_another_encoding_are_counted_with_a_hint(bad, said):
    """How to help oneself is told once."""
    columns = read(HEADER.encode() + b"a,b,1\n" + "\xe9,b,1\n".encode("latin-1") * bad + b"a,b,c,d\n")

    assert f"{said}: convert the file first (for example with iconv)" in columns.notes


FIELDS = st.text(st.sampled_from('ab,"\n é'), max_size=4)
TABLES = st.lists(
    st.lists(FIELDS, min_size=2, max_size=4).filter(lambda row: "".join(row).strip()), max_size=6
)


def found(text):
    """The records of a text."""
    return list(records(BytesIO(text.encode()), ","))


@given(TABLES)
def test_what_was_written_by_the_rules_is_read(table):
    """Fields with quotes, separators and newlines, and each record on its own line."""
    text = StringIO()
    starts = []
    for row in table:
        starts.append(text.getvalue().count("\n") + 1)
        csv.writer(text, lineterminator="\n").writerow(row)

    assert [(line, fields) for line, _, fields in found(text.getvalue())] == list(
        zip(starts, table, strict=True)
    )


@given(st.text(st.sampled_from('ab,"\n\r é'), max_size=60))
def test_every_line_that_is_not_blank_belongs_to_one_record(text):
    """Whatever a file holds, no line is lost, none is taken twice, and they come in order."""
    covered = [line for first, many, _ in found(text) for line in range(first, first + many)]
    blank = {number for number, line in enumerate(text.split("\n"), 1) if not line.strip(" \r")}

    assert covered == sorted(set(covered))
    assert set(range(1, text.count("\n") + 2)) - set(covered) <= blank


def test_a_quote_that_is_never_closed_costs_one_line():
    """The next line begins a record again."""
    assert found('a,b\nc,"d\ne,f\n"g",h\n') == [
        (1, 1, ["a", "b"]),
        (2, 1, "a quote is not closed"),
        (3, 1, ["e", "f"]),
        (4, 1, ["g", "h"]),
    ]


def test_a_quote_out_of_place_costs_one_line():
    """Text after a closing quote is no field; a quote inside a field is a character."""
    assert found('"a"x,b\nc,d"e\n') == [(1, 1, "a quote is out of place"), (2, 1, ["c", 'd"e'])]
