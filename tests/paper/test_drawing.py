"""How findings are shown: charts of lines and dots, and a page where nothing is markup."""

import altair as alt

from tarry.paper.drawing import findings_page, line_chart, number_axis
from tarry.paper.finding import Finding, Table

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
    assert Table(title="t", header=("a", "b"), rows=((1, None),)).records() == [{"a": 1, "b": None}]


def test_what_is_found_is_text_and_nothing_in_it_is_markup():
    """A sentence or a cell that looks like HTML stays a sentence or a cell."""
    nasty = "<b>bold & co</b>"
    table = Table(title=nasty, header=(nasty,), rows=((nasty,), (None,), (0.123456,), (1234567,)))
    page = findings_page([Finding(name="x", title=nasty, says=[nasty], tables={"t": table})], {"seed": 1})

    assert nasty not in page
    assert page.count("&lt;b&gt;bold &amp; co&lt;/b&gt;") == 7  # a caption is a label too
    for cell in (">-<", ">0.1235<", ">1,234,567<"):
        assert cell in page


def test_the_stamp_is_on_the_page():
    """Whoever finds the page can make it again."""
    assert "Made with tarry 0.1, seed 7." in findings_page([], {"tarry": "0.1", "seed": 7})
