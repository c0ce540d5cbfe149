"""The printed figures of the attack: the percentile below the named one gives them."""

import pytest

from tarry.paper.wikipedia_months import EVENTS
from tarry.paper.wikipedia_trial import STATEMENTS, Measured, measure_statements, printed_table

# Section Experiments, Wikipedia: "85 % recall at 80 % precision", "65 % recall at 60 % precision";
# appendix: "80 % recall at 10 % precision"; Discussion: "roughly 10 %"; notebook: .68 at small cutoffs.
PRINTED = {"plain": 0.80, "precision": 0.60, "small": 0.68, "recall": 0.65, "far": 0.10, "reordered": 0.10}
SOURCES = {"small": "notebook", "recall": "the text's, read at 280 s"}  # all others: the text
DELAYED = ("precision", "small", "recall", "far")


@pytest.fixture(scope="module")
def measured():
    return measure_statements([0, 1, 2], EVENTS, draws=8)


def test_the_statements_are_those_of_the_paper():
    assert {name: one.printed for name, one in STATEMENTS.items()} == PRINTED
    assert {name: one.source for name, one in STATEMENTS.items() if one.source != "text"} == SOURCES


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("precision", "printed 60.0 %"),
        ("small", "notebook 68.0 %"),
        ("recall", "the text's 65.0 %, read at 280 s"),
    ],
)
def test_a_statement_says_where_its_figure_stands(name, quoted):
    assert STATEMENTS[name].quoted == quoted


@pytest.mark.parametrize("name", ["plain", "precision", "small", "recall"])
def test_the_authors_version_comes_within_a_tenth_of_what_is_printed(measured, name):
    assert measured[name].mean_coded == pytest.approx(PRINTED[name], abs=0.1)


def test_the_authors_version_comes_within_a_quarter_of_the_ten_percent_of_the_appendix(measured):
    assert measured["far"].mean_coded == pytest.approx(0.10, rel=0.25)


def test_by_our_count_more_than_twice_the_printed_tenth_is_reordered(measured):
    assert min(measured["reordered"].coded) > 2 * PRINTED["reordered"]


@pytest.mark.parametrize("name", DELAYED)
def test_every_figure_after_a_delay_is_nearer_to_the_percentile_below_on_every_month(measured, name):
    for coded, named in zip(measured[name].coded, measured[name].named, strict=True):
        assert abs(coded - PRINTED[name]) < abs(named - PRINTED[name])


def test_recall_within_280_seconds_is_what_theory_expects_of_either_gap(measured):
    coded, named = STATEMENTS["recall"].expected
    assert (coded, named) == (0.64, 0.23)
    assert measured["recall"].mean_coded == pytest.approx(coded, abs=0.08)
    assert measured["recall"].mean_named == pytest.approx(named, abs=0.03)


def test_without_delay_the_percentile_does_not_matter(measured):
    assert measured["plain"].coded == measured["plain"].named


def test_the_table_has_means_and_ranges_over_the_months():
    rows = printed_table({"far": Measured(coded=[0.25, 0.75], named=[0.0, 0.5])}).rows
    assert rows[0][1:9] == [0.10, "text", 0.5, 0.25, 0.75, 0.25, 0.0, 0.5]
