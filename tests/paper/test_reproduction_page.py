"""docs/reproduction.md says what the scripts say."""

import re
from pathlib import Path

import pytest

from tarry.paper import SCRIPTS, script
from tarry.paper.finding import RunSettings

DOCS = Path(__file__).parents[2] / "docs"
#: Scripts that need no data and hardly any time; the others take minutes and real histories.
QUICK = ("delays", "delay_tables", "frontier", "impossibility", "horizon", "gallery")


def page():
    return " ".join((DOCS / "reproduction.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_has_its_section_and_its_command(name):
    """A claim names the command that gives it."""
    assert f"## {script(name).TITLE}" in page()
    assert f"tarry reproduce {name}" in page()


@pytest.mark.parametrize("name", QUICK)
def test_the_page_says_what_the_script_says_today(name):
    """Sentence by sentence, numbers included."""
    for sentence in script(name).find(RunSettings()).says:
        assert " ".join(sentence.split()) in page()


def test_what_the_posterior_needs_no_data_for_is_on_the_page():
    """Its first sentences are about the published rates alone."""
    for sentence in script("posterior").find(RunSettings()).says:
        assert " ".join(sentence.split()) in page()


def test_every_picture_of_the_page_is_there():
    """And none lies about that is not shown."""
    shown = set(re.findall(r"\(figures/reproduction/([^)]+)\)", page()))

    assert shown == {path.name for path in (DOCS / "figures" / "reproduction").iterdir()}
