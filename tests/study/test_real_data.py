"""Real histories: the figures that were published beside them, found again.

Percentiles there lie between two observed gaps where need be; ours are observed ones, which shows in
one printed digit. Rows at one moment come by actor there as here: by target, or by actor downwards, a
few medians would move by seconds, and one more printed digit with them (273 s for dao_votes).
"""

from typing import NamedTuple

import numpy as np
import pytest

from contracts.pair_loop import data_file
from tarry.readers.files import read_history
from tarry.study.batching import measure, measure_batching, null_gaps
from tarry.study.practice import MICROSECONDS
from tarry.study.table import table_of

WINDOW = 300 * MICROSECONDS
UNITS = {"s": 1, "min": 60, "h": 3600}


class Figures(NamedTuple):
    """A line of the published table."""

    events: int
    actors: int
    targets: int
    batched: str  # percent
    gaps: str  # at 25, 50 and 75 percent
    people: str = ""  # percent, where bots are marked


PUBLISHED = {
    "wiki_webdocs_a": Figures(22_750, 821, 4_303, "55.1", "19 s / 73 s / 484 s", "49.7"),
    "wiki_month_a": Figures(107_561, 6_430, 948, "5.9", "5 s / 11 s / 22 s"),
    "wiki_ticker_am": Figures(16_512, 4_869, 15_322, "55.6", "1.7 s / 2.2 s / 3.0 s", "21.4"),
    "code_review_a": Figures(337_440, 5_027, 26_080, "15.9", "170 s / 530 s / 26 min", "15.4"),
    "dao_votes": Figures(19_409, 2_591, 1_067, "54.1", "272 s / 19 min / 56 min"),
    "bitcoin_otc": Figures(35_591, 4_814, 5_858, "14.6", "136 s / 17 min / 73 min"),
    "ports_commits_a": Figures(122_285, 148, 9_316, "63.9", "11 min / 39 min / 107 min"),
    "git_oslo": Figures(5_647, 588, 6, "20.4", "3.2 h / 10.7 h / 30.4 h", "10.1"),
    "qa_forum": Figures(5_082, 402, 612, "6.8", "438 s / 25 min / 80 min"),
}
#: Where an observed gap is not what is printed: there it lies between two observed ones.
BETWEEN = {"qa_forum": [25]}


@pytest.fixture(scope="module", params=PUBLISHED)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def columns(name):
    return read_history(data_file(f"{name}.parquet"))


def printed_like(seconds, text):
    """A number of seconds with the unit and digits of a printed one."""
    number, unit = text.split()
    return f"{seconds / UNITS[unit]:.{len(number.partition('.')[2])}f} {unit}"


def percent(share):
    return f"{100 * share:.1f}"


def test_the_published_figures_are_found_again(name, columns):
    """Events, actors, targets, the batched share, and gaps interpolated as there."""
    table, told = table_of(columns), PUBLISHED[name]
    gaps = np.quantile(null_gaps(table), [0.25, 0.5, 0.75]) / MICROSECONDS

    assert (len(table), table.actors, table.targets) == told[:3]
    assert percent(measure_batching(table, WINDOW).batched_share) == told.batched
    assert [
        printed_like(gap, text) for gap, text in zip(gaps, told.gaps.split(" / "), strict=True)
    ] == told.gaps.split(" / ")


def test_the_gaps_of_an_audit_are_those_published_but_for_one_digit(name, columns):
    """They are observed gaps, which no interpolation touches."""
    found = measure(table_of(columns), WINDOW, different=False).null_gaps_s
    texts = dict(zip((25, 50, 75), PUBLISHED[name].gaps.split(" / "), strict=True))

    assert [p for p, text in texts.items() if printed_like(found[p], text) != text] == BETWEEN.get(name, [])


def test_people_alone_batch_as_published(name, columns):
    """Where a history marks its bots."""
    if not PUBLISHED[name].people:
        assert "is_bot" not in columns.frame.columns
        return
    people = table_of(columns, bots=False)

    assert percent(measure_batching(people, WINDOW).batched_share) == PUBLISHED[name].people
