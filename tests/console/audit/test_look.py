"""The first look at an upload: names and kinds, a guess, and one sentence for each kind of bad file."""

import gzip
import json

import polars as pl
import pytest

from tarry.console.audit.look import check_unpacked, look
from tarry.core.errors import BadInput

ROWS = (
    "voter,proposal,at,weight\nann@example.org,p1,2024-05-01T10:00:00Z,0.5\nbob,p2,2024-05-01T10:00:09Z,2\n"
)
GUESS = {"actor": "voter", "target": "proposal", "time": None}


@pytest.fixture
def write(tmp_path):
    def written(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def kinds(found):
    return {column["name"]: column["kind"] for column in found["columns"]}


def test_a_table_of_text_shows_names_and_kinds_and_no_value(write):
    found = look(write("votes.csv", ROWS))

    assert kinds(found) == {"voter": "text", "proposal": "text", "at": "moment", "weight": "number"}
    assert found["guess"] == GUESS
    assert "ann" not in json.dumps(found)


@pytest.mark.parametrize("name", ["votes.csv.gz", "votes.CSV.GZ", "votes.gz", "votes"])
def test_a_packed_table_is_looked_into(write, name):
    assert look(write(name, gzip.compress(ROWS.encode())))["guess"] == GUESS


def test_tabs_and_semicolons_are_understood(write):
    assert look(write("votes.tsv", ROWS.replace(",", "\t")))["guess"] == GUESS
    assert look(write("votes.csv", ROWS.replace(",", ";")))["guess"] == GUESS


def test_every_role_is_guessed_by_itself(write):
    found = look(write("votes.csv", "who,page,created_at\n1,2,3\n"))

    assert found["guess"] == {"actor": None, "target": "page", "time": "created_at"}


def test_lines_of_objects_show_what_is_inside_them_too(write):
    line = {"user": {"name": "ann", "tags": ["x"]}, "page": 7, "ts": 1.5, "is_bot": False}
    found = look(write("votes.jsonl", "not json\n" + json.dumps(line) + "\n"))

    assert kinds(found) == {"user.name": "text", "page": "whole", "ts": "number", "is_bot": "yes_no"}
    assert found["guess"] == {"actor": None, "target": "page", "time": "ts"}


def test_tables_with_kinds_of_their_own_show_them(tmp_path):
    frame = pl.DataFrame({"user": ["ann"], "page": [7], "inner": [{"at": 1.5}], "many": [[1]]})
    frame = frame.with_columns(time=pl.from_epoch(pl.lit(1), "s"))
    told = {"user": "text", "page": "whole", "inner.at": "number", "time": "moment"}
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")

    for name in ("a.parquet", "a.arrow"):
        found = look(tmp_path / name)
        assert kinds(found) == told
        assert found["guess"] == {"actor": "user", "target": "page", "time": "time"}


def test_a_name_that_comes_twice_cannot_be_chosen(write):
    assert list(kinds(look(write("a.csv", "user,page,time,x,x,\n1,2,3,4,5,6\n")))) == [
        "user",
        "page",
        "time",
    ]


def test_a_table_with_very_many_columns_is_looked_at_quickly(write):
    names = [f"c{n}" for n in range(50_000)]
    found = look(write("wide.csv", ",".join(names) + "\n" + ",".join(names) + "\n"))

    assert len(found["columns"]) == 500


PARQUET = "Parquet file"
BAD = {
    "blank": ("a.csv", b" \n\n", "nothing but blank lines"),
    "header only": ("a.csv", b"user,page,time\n", "has no rows"),
    "two columns": ("a.csv", b"user,page\n1,2\n", "must have columns for who acted, on what and when"),
    "one line of words": ("a.txt", b"hello\nworld\n", "must have columns for who acted, on what and when"),
    "rubbish": ("a.csv", bytes(range(256)) * 10_000, "must"),
    "no line end": ("a.csv", b"x" * (2 << 20), "must begin with a line of column names"),
    "latin-1": ("a.csv", "grün,b,c\n1,2,3\n".encode("latin-1"), "must begin with a line of column names"),
    "not parquet": ("a.parquet", ROWS.encode(), PARQUET),
    "zip": ("a.csv", b"PK\x03\x04" + b"x" * 99, "is a zip archive"),
    "zip by another name": ("a.parquet", b"PK\x03\x04" + b"x" * 99, "is a zip archive"),
    "sqlite": ("a.csv", b"SQLite format 3\0" + b"x" * 99, "is an SQLite database"),
    "json array": ("a.json", b'[{"user": 1}]', "is a JSON array"),
    "no objects": ("a.jsonl", b"1\n2\n", "has no rows"),
    "deep": ("a.jsonl", b'{"a":' * 9_000 + b"\n", "has no rows"),
    "cut gzip": ("a.csv.gz", gzip.compress(ROWS.encode())[:-12], "must be whole gzip data"),
    "cut zstd": ("a.csv.zst", b"\x28\xb5\x2f\xfd\x00", "must"),
}


@pytest.mark.parametrize(("name", "content", "told"), BAD.values(), ids=BAD)
def test_a_bad_file_gets_one_sentence(write, name, content, told):
    with pytest.raises(BadInput) as refused:
        look(write(name, content))

    assert told in str(refused.value)
    assert str(refused.value).startswith(f"the history {name} ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kept", [0.5, 0.98])
def test_a_parquet_file_that_was_cut_gets_one_sentence(tmp_path, kept):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"user": range(999), "page": range(999), "time": range(999)}).write_parquet(path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with pytest.raises(BadInput, match=r"the end of the history a\.parquet is missing"):
        look(path)


def test_what_unpacks_to_too_much_is_refused_without_unpacking_all_of_it(write):
    once = gzip.compress(b"user,page,time\n" + b"ann,p1,5\n" * 100_000)
    path = write("a.csv.gz", once * 20)

    check_unpacked(path, 20 << 20)
    with pytest.raises(BadInput, match="unpacks to more than 10 MiB"):
        check_unpacked(path, 10 << 20)
