"""The notebook of docs/ shows what its cells print now; if not, run docs/generate_notebook.py."""

import copy
import json
import re
from pathlib import Path
from runpy import run_path

import altair as alt
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTEBOOK = json.loads((DOCS / "notebook.ipynb").read_text(encoding="utf-8"))
SCRIPT = run_path(str(DOCS / "generate_notebook.py"))
PICTURE = "image/svg+xml"
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_NEAR = 8  # pixels: letters are as wide as the fonts of a machine make them


def plain(outputs):
    """The outputs of a cell without its pictures."""
    shown = copy.deepcopy(outputs)
    for output in shown:
        output.get("data", {}).pop(PICTURE, None)
    return shown


def pictures(outputs):
    return ["".join(output["data"][PICTURE]) for output in outputs if PICTURE in output.get("data", {})]


def is_same_picture(one, other):
    """The same marks and texts, each at about the same place."""
    places = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=False)
    same = _NUMBER.sub("#", one) == _NUMBER.sub("#", other)
    return same and all(abs(float(here) - float(there)) <= _NEAR for here, there in places)


def broken_links(cells):
    """Links of the texts to files that are not there."""
    text = "".join(line for cell in cells if cell["cell_type"] == "markdown" for line in cell["source"])
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    return [link for link in links if not (DOCS / link).exists()]


@pytest.fixture
def renderers():
    """The notebook says how charts are shown; that is undone for other tests."""
    before = alt.renderers.active
    yield
    alt.renderers.enable(before)


def test_the_cells_print_what_the_notebook_shows(renderers):
    """All of them again, from top to bottom: texts and tables to the letter, charts to a few pixels."""
    again = SCRIPT["rerun"](NOTEBOOK)

    for stored, now in zip(NOTEBOOK["cells"], again["cells"], strict=True):
        outputs, outputs_now = stored.get("outputs", []), now.get("outputs", [])
        assert plain(outputs_now) == plain(outputs), stored["id"]
        shown, drawn = pictures(outputs), pictures(outputs_now)
        assert len(shown) == len(drawn)
        assert all(map(is_same_picture, shown, drawn)), stored["id"]
    assert {**again, "cells": []} == {**NOTEBOOK, "cells": []}


def test_the_file_is_as_the_script_writes_it():
    """So that running it on an unchanged notebook changes nothing."""
    assert SCRIPT["written"](NOTEBOOK) == (DOCS / "notebook.ipynb").read_text(encoding="utf-8")


def test_no_link_of_the_notebook_is_dead():
    assert broken_links(NOTEBOOK["cells"]) == []


def test_the_notebook_is_small_and_loads_nothing():
    """Pictures are drawn, not fetched: no script, and no address but the name of a format."""
    text = (DOCS / "notebook.ipynb").read_text(encoding="utf-8")

    assert len(text) < 200_000
    assert "<script" not in text
    assert set(re.findall(r"https?://[^\"\\ ]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


CELLS = {
    "print('a')\n1 + 1": ["a\n", "2"],
    "x = 5": [],
    "None": [],
    "": [],
    "def f(): pass": [],
}


@pytest.mark.parametrize("source", CELLS)
def test_a_cell_shows_what_it_prints_and_its_last_value(source):
    """As in Jupyter: nothing where there is no value."""
    (cell,) = SCRIPT["rerun"]({"cells": [{"cell_type": "code", "source": [source]}]})["cells"]

    shown = ["".join(each.get("text", each.get("data", {}).get("text/plain"))) for each in cell["outputs"]]
    assert shown == CELLS[source]
    assert cell["execution_count"] == 1


def test_a_picture_that_has_changed_is_noticed():
    """One that is a few pixels off is the same, one with another mark, text or place is not."""
    picture = '<path d="M1.5,2L-30,4"/><text>5m</text>'

    assert is_same_picture(picture, picture.replace("30", "33.5"))
    assert not is_same_picture(picture, picture.replace("30", "60"))
    assert not is_same_picture(picture, picture.replace("5m", "5h"))
    assert not is_same_picture(picture, picture + "<text>x</text>")
