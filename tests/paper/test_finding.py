"""What a script is given and what it finds: real tables by name, findings as JSON, charts and a page."""

import json
from pathlib import Path

import pytest

from tarry.core.errors import BadInput
from tarry.paper.finding import (
    Finding,
    RunSettings,
    Table,
    findings_page,
    line_chart,
    number_axis,
    real_tables,
)


def test_a_finding_survives_json():
    """Tables go out with their titles and headers; charts stay behind."""
    table = Table(title="two", header=("a", "b"), rows=((1, None), (2.5, "x")))
    found = Finding(name="n", title="t", says=("s",), tables={"one": table})
    read = json.loads(json.dumps(found.as_json()))

    assert read["tables"]["one"] == {"title": "two", "header": ["a", "b"], "rows": [[1, None], [2.5, "x"]]}
    assert table.column("b") == [None, "x"]


ACTS = "actor,target,time\n1,2,2024-05-01T10:00:00Z\n1,3,2024-05-01T10:00:05Z\n"


def test_tables_are_found_by_name_in_a_folder(tmp_path: Path):
    """Whatever their kind; what is not there is left out."""
    (tmp_path / "votes.csv").write_text(ACTS)

    found = real_tables(RunSettings(data=tmp_path), "votes", "ratings")

    assert list(found) == ["votes"]
    assert found["votes"].arrival.tolist()[1] - found["votes"].arrival.tolist()[0] == 5_000_000


def test_one_file_is_taken_whatever_its_name(tmp_path: Path):
    """A table of one's own needs no special name."""
    (tmp_path / "mine.csv").write_text(ACTS)

    assert list(real_tables(RunSettings(data=tmp_path / "mine.csv"), "votes")) == ["mine"]


def test_what_is_not_there_is_said(tmp_path: Path):
    """Without the folders that lead to it."""
    with pytest.raises(
        BadInput, match=r"there is no nothing\.csv: give a folder of event tables, or one of them"
    ):
        real_tables(RunSettings(data=tmp_path / "nothing.csv"), "votes")


# --- charts and the page ---------------------------------------------------------------------------

ROWS = [{"line": "one", "a": 1, "b": 2}, {"line": "two", "a": 3, "b": 4}]


def test_lines_and_dots_share_their_colours():
    """One legend, each line named once, in the order in which they come."""
    chart = line_chart(ROWS, x=("a", {}), y=("b", {}), dots=[ROWS[1], {"line": "three", "a": 0, "b": 0}])
    scales = [layer.to_dict()["encoding"]["color"]["scale"] for layer in chart.layer]

    assert scales[0] == scales[1]
    assert scales[0]["domain"] == ["one", "two", "three"]


def test_without_dots_there_is_one_layer():
    """Nothing empty is drawn."""
    assert len(line_chart(ROWS, x=("a", {}), y=("b", {})).layer) == 1


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
