"""A report in somebody's hands: it prints, fits a notebook, and gives its tables, charts and JSON."""

import json
import sys
from dataclasses import replace
from subprocess import run

import numpy as np
import polars as pl
import pytest

from tarry.cli.main import main
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.study.audit import audit
from tarry.study.charts import audit_charts
from tarry.study.frames import TABLES
from tarry.study.practice import MICROSECONDS
from tarry.study.question import Question
from tarry.study.report.markup import el
from tarry.study.table import event_table

START = 1_700_000_000


def history(events=900):
    """A few weeks of forty people."""
    rng = np.random.default_rng(11)
    return event_table(
        actor=rng.integers(0, 40, events),
        target=rng.integers(0, 30, events),
        time=(START + np.sort(rng.integers(0, 900_000, events))) * MICROSECONDS,
    )


@pytest.fixture(scope="module")
def report():
    """Two practices, two observers, two draws, and a recommendation."""
    question = Question(
        practices=["nothing", Policy(epsilon="1", gap="11m")],
        observers=["notified", "archive"],
        cutoffs=["1m", "5m", "1h"],
        draws=2,
        recommend=True,
        epsilons=["1"],
    )
    return audit(history(), question)


THREAT = ("policy", "observer", "attack", "confidence")


@pytest.fixture(scope="module")
def empty():
    """Nobody links anything, and nothing was tried."""
    return audit(event_table(actor=["a"], target=[1], time=[START * MICROSECONDS]), Question(practices=[]))


def test_every_table_is_a_frame_with_plain_columns(report):
    for name in TABLES:
        frame = report.to_frame(name)

        assert isinstance(frame, pl.DataFrame), name
        assert frame.height, name
        assert {kind.is_nested() or kind == pl.Null for kind in frame.dtypes} == {False}, name


def test_an_unknown_table_is_refused_with_those_there_are(report):
    with pytest.raises(
        BadInput, match="a report has no table 'runs': use lines, scores, people, activity, costs, ya"
    ):
        report.to_frame("runs")


def test_lines_hold_what_the_lines_say(report):
    rows = report.to_frame("lines").to_dicts()

    assert len(rows) == len(report.lines) == 4
    for row, line in zip(rows, report.lines, strict=True):
        assert (row["policy"], row["observer"]) == (line.policy, line.observer)
        assert row["right_person"] == line.right_person.mean
        assert (row["precision_low"], row["precision_high"]) == (line.precision.low, line.precision.high)
        assert (row["people_low"], row["people_high"]) == line.interval
        assert row["called_0.5"] == line.called[0.5]
        assert row["excess"] == line.excess
        assert row["promise"] == report.promises[line.policy]


def test_scores_have_a_row_for_each_cutoff_of_each_run(report):
    frame = report.to_frame("scores")
    scores = [(run.policy, run.draw, score) for run in report.runs for score in run.scores]

    assert frame.height == len(scores) == 18  # nothing is drawn once, the policy twice; 2 observers
    for row, (policy, draw, score) in zip(frame.to_dicts(), scores, strict=True):
        assert (row["policy"], row["draw"], row["cutoff_s"]) == (policy, draw, score.cutoff_s)
        assert row["claims"] == row["true_positives"] + row["false_positives"] == score.counts.claims
        assert row["right_person"] == score.right_person


def test_people_have_a_row_for_each_confidence_and_activity_one_for_each_size(report):
    asked = [(run, at, calls) for run in report.runs for at, calls in run.people.calls.items()]
    people, activity = (report.to_frame(name).to_dicts() for name in ("people", "activity"))

    assert len(people) == len(asked) == 8  # of two practices and two observers, the first draw
    for row, (attacked, confidence, calls) in zip(people, asked, strict=True):
        threat = (attacked.policy, attacked.observer, attacked.attack, confidence)
        assert tuple(row[name] for name in THREAT) == threat
        assert (row["called"], row["top_share"]) == (calls.called, calls.top_share)
        sizes = [
            each for each in activity if [each[name] for name in THREAT] == [row[name] for name in THREAT]
        ]
        assert sum(each["people"] for each in sizes) == row["people"]
        assert sum(each["called"] for each in sizes) == row["called"]


def test_the_other_tables_hold_what_was_measured(report):
    costs, yardsticks = report.to_frame("costs"), report.to_frame("yardsticks")
    measures = {
        (row["measure"], row["percentile"]): row["value"] for row in report.to_frame("measures").to_dicts()
    }
    base = yardsticks.filter(yardstick="base", policy="nothing").row(0, named=True)

    assert costs["mean_s"].to_list() == [cost.mean_s for cost in report.costs]
    assert base["persons"] / base["pairs"] == base["share"] == report.yardsticks["nothing"].base.share
    assert measures["events", None] == 900
    assert measures["null_gaps_s", 50] == report.measures.null_gaps_s[50]
    assert report.to_frame("choices")["precision"].to_list() == [
        choice.precision for choice in report.advice.choices
    ]
    assert report.to_frame("posteriors")["suspects"].to_list() == [2, 5, 10, 20, 50]


def test_a_table_of_what_was_not_measured_is_empty(empty):
    assert [name for name in TABLES if empty.to_frame(name).height] == ["measures"]


def test_it_prints_its_sizes_its_headlines_and_the_recommendation(report, empty):
    sizes, pairs, *others = str(report).splitlines()

    assert sizes == "900 events by 40 actors on 30 targets, 2023-11-14 to 2023-11-25"
    assert pairs.startswith(f"{report.linked_pairs:,} linked pairs among ")
    assert others == [*report.headlines, *report.advice.words]
    assert report.headlines[-1].startswith("With epsilon 1, gap 660s ")
    assert " of neighbours on one target change places, and half of the replies " in report.headlines[-1]
    assert str(replace(report, advice=None, no_advice="why")).endswith("\nNo recommendation: why.")
    assert repr(report) == (
        "<Report of 900 events by 40 actors, practices ['nothing', 'epsilon 1, gap 660s']>"
    )
    assert len(str(empty).splitlines()) == 2


def test_a_notebook_shows_a_summary_that_loads_and_runs_nothing(report, empty):
    page = report._repr_html_()

    assert page.startswith("<div><p><strong>900 events by 40 actors")
    assert page.count("<tr>") == 1 + len(report.lines)
    assert f"<strong>{el('p', report.advice.sentence)[3:-4]}</strong>" in page
    for column in ("reference", "excess", "lift", "mean delay", "reordered", "half reply within"):
        assert f">{column}</th>" in page
    assert not [word for word in ("<script", "src=", "href=", "url(", "<style", "onclick") if word in page]
    assert len(page) < 10_000 < len(report.html())
    assert "<table" not in empty._repr_html_()


def test_more_lines_than_fit_are_counted():
    practices = ["nothing", *(f"jitter:{hours}h" for hours in range(1, 15))]
    page = audit(history(60), Question(practices=practices))._repr_html_()

    assert page.count("<tr>") == 1 + 12
    assert "3 more are in to_frame" in page


def test_charts_are_those_of_the_page(report):
    assert list(report.charts) == list(audit_charts(report)) != []
    assert report.charts["gaps"].to_dict() == audit_charts(report)["gaps"].to_dict()


def test_nothing_of_a_report_but_charts_and_pages_loads_the_chart_library():
    """A script that wants figures alone does not wait for it."""
    program = (
        "import sys, tarry\n"
        "from tarry.study.table import event_table\n"
        "table = event_table(actor=[1, 1], target=[1, 2], time=[0, 60_000_000])\n"
        "report = tarry.audit(table, tarry.Question(practices=['nothing']))\n"
        "str(report), report.to_frame('lines'), report.to_json()\n"
        "sys.exit('altair' in sys.modules)\n"
    )

    assert run([sys.executable, "-c", program], check=False).returncode == 0


def test_its_json_is_what_the_command_prints(tmp_path, capsys):
    rng = np.random.default_rng(3)
    acts = pl.DataFrame(
        {
            "actor": rng.integers(0, 5, 80),
            "target": rng.integers(0, 5, 80),
            "time": START + rng.integers(0, 9_000, 80),
        }
    )
    path = tmp_path / "acts.csv"
    acts.write_csv(path)

    assert main(["audit", str(path), "--no-advice", "--cutoffs", "1m,5m", "--json"]) == 0
    printed = capsys.readouterr().out
    report = audit(path, Question(cutoffs=["1m", "5m"], recommend=False))

    assert json.loads(report.to_json()) == json.loads(printed)


def test_a_clock_that_begins_at_0_is_told_in_days_and_not_as_1970():
    """Some histories are published with the first event at 0."""
    table = history(200)
    counted = event_table(
        actor=table.actor.tolist(),
        target=table.target.tolist(),
        time=(table.time - table.time.min()).tolist(),
    )
    report = audit(counted, Question(practices=["nothing"]))

    assert str(report).splitlines()[0].endswith(", day 1 to day 11")
    assert "day 1 to day 11" in report.html()
    assert "1970" not in report.html()


def test_a_command_and_a_question_take_the_same_form_and_zone(tmp_path, capsys):
    path = tmp_path / "acts.csv"
    path.write_text("actor,target,time\nann,p,1.7.2024 01:00\nann,q,1.7.2024 01:01\nbob,p,1.7.2024 01:09\n")
    said = {"time_format": "%d.%m.%Y %H:%M", "time_zone": "Europe/Berlin"}
    options = ["--time-format", said["time_format"], "--time-zone", said["time_zone"]]

    assert main(["audit", str(path), "--no-advice", *options]) == 0
    printed = capsys.readouterr()
    report = audit(path, Question(practices=["nothing"], **said))

    sizes = "3 events by 2 actors on 2 targets, 2024-06-30 to 2024-06-30"
    assert printed.out.startswith(sizes)
    assert "note: times carry no zone: read as Europe/Berlin" in printed.err
    assert str(report).startswith(sizes)
