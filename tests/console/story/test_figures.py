"""The pictures of the story: their numbers are those of the core and of the workbench."""

import re
from fractions import Fraction
from math import exp, log
from xml.etree import ElementTree as ET

import pytest

from tarry.console.pages import texts
from tarry.console.story.figures import GHOSTS, budget, days, delay, gap, laws
from tarry.console.story.guessing import SIDES, guessing
from tarry.console.workbench.evening import PEOPLE, acts_of_the_evening, watch
from tarry.console.workbench.figures import START, figures, read_choices
from tarry.console.workbench.seasons import odds, risen
from tarry.core.plan import plan
from tarry.core.policy import Policy

PARTS = {each.name: each for each in (delay(), laws(), gap(), budget(), days())}


@pytest.fixture(params=PARTS)
def part(request):
    return PARTS[request.param]


def test_a_picture_begins_with_the_marks_of_its_start(part):
    svg = ET.fromstring(part.picture)  # noqa: S314 - our own
    drawn = {each.get("data-mark"): each for each in svg.iter() if each.get("data-mark")}

    assert svg.get("aria-labelledby") == f"{part.name}-sentence"
    assert drawn.keys() == part.shown.marks.keys()
    for name, attributes in part.shown.marks.items():
        for attribute, value in attributes.items():
            if isinstance(value, float | int):
                assert float(drawn[name].get(attribute)) == pytest.approx(value, abs=0.051)
            else:
                assert (drawn[name].text if attribute == "text" else drawn[name].get(attribute)) == value


def test_every_stop_differs_from_its_neighbours_in_picture_and_value(part):
    for one, other in zip(part.stops, part.stops[1:], strict=False):
        assert one.value != other.value
        assert one.marks != other.marks
        assert "{" not in one.sentence


def test_the_ghosts_are_quantiles_of_the_law_of_batched_posts():
    law, hold = START.policy.mechanism().pair.batched, START.policy.hold_ticks
    first, last = (delay().stops[place].marks["here"]["cx"] for place in (0, -1))
    frame = [float(word) for word in re.search(r'data-box="([^"]+)"', delay().picture)[1].split()]

    def minutes(x):
        return 60 * (x - frame[0]) / (frame[2] - frame[0])

    assert minutes(first) == pytest.approx((hold + law.quantile(Fraction(1, 2 * GHOSTS))) / 60, abs=0.1)
    assert minutes(last) == pytest.approx((hold + law.maximum) / 60, abs=0.1)


@pytest.mark.parametrize("place", [0, 9, -1])
def test_the_ruler_is_as_long_as_the_laws_differ(place):
    """Its length on an axis of factors, against the largest ratio of the exact laws."""
    stop = laws().stops[place]
    pair = Policy(epsilon=stop.value, gap="11m", window="5m").mechanism().pair
    ruler = stop.marks["ruler"]
    units = (194 - 26) / log(0.5 / 0.01)

    assert (ruler["y2"] - ruler["y1"]) / units == pytest.approx(log(pair.largest_ratio), abs=1e-3)
    assert f"{float(pair.largest_ratio):.2f} times" in stop.sentence
    assert stop.marks["word"]["text"] == f"× {float(pair.largest_ratio):.2f}"


@pytest.mark.parametrize("place", [0, 5, -1])
def test_strangers_in_the_band_are_the_innocent_company_of_the_workbench(place):
    stop = gap().stops[place]
    numbers = figures(read_choices({"gap": stop.value}))
    inside = sum("inside" in str(marks.get("class", "")) for marks in stop.marks.values())

    assert inside == pytest.approx(20 * float(numbers.mass), abs=0.51)
    assert f"{inside} of 20 strangers" in stop.sentence
    assert stop.marks["word"]["text"] == f"{100 * numbers.chosen.delayed:.0f} %"


def test_the_stacks_are_the_accountants():
    season = read_choices({"law": "season"})
    known = {one.pairs: one for one in odds(season.policy, season.pairs, Fraction("0.01"))}
    for stop in budget().stops:
        pairs = int(stop.value)
        nats = (float(pairs), known[pairs].older, known[pairs].season)
        for column, cost in enumerate(nats):
            height = (224 - 44) * min(cost, log(1000)) / log(1000)
            assert stop.marks[f"stack-{column}"]["height"] == pytest.approx(max(height, 1), abs=0.01)
    last = budget().stops[-1].sentence.replace("\xa0", " ")
    assert f"{100 * risen(known[200].season):.1f} % under a law made for a season" in last
    assert float(plan(season.policy).batched.mean) / 3600 == pytest.approx(7.9, abs=0.05)


def test_fewer_and_fewer_names_share_the_days_and_one_is_left():
    left = [
        sum(str(marks.get("class")) == "days left" for marks in stop.marks.values())
        for stop in days().stops
    ]

    assert left == sorted(left, reverse=True)
    assert left[0] > 3
    assert left[-1] == 1


def test_the_posts_to_guess_are_the_workbenchs_each_under_another_name():
    acts, posts = acts_of_the_evening()[:14], guessing().posts

    assert len({act.lane for act in acts}) == len(posts) == 14
    assert [post.person for post in posts] == [PEOPLE[act.person] for act in acts]
    assert [post.at_s for post in posts] == [
        (act.at_s, at) for act, at in zip(acts, watch(START).at_s, strict=False)
    ]
    for side in (0, 1):  # a finger can choose between any two
        for n, one in enumerate(posts):
            for other in posts[:n]:
                (x0, y0), (x1, y1) = one.places[side], other.places[side]
                assert abs(x0 - x1) > 30 or abs(y0 - y1) > 30
    assert list(guessing().pictures) == list(SIDES)


def test_the_odds_are_said_as_they_are():
    shown = laws().stops[9].sentence.replace("\xa0", " ")

    assert f"{exp(1):.2f} times" in shown
    assert f"{100 * risen(1):.1f} % sure" in shown
    assert texts()["story"]["laws"]["note"].startswith("Compared are")
