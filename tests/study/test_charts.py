import re
from dataclasses import replace

import altair as alt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.core.policy import Policy
from tarry.study.advice import Advice
from tarry.study.audit import audit
from tarry.study.baselines import baseline
from tarry.study.charts import (
    audit_charts,
    chart_png,
    chart_svg,
    gaps_chart,
    posterior_chart,
    precision_chart,
    rates_chart,
    roc_chart,
    threats_of,
    trade_chart,
    trades,
    write_charts,
)
from tarry.study.charts.style import DARK, LIGHT, duration_axis, nice_top
from tarry.study.figures import percent, seconds, shown_names
from tarry.study.practice import observer
from tarry.study.question import Question
from tarry.study.recommend import advise
from tarry.study.replay import replay
from tarry.study.runs import AttackRun
from tarry.study.score import Counts, Score
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES
from tarry.study.table import event_table
from tarry.study.tried import TriedPolicy

SECOND = 1_000_000
FEW = st.integers(0, 50)
COUNTS = st.builds(Counts, true_positives=FEW, false_positives=FEW, false_negatives=FEW, true_negatives=FEW)


@pytest.fixture(scope="module")
def table():
    made = synthesize(RECIPES["forum"], seed=3)
    return event_table(actor=made.actor, target=made.target, time=made.time)


@pytest.fixture(scope="module")
def found(table):
    practices = [
        baseline("nothing"),
        replay(Policy(epsilon="1", gap="11m"), "/home/ada/mine.toml"),
        baseline("hotcrp:Europe/Berlin"),
    ]
    watchers = [observer("notified"), observer("archive")]
    return audit(table, Question(practices=practices, observers=watchers, draws=2))


@pytest.fixture(scope="module")
def advice(table):
    return advise(table, epsilons=["1", "2"])


@pytest.fixture(scope="module")
def charts(found, advice):
    return audit_charts(replace(found, advice=advice))


@pytest.fixture(scope="module")
def pictures(charts):
    return {name: chart_svg(chart) for name, chart in charts.items()}


def rows(chart, place=0):
    """The rows that a layer draws: its own, or those that all layers share."""
    own = chart.layer[place].data
    return (chart.data if own is alt.Undefined else own).values


def run_of(*counts, policy="nothing", draw=0):
    scores = [Score(cutoff=(place + 1) * SECOND, counts=one) for place, one in enumerate(counts)]
    return AttackRun(attack="cutoff", observer="notified", policy=policy, draw=draw, scores=scores)


def test_an_audit_has_every_chart_under_a_name_for_files(charts):
    assert list(charts) == [
        "gaps",
        "rates",
        "posterior",
        *(f"{kind}-notified-cutoff" for kind in ("precision", "roc", "trade")),
        *(f"{kind}-archive-cutoff" for kind in ("precision", "roc", "trade")),
        "advice",
    ]


def test_every_chart_is_valid_vega_lite(charts):
    for chart in charts.values():
        spec = chart.to_dict(validate=True)

        assert spec["$schema"] == alt.SCHEMA_URL
        assert spec["width"] <= 340  # a phone's


def test_every_chart_is_drawn_with_marks_and_asks_for_nothing(pictures):
    for svg in pictures.values():
        drawn = re.findall(r'<g class="mark-(?:line|symbol|rule)[^"]*role-mark.*?</g>', svg)

        assert any("<path" in group or "<line" in group for group in drawn)
        assert set(re.findall(r"https?://[^\"' ]+", svg)) <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xlink",
        }


def test_every_colour_has_one_for_dark_pages(pictures):
    used = {colour for svg in pictures.values() for colour in re.findall(r'(?:fill|stroke)="([^"]+)"', svg)}

    assert used - {"none", "transparent"} <= set(LIGHT.values())
    assert LIGHT.keys() == DARK.keys()


def test_a_chart_that_wants_data_from_elsewhere_is_refused():
    chart = alt.layer(alt.Chart(alt.UrlData(url="http://127.0.0.1:9/x.csv")).mark_point())

    with pytest.raises(ValueError, match="not allowed"):
        chart_svg(chart)


@settings(max_examples=15)  # making a chart takes a while
@given(st.lists(COUNTS, min_size=1, max_size=8))
def test_precision_is_drawn_as_measured(counts):
    """No point is moved, joined or left out, but those that have no precision or recall."""
    drawn = {(row["recall"], row["precision"]) for row in rows(precision_chart([run_of(*counts)]))}

    assert drawn == {
        (one.recall, one.precision)
        for one in counts
        if one.recall is not None and one.precision is not None
    }


@settings(max_examples=15)
@given(st.lists(COUNTS, min_size=1, max_size=8))
def test_the_line_goes_from_few_claims_to_many(counts):
    measured = [one for one in counts if one.recall is not None and one.precision is not None]
    claims = sorted(one.true_positives + one.false_positives for one in measured)
    ordered = sorted(rows(precision_chart([run_of(*counts)])), key=lambda row: row["place"])
    by_point = {}
    for one in measured:
        by_point.setdefault((one.recall, one.precision), []).append(
            one.true_positives + one.false_positives
        )

    assert len(ordered) == len(claims)
    assert all(
        size in by_point[row["recall"], row["precision"]] for row, size in zip(ordered, claims, strict=True)
    )


def test_points_without_a_false_alarm_are_left_out_of_a_logarithmic_axis():
    none = Counts(true_positives=1, false_positives=0, false_negatives=1, true_negatives=10)
    some = Counts(true_positives=2, false_positives=1, false_negatives=0, true_negatives=9)

    drawn = rows(roc_chart([run_of(none, some)]))

    assert [(row["alarms"], row["recall"]) for row in drawn] == [(0.1, 1.0)]


def test_the_line_of_chance_finds_as_many_as_it_claims():
    some = Counts(true_positives=2, false_positives=1, false_negatives=0, true_negatives=9_999)

    chance = rows(roc_chart([run_of(some)]), place=2)

    assert all(row["alarms"] == row["recall"] for row in chance)
    assert min(row["alarms"] for row in chance) <= 0.0001
    assert max(row["alarms"] for row in chance) == 1


def test_a_bound_of_the_promise_is_drawn_where_there_is_one():
    some = Counts(true_positives=1, false_positives=1, false_negatives=1, true_negatives=9)
    free = run_of(some)
    bound = AttackRun(**{**vars(free), "scores": [Score(cutoff=SECOND, counts=some, power_bound=0.7)]})

    assert len(roc_chart([bound]).layer) == len(roc_chart([free]).layer) + 1
    assert rows(roc_chart([bound]), place=-1)[0]["bound"] == 0.7


def test_several_draws_have_a_line_each_and_points_of_the_first():
    one = Counts(true_positives=1, false_positives=1, false_negatives=1, true_negatives=9)
    two = Counts(true_positives=2, false_positives=1, false_negatives=0, true_negatives=9)
    chart = precision_chart([run_of(one, two), run_of(two, one, draw=1)])

    assert {row["draw"] for row in rows(chart)} == {0, 1}
    assert {row["draw"] for row in rows(chart, place=1)} == {0}
    assert chart.to_dict()["layer"][0]["mark"]["strokeWidth"] == 1


def test_cutoffs_are_named_on_the_first_line_alone():
    one = Counts(true_positives=1, false_positives=3, false_negatives=3, true_negatives=9)
    two = Counts(true_positives=4, false_positives=0, false_negatives=0, true_negatives=9)
    chart = precision_chart([run_of(one, two), run_of(two, policy="mix:1h")])
    told = [row for place in (2, 3, 4) for row in rows(chart, place)]

    assert {(row["line"], row["text"]) for row in told} == {("nothing", "1s"), ("nothing", "2s")}


def test_gaps_are_the_percentiles_that_were_measured(found):
    m = found.measures
    inside, between = {}, {}
    for row in rows(gaps_chart(m)):
        (inside if "batch" in row["line"] else between)[round(100 * row["share"])] = row["gap"]

    assert inside == m.in_batch_curve_s
    assert between == m.null_curve_s
    assert {part: inside[part] for part in m.in_batch_gaps_s} == m.in_batch_gaps_s
    assert rows(gaps_chart(m), place=1)[0]["gap"] == m.window / SECOND


def test_rates_and_posteriors_are_those_that_were_measured(found):
    rates = {round(100 * row["part"]): row["rate"] for row in rows(rates_chart(found.measures))}
    before = [row for row in rows(posterior_chart(found)) if row["line"].startswith("before")]

    assert rates == found.measures.actor_rates
    assert all(row["chance"] == 1 / row["suspects"] for row in before)


def test_a_trade_shows_every_practice_of_a_scene(found):
    lines = [line for line in found.lines if line.observer == "archive"]
    points = trades(found, observer="archive", attack="cutoff")

    assert [(point.mean_s, point.right) for point in points] == [
        (line.mean_s, line.right_person.mean) for line in lines
    ]
    assert [point.name for point in points] == ["nothing", "mine.toml", "hotcrp:Europe/Berlin"]


def test_advice_shows_doing_nothing_and_marks_what_is_recommended(advice):
    drawn = rows(trade_chart(advice))
    best = [row for row in drawn if row["kind"] == "recommended"]

    assert len(drawn) == 1 + len(advice.choices)
    assert [(row["mean"], row["right"]) for row in best] == [(advice.best.mean_s, advice.best.right_person)]
    assert [row["right"] for row in drawn if row["kind"] == "nothing is done"] == [advice.right_before]


def test_practices_at_one_place_share_a_label(found):
    """Seen at once, noon on the stamp does nothing: both stand where nothing stands."""
    labels = [row["text"] for place in (1, 2, 3) for row in rows(trade_chart(found), place=place)]

    assert "1, 3" in labels
    assert sorted(", ".join(labels).split(", ")) == ["1", "2", "3"]


def test_a_label_does_not_lie_on_the_next_point():
    """Three policies of nearly one delay: there is room on the left, above, and on the right."""
    policy = Policy(epsilon="1", gap="11m")
    tried = [
        TriedPolicy(
            policy=policy,
            percentile=50,
            precision=0.5,
            right_person=0.5,
            reference=None,
            average_precision=0.5,
            mean_s=mean,
            longest_s=mean,
        )
        for mean in (1800.0, 2500.0, 3300.0)
    ]
    numbers = {"learned_on": 1, "measured_on": 3, "before": 0.8, "right_before": 0.8}
    chart = trade_chart(Advice(**numbers, choices=tried, best=tried[0]))

    assert [row["text"] for row in rows(chart, place=1)] == ["1", "4"]
    assert [row["text"] for row in rows(chart, place=2)] == ["2"]
    assert [row["text"] for row in rows(chart, place=3)] == ["3"]


def test_named_cutoffs_have_a_halo_below_them(found):
    layers = precision_chart(found.runs_of("nothing", "cutoff", "notified")).to_dict()["layer"]
    names = [layer for layer in layers if layer["mark"]["type"] == "text"]
    halos, words = names[: len(names) // 2], names[len(names) // 2 :]

    assert [one["mark"]["dx"] for one in halos] == [one["mark"]["dx"] for one in words]
    assert {one["mark"]["stroke"] for one in halos} == {LIGHT["paper"]}
    assert all("stroke" not in one["mark"] for one in words)


def test_policies_that_help_nobody_are_drawn_too(found, advice):
    assert "advice" in audit_charts(replace(found, advice=replace(advice, best=None)))
    assert "advice" not in audit_charts(replace(found, advice=replace(advice, right_before=0.0, best=None)))


def test_an_empty_scene_has_no_curves():
    lone = event_table(actor=["a", "b"], target=[1, 2], time=[0, 5 * SECOND])
    found = audit(lone, Question(practices=[baseline("nothing")]))

    assert list(audit_charts(found)) == ["gaps"]
    assert list(threats_of(found)) == [("notified", "cutoff")]


def test_charts_are_written_as_pictures(charts, tmp_path):
    folder = tmp_path / "new" / "folder"
    written = write_charts({"gaps": charts["gaps"]}, folder)

    assert written == [folder / "gaps.svg", folder / "gaps.png"]
    assert (folder / "gaps.svg").read_text(encoding="utf-8") == chart_svg(charts["gaps"])
    assert (folder / "gaps.png").read_bytes() == chart_png(charts["gaps"])


@given(st.floats(0, 1e9), st.sampled_from([1, 60]))
def test_an_axis_of_durations_begins_at_zero_and_its_labels_keep_apart(longest, unit):
    axis = duration_axis("delay", longest, unit)
    values, top = axis["axis"].values, axis["scale"].to_dict()["domain"][1]

    assert values[0] == 0
    assert values == sorted(set(values))
    assert values[-1] <= top
    assert 2 <= len(values) <= 11
    assert top >= longest


@given(st.lists(st.floats(0, 1), max_size=5))
def test_an_axis_of_shares_has_room_for_all(values):
    assert all(value <= nice_top(values) for value in values)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.0123, 0.0099, 0.00042, 3e-7, 1e-12])
def test_a_share_is_told_to_two_digits_at_least(share):
    told = percent(share)

    assert "e" not in told
    assert float(told[:-2]) == pytest.approx(100 * share, rel=0.05)


@given(st.floats(0, 1e8))
def test_a_duration_is_told_to_a_part_in_thirty(value):
    from tarry.core.exact import parse_duration

    told = seconds(value)

    assert len(re.findall("[a-z]+", told)) <= 2 or "e" in told
    if "e" not in told:
        assert float(parse_duration(told)) == pytest.approx(value, rel=1 / 30)


@given(st.lists(st.sampled_from(["a/x", "b/x", r"C:\x", "x", "x (2)", "nothing", "y"]), max_size=7))
def test_shown_names_differ_where_names_differ_and_have_no_folder(names):
    shown = shown_names(names)

    assert list(shown) == list(dict.fromkeys(names))
    assert len(set(shown.values())) == len(shown)
    assert not any("/" in name or "\\" in name for name in shown.values())
