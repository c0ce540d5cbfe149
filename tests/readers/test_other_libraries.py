"""Histories in the hands of other libraries: DuckDB, pandas and Arrow, each as its own users have them."""

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tarry
from tarry.core.errors import BadInput
from tarry.readers.frames import read_frame

CLOCK = ["2024-05-01 10:00:00", "2024-05-01 10:02:00"]
UTC_MOMENTS = [1_714_557_600_000_000, 1_714_557_720_000_000]
BERLIN = [moment - 7_200_000_000 for moment in UTC_MOMENTS]  # two hours ahead in May
EAST = timezone(timedelta(hours=2))
BARE = "times carry no zone: read as UTC"
SECONDS = [1_714_557_600, 1_714_557_720]


@pytest.fixture
def duck():
    """A connection in Berlin with one small table of events; the last one is on no target."""
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'Europe/Berlin'")
        connection.execute("CREATE TABLE acts (actor TEXT, target TEXT, time TIMESTAMP)")
        rows = [("ann", "p1", CLOCK[0]), ("ann", "p2", CLOCK[1]), ("bob", None, CLOCK[1])]
        connection.executemany("INSERT INTO acts VALUES (?, ?, ?)", rows)
        yield connection


def query(times="time", actor="actor", more=""):
    """A query of the table with its times, or its actors, as another type."""
    return f"SELECT {actor} AS actor, target, {times} AS time{more} FROM acts"  # noqa: S608 - of these tests


# --- DuckDB --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["table", "view", "query", "filtered"])
def test_a_relation_is_read_and_left_as_it_was(duck, kind):
    """A table, a stored view, a query or a chain of them; it can be read again."""
    duck.execute("CREATE VIEW watched AS FROM acts")
    relation = {
        "table": duck.table("acts"),
        "view": duck.view("watched"),
        "query": duck.sql("FROM acts"),
        "filtered": duck.sql("FROM acts").filter("actor IS NOT NULL").order("time").limit(3),
    }[kind]

    first, second = read_frame(relation), read_frame(relation)

    assert first.frame.select("actor", "target").rows() == [("ann", "p1"), ("ann", "p2")]
    assert first.arrival.tolist() == second.arrival.tolist() == UTC_MOMENTS
    assert [str(fault) for fault in first.unreadable] == ["line 3: target is missing"]
    assert BARE in first.notes


@pytest.mark.parametrize(
    ("times", "moments"),
    [
        ("time::TIMESTAMP_S", UTC_MOMENTS),
        ("time::TIMESTAMP_MS", UTC_MOMENTS),
        ("time::TIMESTAMP_NS", UTC_MOMENTS),
        ("time::TIMESTAMPTZ", BERLIN),  # the clock of the connection
        ("time AT TIME ZONE 'UTC'", UTC_MOMENTS),
        ("time::TEXT", UTC_MOMENTS),
        ("epoch(time)", UTC_MOMENTS),  # floats
        ("epoch_ms(time)", UTC_MOMENTS),
        ("epoch(time)::DECIMAL(20, 3)", UTC_MOMENTS),
        ("epoch_us(time)::HUGEINT", UTC_MOMENTS),
    ],
)
def test_every_kind_of_time_of_a_relation_is_read(duck, times, moments):
    """With a zone it is that moment, without one UTC; none of it needs pytz or pyarrow."""
    columns = read_frame(duck.sql(query(times)))

    assert columns.arrival.tolist() == moments
    assert (BARE in columns.notes) == times.startswith(("time::TIMESTAMP_", "time::TEXT"))


@pytest.mark.parametrize(
    ("actor", "names"),
    [
        ("actor::ENUM ('ann', 'bob')", ["ann", "ann"]),
        ("7::UTINYINT", [7, 7]),
        ("md5(actor)::UUID", ["7e0d7f8a-5d96-c24f-fcc8-40f31bce72b2"] * 2),
    ],
)
def test_every_kind_of_name_of_a_relation_is_read(duck, actor, names):
    assert read_frame(duck.sql(query(actor=actor))).frame["actor"].to_list() == names


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (query(more=", INTERVAL 1 DAY AS pause"), "has a column that cannot be read, such as intervals"),
        (
            query("actor::INTEGER"),
            "cannot be read (ConversionException): run its query by itself to see why",
        ),
        (query(more=", actor"), "two columns of DuckDBPyRelation have one name: rename one of them"),
        (query("'infinity'::TIMESTAMP"), "row 1: time is outside the years 1900 to 2200"),
        (query("time::TIME"), "must hold numbers, moments or ISO 8601 texts, not Time"),
        (query(actor="[actor]"), "by whole numbers or texts, not List"),
        (query() + " WHERE FALSE", "the frame has no rows"),
    ],
)
def test_a_relation_that_cannot_be_read_gets_one_sentence(duck, sql, said):
    """No error of the database comes through, and nobody of whom it speaks."""
    with pytest.raises(BadInput) as caught:
        read_frame(duck.sql(sql))

    assert said in str(caught.value)
    assert "'ann'" not in str(caught.value)


def test_a_relation_of_what_is_gone_gets_one_sentence(duck):
    """Its table was dropped, or its connection closed."""
    relation = duck.sql("FROM acts")
    duck.execute("DROP TABLE acts")
    with pytest.raises(BadInput, match=r"DuckDBPyRelation cannot be read \(CatalogException\): run"):
        read_frame(relation)
    duck.close()
    with pytest.raises(BadInput, match=r"DuckDBPyRelation cannot be read \(ConnectionException\): run"):
        read_frame(relation)


def test_a_connection_is_no_history(duck):
    """Somebody who calls execute gets the connection back, and is shown what to give."""
    with pytest.raises(BadInput, match="not DuckDBPyConnection: give a relation, such as"):
        tarry.audit(duck.execute("FROM acts"))


def test_a_relation_is_audited_as_the_same_rows_of_polars_are(duck):
    """The one front door takes it, zone and all."""
    question = tarry.Question(practices=["nothing", "mix:1h"])
    relation = duck.sql(query("time::TIMESTAMPTZ"))

    assert tarry.audit(relation, question).to_json() == tarry.audit(relation.pl(), question).to_json()


# --- pandas --------------------------------------------------------------------------------------

WALL = pd.Series(pd.to_datetime(CLOCK))
IN_BERLIN = WALL.dt.tz_localize("Europe/Berlin")
PANDAS_TIMES = {
    "texts as objects": (pd.Series(CLOCK, dtype=object), UTC_MOMENTS),
    "texts": (pd.Series(CLOCK, dtype="string"), UTC_MOMENTS),
    "texts of Arrow": (pd.Series(CLOCK, dtype=pd.ArrowDtype(pa.string())), UTC_MOMENTS),
    "categories": (pd.Series(CLOCK, dtype="category"), UTC_MOMENTS),
    **{f"datetime64[{u}]": (WALL.astype(f"M8[{u}]"), UTC_MOMENTS) for u in ("s", "ms", "us", "ns")},
    **{
        f"datetime64[{u}] with a zone": (IN_BERLIN.astype(f"datetime64[{u}, Europe/Berlin]"), BERLIN)
        for u in ("s", "ms", "us", "ns")
    },
    "an offset": (WALL.dt.tz_localize(EAST), BERLIN),
    "moments of Arrow": (IN_BERLIN.astype("timestamp[ns, tz=Europe/Berlin][pyarrow]"), BERLIN),
    "datetime": (pd.Series(WALL.dt.to_pydatetime(), dtype=object), UTC_MOMENTS),
    "Timestamp": (pd.Series(list(IN_BERLIN), dtype=object), BERLIN),
    "datetime of several zones": (
        pd.Series(
            [datetime(2024, 5, 1, 10, tzinfo=UTC), datetime(2024, 5, 1, 12, 2, tzinfo=EAST)], dtype=object
        ),
        UTC_MOMENTS,
    ),
    "date": (pd.Series([date(2024, 5, 1)] * 2, dtype=object), [1_714_521_600_000_000] * 2),
    "Decimal": (pd.Series([Decimal(second) for second in SECONDS], dtype=object), UTC_MOMENTS),
    "Int64": (pd.Series(SECONDS, dtype="Int64"), UTC_MOMENTS),
    "uint64": (pd.Series(SECONDS, dtype="uint64"), UTC_MOMENTS),
    "float64": (pd.Series(SECONDS, dtype="float64"), UTC_MOMENTS),
    "whole numbers of Arrow": (pd.Series(SECONDS, dtype="int64[pyarrow]"), UTC_MOMENTS),
    "numbers and texts": (pd.Series([SECONDS[0], CLOCK[1]], dtype=object), UTC_MOMENTS),
}


@pytest.mark.parametrize("kind", PANDAS_TIMES)
def test_every_kind_of_time_of_pandas_is_read(kind):
    times, moments = PANDAS_TIMES[kind]

    columns = read_frame(pd.DataFrame({"actor": ["ann", "bob"], "target": [1, 2], "time": times}))

    assert columns.arrival.tolist() == moments


@pytest.mark.parametrize(
    ("names", "read"),
    [
        (pd.Series(["ann", None], dtype=object), ["ann"]),
        (pd.Series(["ann", np.nan], dtype=object), ["ann"]),
        (pd.Series(["ann", pd.NA], dtype="string"), ["ann"]),
        (pd.Series(["ann", None], dtype="category"), ["ann"]),
        (pd.Series([7, 8], dtype="category"), [7, 8]),
        (pd.Series([7, None], dtype="Int64"), [7]),
        (pd.Series([7, 8], dtype="int32[pyarrow]"), [7, 8]),
        (pd.Series(["ann", 7], dtype=object), ["ann", "7"]),
    ],
)
def test_every_kind_of_name_of_pandas_is_read(names, read):
    """What is missing, in whichever way, is a row that cannot be read."""
    columns = read_frame(pd.DataFrame({"actor": names, "target": [1, 2], "time": SECONDS}))

    assert columns.frame["actor"].to_list() == read
    assert [fault.reason for fault in columns.unreadable] == ["actor is missing"] * (2 - len(read))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (
            [datetime(2024, 5, 1, 10, tzinfo=UTC), WALL[1].to_pydatetime()],
            "the column time cannot be read",
        ),
        (["\ud800", "a"], "the column time cannot be read: convert it, or leave it out"),
        (WALL - WALL[0], "must hold numbers, moments or ISO 8601 texts, not Duration"),
        (WALL.dt.to_period("min"), "must hold numbers, moments or ISO 8601 texts, not Object"),
    ],
)
def test_times_of_pandas_that_are_none_get_one_sentence(times, said):
    with pytest.raises(BadInput) as caught:
        read_frame(
            pd.DataFrame(
                {
                    "actor": ["ann", "bob"],
                    "target": [1, 2],
                    "time": pd.Series(times, dtype=getattr(times, "dtype", object)),
                }
            )
        )

    assert said in str(caught.value)


def test_pandas_is_read_where_nothing_else_is_installed():
    """Without pyarrow, which the Arrow stream of pandas itself needs."""
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import pandas, tarry.readers.frames as frames\n"
        "times = pandas.to_datetime(['2024-05-01 10:00', '2024-05-01 10:02']).tz_localize('UTC')\n"
        "frame = pandas.DataFrame({'actor': ['ann', 'bob'], 'target': [1, 2], 'time': times})\n"
        "print(frames.read_frame(frame).arrival.tolist())"
    )

    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert ran.stdout == f"{UTC_MOMENTS}\n"


# --- Arrow and polars ----------------------------------------------------------------------------


def arrow():
    """The same events as an Arrow table, in seconds with a zone."""
    times = pa.array(SECONDS, pa.timestamp("s", tz="Europe/Berlin"))
    return pa.table({"actor": ["ann", "ann"], "target": ["p1", "p2"], "time": times})


@pytest.mark.parametrize(
    "handed_over",
    [
        arrow,
        lambda: arrow().to_batches()[0],
        lambda: arrow().to_reader(),
        lambda: arrow().set_column(0, "actor", arrow()["actor"].dictionary_encode()),
        lambda: pl.from_arrow(arrow()).lazy().filter(pl.col("actor") == "ann"),
        lambda: (
            pl.from_arrow(arrow())
            .lazy()
            .cast({"actor": pl.Enum(["ann"]), "time": pl.Datetime("ns", "UTC")})
        ),
    ],
    ids=["table", "batch", "reader", "dictionary", "lazy", "lazy enum"],
)
def test_arrow_in_every_form_is_read(handed_over):
    """A table, a batch, a stream that can be read once, and a query that nobody has run."""
    columns = read_frame(handed_over())

    assert columns.frame["actor"].to_list() == ["ann", "ann"]
    assert columns.arrival.tolist() == UTC_MOMENTS


def test_a_stream_that_was_read_before_has_no_rows():
    reader = arrow().to_reader()
    reader.read_all()

    with pytest.raises(BadInput, match="the frame has no rows"):
        read_frame(reader)


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (arrow()["actor"], "the Arrow stream of ChunkedArray is no table: give a frame of rows"),
        (pl.Series("actor", ["ann"]), "the Arrow stream of Series is no table: give a frame of rows"),
        (pd.Series(["ann"]), "the Arrow stream of Series is no table: give a frame of rows"),
        ({"actor": ["ann"], "time": [5]}, "must yield Event(actor, target, time), not str"),
        ([("ann", "p1", 5)], "must yield Event(actor, target, time), not tuple"),
        (np.array([[1, 2, 3]]), "must yield Event(actor, target, time), not ndarray"),
    ],
)
def test_what_is_no_table_gets_one_sentence(thing, said):
    """A column, columns by name, rows of something else."""
    with pytest.raises(BadInput) as caught:
        tarry.audit(thing)

    assert said in str(caught.value)
