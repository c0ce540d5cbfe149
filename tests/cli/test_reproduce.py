"""`tarry reproduce`: every script runs, writes what it finds, and gives the same numbers again."""

import json

import pytest

from tarry.cli.main import main
from tarry.paper import SCRIPTS


def reproduce(capsys, *words):
    capsys.readouterr()
    code = main(["reproduce", *map(str, words)])
    return code, capsys.readouterr()


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """All scripts, tiny, in one go."""
    out = tmp_path_factory.mktemp("reproduced")
    assert main(["reproduce", "all", "--tiny", "--out", str(out), "--seed", "3"]) == 0
    return out


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_script_leaves_its_tables_and_charts(everything, name):
    """A JSON file stamped with version and seed, and two pictures of each chart."""
    found = json.loads((everything / f"{name}.json").read_text(encoding="utf-8"))

    assert found["seed"] == 3
    assert found["tarry"]
    assert found["says"]
    assert found["tables"]
    for table in found["tables"].values():
        assert all(len(row) == len(table["header"]) for row in table["rows"])
    svg = {path.stem for path in everything.glob(f"{name}-*.svg")}
    assert svg == {path.stem for path in everything.glob(f"{name}-*.png")}


def test_the_page_has_every_script_and_loads_nothing(everything):
    """One file, no script in it, no address but that of the SVG name space."""
    page = (everything / "index.html").read_text(encoding="utf-8")

    for name in SCRIPTS:
        assert f'id="{name}"' in page
    assert "<script" not in page
    assert "https://" not in page
    assert str(everything) not in page


def test_the_same_settings_give_the_same_numbers_again(everything, tmp_path, capsys):
    """File by file, byte by byte."""
    reproduce(capsys, "all", "--tiny", "--out", tmp_path, "--seed", "3")

    for name in SCRIPTS:
        again = (tmp_path / f"{name}.json").read_bytes()
        assert again == (everything / f"{name}.json").read_bytes()


def test_the_names_are_listed(capsys):
    """With what each shows."""
    code, told = reproduce(capsys, "--list")

    assert code == 0
    assert [line.split()[0] for line in told.out.splitlines()] == list(SCRIPTS)


@pytest.mark.parametrize(
    ("words", "told"), [(["nonsense"], "nonsense"), (["--data", "nowhere"], "nowhere")]
)
def test_what_is_not_there_is_said_in_one_sentence(tmp_path, monkeypatch, capsys, words, told):
    """And nothing is written."""
    monkeypatch.chdir(tmp_path)
    code, said = reproduce(capsys, *words)

    assert code == 2
    assert told in said.err
    assert list(tmp_path.iterdir()) == []
