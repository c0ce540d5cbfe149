"""docs/reproduction.md says what the scripts say."""

import re
import runpy
from pathlib import Path

import pytest

from tarry.paper import SCRIPTS, script
from tarry.paper.crosswalk import AUTHORS_CODE, CROSSWALK, INFERRED, PaperVerdict, summary
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


def test_the_page_has_the_paper_item_by_item():
    """As the generator writes it today, with one summary before everything else."""
    crosswalk = runpy.run_path(str(DOCS / "generate_reproduction.py"))["crosswalk"]()
    begins = page().partition("```")[0]

    assert " ".join(crosswalk.split()) in page()
    assert summary() in begins
    assert AUTHORS_CODE in begins


def test_every_numbered_item_of_the_paper_has_one_row():
    """Figure 1 is a drawing; the figures of the appendix share a row."""
    names = [item.name for item in CROSSWALK]
    numbered = [name for name in names if re.match(r"(Figures?|Table|Algorithm|Appendix) ", name)]

    assert len(set(names)) == len(names)
    assert numbered == [
        *(f"Figure {number}" for number in range(2, 9)),
        "Figures 9 to 12",
        *("Table 1", "Table 2"),
        *(f"Algorithm {number}" for number in range(1, 5)),
        *(f"Appendix {letter}" for letter in "ABCD"),
    ]
    for kind, many in (("Theorem", 5), ("Corollary", 2), ("Proposition", 4), ("Definition", 4)):
        assert len([name for name in names if name.startswith(kind)]) == many, kind


def test_every_script_is_about_something_in_the_paper():
    assert {name for item in CROSSWALK for name in item.scripts} == set(SCRIPTS)


def test_what_is_inferred_is_marked_and_explained():
    """Neither the percentile nor the 7 of 9 is told without what it rests on."""
    assert [item.name for item in CROSSWALK if item.inferred] == ["Figure 2", "Figure 5", "Figure 8"]
    assert "strong evidence, not certain" in INFERRED[0]
    assert "assumes an observer who knows when the first act arrived" in INFERRED[2]
    assert {item.verdict for item in CROSSWALK} == set(PaperVerdict)


def test_the_count_of_broken_bounds_is_the_one_of_the_script():
    broken = script("power").find(RunSettings(tiny=True)).tables["bounds"].column("printed bound is")
    count = f"{broken.count('broken')} of {len(broken)}"

    assert count in INFERRED[2]
    assert count in next(item.why for item in CROSSWALK if item.scripts == ("power",))
