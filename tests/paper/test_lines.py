"""Lines and dots, and tables as rows."""

import altair as alt

from tarry.paper.finding import Table
from tarry.paper.lines import line_chart, number_axis, records

ROWS = [{"line": "one", "a": 1, "b": 2}, {"line": "two", "a": 3, "b": 4}]


def test_lines_and_dots_share_their_colours():
    """One legend, each line named once, in the order in which they come."""
    chart = line_chart(
        ROWS, x=alt.X("a:Q"), y=alt.Y("b:Q"), dots=[ROWS[1], {"line": "three", "a": 0, "b": 0}]
    )
    scales = [layer.to_dict()["encoding"]["color"]["scale"] for layer in chart.layer]

    assert scales[0] == scales[1]
    assert scales[0]["domain"] == ["one", "two", "three"]


def test_without_dots_there_is_one_layer():
    """Nothing empty is drawn."""
    assert len(line_chart(ROWS, x=alt.X("a:Q"), y=alt.Y("b:Q")).layer) == 1


def test_marks_outside_an_axis_are_left_out():
    """They would be drawn on its end, as if they were there."""
    axis = number_axis("delay", 1, 10, log=True, values=(0.1, 1, 3, 30))

    assert axis["axis"].to_dict()["values"] == [1, 3]
    assert axis["scale"].to_dict()["type"] == "log"


def test_records_carry_the_header():
    """A row is known by the names of its columns."""
    assert records(Table(title="t", header=("a", "b"), rows=((1, None),))) == [{"a": 1, "b": None}]
