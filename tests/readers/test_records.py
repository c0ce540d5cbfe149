"""Records of separated values, one by one."""

import csv
from io import BytesIO, StringIO

from hypothesis import given
from hypothesis import strategies as st

from tarry.readers.records import records

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
