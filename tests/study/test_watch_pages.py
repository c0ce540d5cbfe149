"""The long watch as charts and as a page: figures as in the tables, with intervals beside them."""

import re
from dataclasses import replace

import pytest

from tarry.study.audit import Question, audit
from tarry.study.baselines import baseline
from tarry.study.charts import audit_charts, chart_svg, watch_charts
from tarry.study.charts.style import DARK, LIGHT
from tarry.study.charts.watch import watch_chart
from tarry.study.report.long_watch import watch_html
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import Recipe
from tarry.study.table import event_table
from tarry.study.watch import DATES, TENURE, WatchQuestion, watch


@pytest.fixture(scope="module")
def table():
    made = synthesize(Recipe(events=2_000, actors=40, bots=0), seed=1)
    return event_table(actor=made.actor, target=made.target, time=made.time)


@pytest.fixture(scope="module")
def found(table):
    practices = [baseline("jitter:1h"), baseline("jitter:24h")]
    return watch(table, WatchQuestion(practices=practices, splits=1))


def rows(chart):
    return [layer.data.values for layer in chart.layer]


@pytest.mark.parametrize("shared", ["sessions", "weeks"])
def test_every_figure_of_the_growth_is_in_the_chart(found, shared):
    """With its interval, at the place of its range."""
    solid, dashed, spread, points = rows(watch_chart(found, shared))
    steps = found.of("nothing").by_sessions if shared == "sessions" else found.of("nothing").by_weeks
    drawn = [row for row in points if row["line"] == "nothing"]

    assert [(row["first"], row["low"], row["high"]) for row in drawn] == [
        (step.first.mean, step.first.low, step.first.high) for step in steps
    ]
    assert [row["shared"] for row in drawn] == [step.text for step in steps]
    assert solid == spread == points
    assert {row["line"] for row in solid} == {"nothing", "jitter:1h", "jitter:1d"}
    assert {row["line"] for row in dashed} == {DATES, TENURE}


def test_no_interval_hides_another(found):
    """Lines stand beside each other, nearer to their own range than to the next."""
    points = rows(watch_chart(found, "weeks"))[-1]
    places = [row["place"] for row in points]

    assert len(set(places)) == len(places)
    assert all(abs(place - round(place)) < 0.25 for place in places)


def test_the_axis_names_every_range(found):
    """As the tables do."""
    picture = chart_svg(watch_chart(found, "sessions"))

    for step in found.of("nothing").by_sessions:
        assert f">{step.text}<" in picture
    for name in ("nothing", "jitter:1h", DATES, TENURE):
        assert f">{name}<" in picture


def test_a_report_with_a_watch_has_its_charts(table, found):
    """By name, beside all others; without one there are none."""
    report = audit(table, Question(practices=["nothing"]))

    assert not {"watch-sessions", "watch-weeks"} & set(audit_charts(report))
    assert {"watch-sessions", "watch-weeks"} <= set(replace(report, watch=found).charts)
    assert replace(report, watch=found).html().count("over the weeks that both names share") == 2


def test_nothing_found_is_no_chart(found):
    assert watch_charts(replace(found, findings=())) == {}


def test_the_page_holds_pictures_and_loads_nothing(found):
    """Pictures are drawn, not shown as text, and follow the colours of the reader's screen."""
    page = watch_html(found, ["40 events of bots are left out"])

    assert page.count("<svg") == 2
    assert "&lt;svg" not in page
    assert not re.search(r"(src|href)=", page)
    assert "Note: 40 events of bots are left out" in page
    assert all(colour in page for colour in (LIGHT["faint"], DARK["faint"]))
