"""Names with points lead into columns, unless a column has that very name."""

import json

import polars as pl
import pytest

from readers.kinds import small
from tarry.core.errors import BadInput
from tarry.readers.files import read_history
from tarry.readers.frames import read_frame
from tarry.readers.nested import unnest
from tarry.readers.rows import Wanted

EVENTS = [
    {"user": {"name": "ann", "more": {"id": 5}}, "page": {"id": 7}, "at": 60},
    {"user": {"name": "bob", "more": {"id": 6}}, "page": {"id": 7}, "at": 61},
    {"user": None, "page": {"id": 7}, "at": 62},
]
NAMED = {"actor": "user.name", "target": "page.id", "time": "at"}


def lines(*events):
    return "".join(json.dumps(event) + "\n" for event in events)


@pytest.mark.parametrize("bad", ["", "[]\n"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_names_lead_into_columns(kind, bad, tmp_path):
    """In objects, on the fast and the slow way, and in tables; what is missing is told as ever."""
    path = tmp_path / f"a.{kind}"
    if kind == "jsonl":
        path.write_text(lines(*EVENTS) + bad)
    else:
        pl.DataFrame(EVENTS).write_parquet(path)

    columns = read_history(path, **NAMED)

    assert (columns.actor, columns.target) == ("user.name", "page.id")
    assert columns.frame["user.name"].to_list() == ["ann", "bob"]
    assert columns.frame["page.id"].to_list() == [7, 7]
    assert columns.unreadable[0].reason == "actor is missing"


def test_names_lead_as_deep_as_they_say():
    """Every point is a step."""
    found = read_frame(pl.DataFrame(EVENTS), **{**NAMED, "actor": "user.more.id"})

    assert found.frame["user.more.id"].to_list() == [5, 6]


def test_a_column_of_that_very_name_wins():
    """A point may be part of a name."""
    frame = pl.DataFrame({"user.name": ["x"], "user": [{"name": "y"}], "page": [1], "at": [5]})

    assert read_frame(frame, actor="user.name", time="at").frame["user.name"].to_list() == ["x"]


@pytest.mark.parametrize("name", ["user.gone", "gone.name", "user.name.first", "user.", ".", "at.x"])
@pytest.mark.parametrize("bad", ["", "[]\n"])
def test_a_name_that_leads_nowhere_is_refused(name, bad, tmp_path):
    """As any other that is not there."""
    (tmp_path / "a.jsonl").write_text(lines(*EVENTS) + bad)

    with pytest.raises(BadInput, match="must have the column that --actor names"):
        read_history(tmp_path / "a.jsonl", **{**NAMED, "actor": name})


def test_numbers_among_texts_are_seen_inside_too(tmp_path):
    """What a column inside another holds is looked at line by line, as outside."""
    (tmp_path / "a.jsonl").write_text(
        lines(EVENTS[0], {"user": {"name": True}, "page": {"id": 7}, "at": 9})
    )

    columns = read_history(tmp_path / "a.jsonl", **NAMED)

    assert [str(fault) for fault in columns.unreadable] == ["line 2: actor is true or false"]


def test_names_without_points_change_nothing():
    """Nobody asked."""
    assert unnest(small(), Wanted(actor="actor")).equals(small())
