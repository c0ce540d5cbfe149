"""The pictures: what they draw is what the figures say, inside axes that are round."""

import re
from xml.etree import ElementTree as ET

import pytest

from tarry.console.workbench.charts import RANGES, charts, law_bins
from tarry.console.workbench.evening import watch
from tarry.console.workbench.figures import figures, read_choices
from tarry.console.workbench.instrument import facts

GIVEN = [
    {},
    {"epsilon": "0.05", "gap": "7d", "window": "1d"},
    {"epsilon": "10", "gap": "1s", "window": "0s"},
    {"law": "season"},
    {"law": "season", "pairs": "31"},
]


@pytest.fixture(params=GIVEN, ids=lambda given: "-".join(given.values()) or "start")
def choices(request):
    return read_choices(request.param)


def drawn(picture):
    return ET.fromstring(picture.__html__())  # noqa: S314 - our own


def test_every_picture_is_well_formed_and_names_its_description(choices):
    for name, picture in charts(figures(choices), {}).items():
        svg = drawn(picture)
        assert svg.get("aria-labelledby") == f"{name}-sentence"
        assert svg.get("role") == "img"
        for number in re.findall(r"[ MLHVQ](-?[0-9.]+)", " ".join(svg.itertext())):
            assert float(number) >= 0


def test_the_dot_stands_where_the_policy_is(choices):
    picture = charts(figures(choices), {})["frontier"]
    known = facts(figures(choices))
    here = drawn(picture).find("*[@data-mark='here']")

    assert float(here.get("cx")) == pytest.approx(picture.x(known.waits["batched"][1]), abs=0.06)
    assert float(here.get("cy")) == pytest.approx(picture.y(known.delayed.person or 0), abs=0.06)
    stops = [stop.get("data-value") for stop in drawn(picture).findall("*[@class='stop']")]
    assert stops == [trade.value for trade in known.trades]


def test_a_line_of_the_evening_is_as_long_as_its_delay(choices):
    evening, picture = watch(choices), charts(figures(choices), {})["evening"]
    svg = drawn(picture)
    for number, (act, at_s) in enumerate(zip(evening.acts, evening.at_s, strict=True)):
        line = svg.find(f"*[@data-wait='{number}']")
        assert float(line.get("x1")) == pytest.approx(picture.x(act.at_s), abs=0.06)
        assert float(line.get("x2")) == pytest.approx(picture.x(at_s), abs=0.06)
        assert at_s <= picture.across.high


def test_the_stretches_of_a_law_hold_all_of_it(choices):
    known = facts(figures(choices))
    for runs in known.laws.values():
        bins = law_bins(runs, known.hold, known.waits["batched"][2] + 1)
        assert sum(bins) == pytest.approx(1)
        assert min(bins) >= -1e-12


def test_an_axis_is_the_narrowest_round_one(choices):
    pictures, known = charts(figures(choices), {}), facts(figures(choices))
    for name, end in (("laws", known.waits["batched"][2]), ("evening", max(watch(choices).at_s))):
        ends = [high for _, high in RANGES[name]]
        assert pictures[name].across.high == next(high for high in ends if high > end)
