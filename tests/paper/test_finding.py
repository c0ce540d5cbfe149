"""What a script is given and what it finds: real tables by name, and findings as JSON."""

import json
from pathlib import Path

import pytest

from tarry.core.errors import BadInput
from tarry.paper.finding import Finding, RunSettings, Table, real_tables


def test_a_finding_survives_json():
    """Tables go out with their titles and headers; charts stay behind."""
    table = Table(title="two", header=("a", "b"), rows=((1, None), (2.5, "x")))
    found = Finding(name="n", title="t", says=("s",), tables={"one": table})
    read = json.loads(json.dumps(found.as_json()))

    assert read["tables"]["one"] == {"title": "two", "header": ["a", "b"], "rows": [[1, None], [2.5, "x"]]}
    assert table.column("b") == [None, "x"]


ROWS = "actor,target,time\n1,2,2024-05-01T10:00:00Z\n1,3,2024-05-01T10:00:05Z\n"


def test_tables_are_found_by_name_in_a_folder(tmp_path: Path):
    """Whatever their kind; what is not there is left out."""
    (tmp_path / "votes.csv").write_text(ROWS)

    found = real_tables(RunSettings(data=tmp_path), "votes", "ratings")

    assert list(found) == ["votes"]
    assert found["votes"].arrival.tolist()[1] - found["votes"].arrival.tolist()[0] == 5_000_000


def test_one_file_is_taken_whatever_its_name(tmp_path: Path):
    """A table of one's own needs no special name."""
    (tmp_path / "mine.csv").write_text(ROWS)

    assert list(real_tables(RunSettings(data=tmp_path / "mine.csv"), "votes")) == ["mine"]


def test_what_is_not_there_is_said(tmp_path: Path):
    """Without the folders that lead to it."""
    with pytest.raises(
        BadInput, match=r"there is no nothing\.csv: give a folder of event tables, or one of them"
    ):
        real_tables(RunSettings(data=tmp_path / "nothing.csv"), "votes")
