"""Histories in files: every kind is read the same, and what is none is called by its name."""

import gzip
import io
import os
import sqlite3
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.kinds import FILES, MOMENTS, small, write
from tarry.core.errors import BadInput
from tarry.readers.files import read_arrow, read_history, read_parquet

COUNTS = {"dao_votes": 19409, "wiki_month_a": 107561, "qa_forum": 5082, "bitcoin_otc": 35591}
DATA = os.environ.get("TARRY_DATA")


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_reads_to_the_same_columns(name, tmp_path):
    """What a history is does not depend on how it was written down."""
    columns = read_history(write(tmp_path, name), time_unit="us")

    assert (columns.actor, columns.target, columns.time) == ("actor", "target", "time")
    assert columns.frame.select(pl.all().cast(pl.String)).equals(small().select(pl.all().cast(pl.String)))
    assert columns.arrival.tolist() == MOMENTS
    assert columns.arrival.dtype == "int64"
    assert (columns.unreadable, columns.unreadable_count, columns.notes) == ((), 0, ())


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
EVENTS = st.lists(st.tuples(NAMES, NAMES, st.integers(10**15, 2 * 10**15)), min_size=1, max_size=8)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.tsv.gz", "a.jsonl.zst"])
@settings(max_examples=40)
@given(events=EVENTS)
def test_any_history_survives_being_written_and_read(name, events):
    """Names with quotes, separators, newlines or anything else come back as they were."""
    frame = pl.DataFrame(
        events, schema={"user": pl.String, "page": pl.String, "ts": pl.Int64}, orient="row"
    )
    with TemporaryDirectory() as folder:
        columns = read_history(write(Path(folder), name, frame))

    assert (
        list(zip(columns.frame["user"], columns.frame["page"], columns.arrival.tolist(), strict=True))
        == events
    )
    assert columns.unreadable == ()


def test_whole_numbers_stay_numbers_where_the_file_has_them(tmp_path):
    """Parquet and JSON know numbers from texts; a table of text does not."""
    frame = pl.DataFrame({"actor": [7], "target": [8], "time": [9]})

    kinds = {name: read_history(write(tmp_path, name, frame)).frame["actor"].dtype for name in FILES}

    assert {kinds[name] for name in kinds if "csv" in name.lower() or "tsv" in name} == {pl.String()}
    assert {kinds[name] for name in kinds if "csv" not in name.lower() and "tsv" not in name} == {
        pl.Int64()
    }


def test_the_unit_that_a_file_states_is_taken(tmp_path):
    """A relative clock near 0 could be of any unit: the metadata of the file decides."""
    path = tmp_path / "a.parquet"
    frame = pl.DataFrame({"actor": [1, 1], "target": [1, 2], "time": [0, 36_000_000]})
    frame.write_parquet(path, metadata={"time_unit": "us"})

    assert read_history(path).arrival.tolist() == [0, 36_000_000]
    assert read_history(path).notes == ()
    assert read_history(path, time_unit="ms").arrival.tolist() == [0, 36_000_000_000]


@pytest.mark.parametrize("stated", ["fortnights", ""])
def test_a_unit_nobody_knows_is_as_good_as_none(stated, tmp_path):
    """A file may state something else under that name."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"actor": [1], "target": [1], "time": [5]}).write_parquet(
        path, metadata={"time_unit": stated}
    )

    assert read_history(path).arrival.tolist() == [5_000_000]


def test_a_single_event_can_be_read(tmp_path):
    """Whether one event is enough is for others to say."""
    (tmp_path / "a.csv").write_text("actor,target,time\na,b,5\n")

    assert len(read_history(tmp_path / "a.csv")) == 1


def test_a_path_may_be_a_text(tmp_path):
    """As the command line gives it."""
    assert len(read_history(str(write(tmp_path, "a.csv")))) == 4


RUBBISH = os.urandom(1 << 20)
ROWS = b"actor,target,time\na,b,1\n" * 200
SENTENCES = {
    "empty.csv": (b"", "is empty: give one with rows"),
    "empty.parquet": (b"", "is empty: give one with rows"),
    "empty": (b"", "is empty: give one with rows"),
    "packed-nothing.csv.gz": (gzip.compress(b""), "is empty: give one with rows"),
    "blank.csv": (b"\n\n  \n", "nothing but blank lines"),
    "blank.jsonl": (b"\n\n", "nothing but blank lines"),
    "header.csv": (b"actor,target,time\n", "only the names of columns"),
    "header.csv.gz": (gzip.compress(b"actor,target,time\n\n\n"), "only the names of columns"),
    "bad-times.csv": (
        b"actor,target,time\na,b,x\n",
        "line 2: time is not a moment (a text of 1 character); write times as ISO 8601",
    ),
    "no-times.jsonl": (b'\n{"actor":1,"target":2,"time":null}\n', "line 2: time is missing"),
    "mixed.csv": (
        b"actor,target,time\na,b,1700000000\na,c,1700000000000\n",
        "the times must be of one unit",
    ),
    "far.csv": (b"actor,target,time\na,b,9000000000\n", "line 2: time is outside the years 1900 to 2200"),
    "columns.csv": (
        b"a,b,c\n1,2,3\n",
        "has no column for the actor among the columns a, b, c: name it with",
    ),
    "columns.jsonl": (b'{"a":1}\n', "has no column for the actor among the columns a: name it with"),
    "none.jsonl": (b"{}\n{}\n", "has no column for the actor among no columns"),
    "list.jsonl": (b"[1]\n", "is a JSON array: give one object a line (JSONL)"),
    "utf16.csv": ("actor,target,time\n".encode("utf-16"), "is UTF-16 text: convert the file first"),
    "utf16-no-mark.csv": ("actor,target,time\n".encode("utf-16-le"), "NUL bytes"),
    "latin.csv": ("acteur,cible,\xe9t\xe9\n".encode("latin-1"), "not UTF-8 text: convert the file first"),
    "latin.jsonl": ('{"actor": "\xe9"}\n'.encode("latin-1"), "not UTF-8 text; convert the file first"),
    "quote.csv": (b'"actor,target,time\n', "a quote is not closed"),
    "cut.parquet": (b"PAR1" + RUBBISH[:600], "is missing: copy it again"),
    "cut.arrow": (b"ARROW1" + RUBBISH[:600], "is missing: copy it again"),
    "cut.csv.gz": (gzip.compress(ROWS)[:-9], "gzip data"),
    "damaged.csv.gz": (b"\x1f\x8b" + RUBBISH, "gzip data"),
    "damaged.jsonl.zst": (b"\x28\xb5\x2f\xfd" + RUBBISH, "zstd data"),
    "damaged.parquet": (b"PAR1" + RUBBISH + b"PAR1", "is damaged inside"),
    "damaged.arrow": (b"ARROW1" + RUBBISH + b"ARROW1", "is damaged inside"),
    "stream.arrow": (b"\xff\xff\xff\xff" + RUBBISH, "is damaged inside"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_bad_file_gets_one_sentence(name, tmp_path):
    """What is wrong is said in one short sentence, whoever found it."""
    content, said = SENTENCES[name]
    (tmp_path / name).write_bytes(content)

    assert said in refusal(tmp_path / name)


@pytest.mark.parametrize(
    "ending", ["", ".csv", ".tsv", ".jsonl", ".parquet", ".arrow", ".csv.gz", ".jsonl.zst"]
)
def test_a_hundred_megabytes_of_rubbish_are_refused_at_once(ending, tmp_path):
    """Rubbish is told by its beginning, whatever it is called; nothing reads it to the end."""
    path = tmp_path / f"rubbish{ending}"
    path.write_bytes(b"\x01" + RUBBISH)
    os.truncate(path, 100 << 20)  # the rest is holes, which cost no disk

    assert refusal(path)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.ipc", "a.csv.gz", "a.jsonl.zst"])
@settings(max_examples=40)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_but_never_breaks(name, data):
    """Whatever bytes are wrong, nothing but the one kind of error comes out."""
    with TemporaryDirectory() as folder:
        path = write(Path(folder), name)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
        with suppress(BadInput):
            columns = read_history(path, time_unit="us")

            assert len(columns) == len(columns.arrival)


def test_what_is_no_file_is_refused(tmp_path):
    """A missing file, a folder, a device and an impossible name each get a sentence."""
    assert "no such file" in refusal(tmp_path / "none.csv")
    assert "a directory" in refusal(tmp_path)
    assert "not a file" in refusal("/dev/null")
    assert "name too long" in refusal(tmp_path / ("x" * 5000))
    assert "no file can have such a name" in refusal("a\0b")


def test_a_file_without_permission_is_refused(tmp_path, monkeypatch):
    """The system's refusal becomes a sentence; simulated, for nothing is forbidden to root."""
    (tmp_path / "a.csv").write_text("actor,target,time\n")

    def forbidden(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)

    assert "no permission" in refusal(tmp_path / "a.csv")


def test_a_long_name_and_long_columns_are_cut_short(tmp_path):
    """However long the names in a file are, the sentence about it stays readable."""
    path = tmp_path / ("n" * 200 + ".csv")
    path.write_text(",".join(f"{'column' * 20}{place}" for place in range(500)) + "\n1\n")

    assert "and 480 more" in refusal(path)


@pytest.mark.parametrize("unit", ["min", "", "S"])
def test_a_unit_that_does_not_exist_is_refused_first(unit, tmp_path):
    """Even before the file is looked for."""
    with pytest.raises(BadInput, match="--time-unit must be one of s, ms, us, ns, iso"):
        read_history(tmp_path / "none", time_unit=unit)


@pytest.mark.skipif(not DATA, reason="SET TARRY_DATA to the folder of real histories to read them all")
def test_every_real_history_is_read_whole():
    """Real histories of known size: every row is read, none is unreadable."""
    read = {path.stem: read_history(path) for path in sorted(Path(DATA).glob("*.parquet"))}

    assert {name: len(read[name]) for name in COUNTS} == COUNTS
    assert [name for name, columns in read.items() if columns.unreadable_count or columns.notes] == []


def refusal(path):
    """The one sentence with which a file is refused."""
    with pytest.raises(BadInput) as caught:
        read_history(path)
    sentence = str(caught.value)

    assert len(sentence) <= 300
    assert sentence.isprintable()
    assert sentence.startswith("the ")

    return sentence


PEOPLE = '[{"user": "carol@example.org", "page": "p", "time": 5},\n {"user": "dan"}]'


def zipped(*names):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "actor,target,time\n")
    return content.getvalue()


def database(folder):
    with sqlite3.connect(folder / "a.db") as connection:
        connection.execute("CREATE TABLE votes (actor, target, time)")
    connection.close()
    return (folder / "a.db").read_bytes()


def refusal_of(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_history(folder / name)
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a"])
def test_what_others_give_for_a_history_is_called_by_its_name(name, tmp_path):
    """Whatever the file is called."""
    assert "is a zip archive: unpack it first" in refusal_of(tmp_path, name, zipped("votes.csv"))
    workbook = zipped("[Content_Types].xml", "xl/workbook.xml")
    assert "is an Excel workbook: save its sheet as CSV" in refusal_of(tmp_path, name, workbook)
    assert "is an SQLite database: write its table" in refusal_of(tmp_path, name, database(tmp_path))
    assert "is an xz file: unpack it first" in refusal_of(tmp_path, name, b"\xfd7zXZ\0\0\0")
    for order in ("utf-16-le", "utf-16-be"):
        text = "\ufeffactor,target,time\n".encode(order)
        assert "is UTF-16 text: convert the file first" in refusal_of(tmp_path, name, text)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv"])
@pytest.mark.parametrize("before", ["", "\ufeff", "\n  "])
@pytest.mark.parametrize("text", [PEOPLE, '["carol", "dan"]', "[\n", "[]", "[[1]]", '[ \n\n{"user"'])
def test_an_array_is_told_without_what_is_in_it(name, before, text, tmp_path):
    """It would be a header of people."""
    said = refusal_of(tmp_path, name, (before + text).encode())

    assert said == (f"the history {name} is a JSON array: give one object a line (JSONL)")


def test_a_header_in_brackets_is_a_header(tmp_path):
    """Some databases write one."""
    (tmp_path / "a.csv").write_text("[user],[page],[at]\na,b,5\n")
    columns = read_history(tmp_path / "a.csv", actor="[user]", target="[page]", time="[at]")

    assert columns.frame.row(0) == ("a", "b", "5")


KINDS = pl.DataFrame(
    {
        "small": pl.Series([1], dtype=pl.Int8),
        "when": [datetime(2024, 5, 1, tzinfo=UTC)],
        "many": [[1, 2]],
        "kind": pl.Series(["k"], dtype=pl.Categorical),
    }
)


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (pl.DataFrame.write_parquet, read_parquet),
        (pl.DataFrame.write_ipc, read_arrow),
        (pl.DataFrame.write_ipc_stream, read_arrow),
    ],
)
def test_every_column_keeps_its_kind(write, read, tmp_path):
    """Further columns come through as they are."""
    write(KINDS, tmp_path / "a")

    rows = read(tmp_path / "a", "it")

    assert rows.frame.equals(KINDS)
    assert rows.frame.schema == KINDS.schema
    assert rows.lines is None


@pytest.mark.parametrize("size", [1, 3, 4, 8, 50])
@pytest.mark.parametrize(
    ("write", "read"), [(pl.DataFrame.write_parquet, read_parquet), (pl.DataFrame.write_ipc, read_arrow)]
)
def test_a_file_cut_anywhere_is_refused(write, read, size, tmp_path):
    """Whether nearly nothing or nearly everything is there."""
    write(KINDS, tmp_path / "a")
    whole = (tmp_path / "a").read_bytes()

    for content in (whole[:size], whole[:-size]):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(
            BadInput,
            match=r"it does not begin as an? (Parquet|Arrow) file|the end of it is missing|it is damaged",
        ):
            read(tmp_path / "a", "it")


@pytest.mark.parametrize(
    ("stated", "unit"), [({"time_unit": "ms"}, "ms"), ({"time_unit": "x"}, None), (None, None)]
)
def test_the_stated_unit_is_one_that_exists(stated, unit, tmp_path):
    """Anything else under that name is none."""
    KINDS.write_parquet(tmp_path / "a", metadata=stated)

    assert read_parquet(tmp_path / "a", "it").unit == unit
