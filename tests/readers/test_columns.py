"""The records that parsers hand on, and one sentence for whatever a table library raises."""

import json
import zlib
from dataclasses import FrozenInstanceError

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.kinds import small
from tarry.core.errors import BadInput
from tarry.readers.columns import (
    USUAL,
    Columns,
    Wanted,
    choose_columns,
    faults_of_names,
    name_column,
    refusing,
    unnest,
)
from tarry.readers.files import read_history
from tarry.readers.frames import read_frame


def test_columns_are_as_many_as_the_rows_and_do_not_change():
    """What was read is a value."""
    frame = pl.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, 2]})
    columns = Columns(frame=frame, actor="a", target="b", time="c", arrival=np.array([1, 2]))

    assert len(columns) == 2
    with pytest.raises(FrozenInstanceError):
        columns.actor = "b"


@pytest.mark.parametrize(
    "error",
    [
        pl.exceptions.ComputeError("long\ntext"),
        pl.exceptions.PanicException("panic"),
        OSError(),
        EOFError(),
        zlib.error(),
    ],
)
def test_every_error_of_a_damaged_file_becomes_a_sentence(error):
    """Even a panic, which is no ordinary exception."""
    with (
        pytest.raises(BadInput, match=r"^it is damaged: copy it again$"),
        refusing("it is damaged", "copy it again"),
    ):
        raise error


def test_a_sentence_of_ours_is_not_replaced():
    """What was said well already is passed on."""
    with pytest.raises(BadInput, match="ours"), refusing("it is damaged", "copy it again"):
        raise BadInput("ours is better", "keep it")


@pytest.mark.parametrize("role", USUAL)
@given(data=st.data())
def test_the_first_of_the_usual_names_is_taken(role, data):
    """Whatever else is there, in whatever order and case."""
    usual = data.draw(st.lists(st.sampled_from(USUAL[role]), min_size=1, unique=True))
    others = [names[0] for other, names in USUAL.items() if other != role]
    written = data.draw(st.permutations([name.upper() for name in usual] + others))

    assert choose_columns(written, Wanted())[role] == min(usual, key=USUAL[role].index).upper()


def test_the_name_as_it_is_comes_before_other_cases():
    """A column called exactly so wins over one that only differs in case."""
    assert choose_columns(["USER", "user", "page", "ts"], Wanted())["actor"] == "user"


@pytest.mark.parametrize("name", [" user ", "User", "User ID", "user-id"])
def test_spaces_and_hyphens_do_not_hide_a_name(name):
    """A header is written by people."""
    assert choose_columns([name, "page", "ts"], Wanted())["actor"] == name


def test_a_named_column_is_taken_whatever_is_there():
    """The word of a person wins over every guess, and is not guessed a second time."""
    columns = ["actor", "address", "repo", "time"]

    chosen = choose_columns(columns, Wanted(actor="address"))

    assert chosen == {"actor": "address", "target": "repo", "time": "time"}


@pytest.mark.parametrize("role", USUAL)
def test_a_column_that_cannot_be_guessed_is_asked_for(role):
    """The sentence lists what there is and says which flag to give."""
    columns = [names[0] for other, names in USUAL.items() if other != role] + ["x"]

    with pytest.raises(
        BadInput, match=f"has no column for the {role} among .*x: name it with --{role} NAME"
    ):
        choose_columns(columns, Wanted())


@pytest.mark.parametrize("role", USUAL)
def test_a_named_column_that_is_not_there_is_refused(role):
    """The sentence lists the ones that are, up to twenty."""
    columns = ["actor", "target", "time", *(f"c{place}" for place in range(30))]

    with pytest.raises(
        BadInput,
        match=f"has no column gone for --{role}: name one that it has, the columns actor, .* and 13 more",
    ):
        choose_columns(columns, Wanted(**{role: "gone"}))


def test_one_column_cannot_be_two():
    """Nobody acts on themselves only because a flag says so."""
    with pytest.raises(BadInput, match="must be three different columns"):
        choose_columns(["actor", "target", "time"], Wanted(actor="time", time="time"))


@pytest.mark.parametrize("kind", [pl.Int8, pl.UInt64, pl.Int64, pl.String])
def test_whole_numbers_and_texts_stay_as_they_are(kind):
    """Their kind tells number from text."""
    column = pl.Series([5]).cast(kind)

    assert name_column("actor", column).equals(column, check_dtypes=True)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a"], dtype=pl.Categorical),
        pl.Series(["a"], dtype=pl.Enum(["a"])),
        pl.Series([2**100], dtype=pl.Int128),
        pl.Series([None], dtype=pl.Null),
    ],
)
def test_other_ways_to_store_names_become_texts(column):
    """Categories, and numbers too long to be compared as numbers."""
    assert name_column("actor", column).dtype == pl.String


@pytest.mark.parametrize(
    "column",
    [pl.Series([1.0]), pl.Series([True]), pl.Series([["a"]]), pl.Series([{"a": 1}]), pl.Series([b"a"])],
)
def test_names_of_other_kinds_are_refused(column):
    """A float or a list is no name."""
    with pytest.raises(BadInput, match="the column x must name the actor by whole numbers or texts"):
        name_column("actor", column.alias("x"))


def test_a_name_that_is_none_gets_a_reason():
    """Missing and empty are one; a NUL at the end would make two names one."""
    (empty, missing), (marked, nul) = faults_of_names("target", pl.Series(["a", "", None, "b\0"]))

    assert (empty.tolist(), missing) == ([False, True, True, False], "target is missing")
    assert (marked.tolist(), nul) == ([False, False, False, True], "target ends in NUL")


@pytest.mark.parametrize(
    "header",
    [
        ["carol", "p1", "1700000000"],
        ["carol", "p1", "2024-05-01T10:00:00Z"],
        ["carol", "p1", "1 May 2024"],
        ["carol", "p1", "May 1, 10:00"],
        ["carol@example.org", "p1", "soon"],
        ['{"user": "carol"', "x"],
        ["carol", "0x12345678abcd"],
    ],
)
@pytest.mark.parametrize("wanted", [Wanted(), Wanted(actor="user")])
def test_a_header_that_is_data_is_not_shown(header, wanted):
    """A table without a header would name the people of its first row."""
    with pytest.raises(BadInput, match=f"{len(header)} columns whose names look like data") as caught:
        choose_columns(header, wanted)

    assert "carol" not in str(caught.value)


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

    with pytest.raises(BadInput, match=r"has no column .* for --actor: name one that it has, the columns"):
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
