"""Files that are no history are called by their name, and nothing of them is shown."""

import io
import sqlite3
import zipfile

import pytest

from tarry.core.errors import BadInput
from tarry.readers.files import read_history

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


def refusal(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_history(folder / name)
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a"])
def test_what_others_give_for_a_history_is_called_by_its_name(name, tmp_path):
    """Whatever the file is called."""
    assert "found a zip archive: unpack it first" in refusal(tmp_path, name, zipped("votes.csv"))
    workbook = zipped("[Content_Types].xml", "xl/workbook.xml")
    assert "found an Excel workbook: save its sheet as CSV" in refusal(tmp_path, name, workbook)
    assert "found an SQLite database: write its table" in refusal(tmp_path, name, database(tmp_path))
    assert "found an xz file: unpack it first" in refusal(tmp_path, name, b"\xfd7zXZ\0\0\0")
    for order in ("utf-16-le", "utf-16-be"):
        text = "\ufeffactor,target,time\n".encode(order)
        assert "found UTF-16 text: convert the file first" in refusal(tmp_path, name, text)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv"])
@pytest.mark.parametrize("before", ["", "\ufeff", "\n  "])
@pytest.mark.parametrize("text", [PEOPLE, '["carol", "dan"]', "[\n", "[]", "[[1]]", '[ \n\n{"user"'])
def test_an_array_is_told_without_what_is_in_it(name, before, text, tmp_path):
    """It would be a header of people."""
    said = refusal(tmp_path, name, (before + text).encode())

    assert said == (
        f"the history {name} must be a table or lines of JSON, "
        "found a JSON array: give one object a line (JSONL)"
    )


def test_a_header_in_brackets_is_a_header(tmp_path):
    """Some databases write one."""
    (tmp_path / "a.csv").write_text("[user],[page],[at]\na,b,5\n")
    columns = read_history(tmp_path / "a.csv", actor="[user]", target="[page]", time="[at]")

    assert columns.frame.row(0) == ("a", "b", "5")
