"""The audit: any form of a history, one report; plain values for programs, and nobody's name."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tarry
from readers.kinds import OnlyAStream
from tarry.core.calibrate import posterior_batched
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.readers.events import Event, EventStream
from tarry.readers.faults import Faults
from tarry.readers.frames import read_frame
from tarry.study.attack import attack
from tarry.study.audit import SUSPECTS, audit
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS, observer
from tarry.study.question import Question
from tarry.study.recommend import advise
from tarry.study.replay import replay
from tarry.study.score import average_precision, crossover, recall_at
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import Recipe
from tarry.study.table import event_table

#: What programs are promised.
KEYS = {
    "events": int,
    "actors": int,
    "targets": int,
    "batched_share": float,
    "linked_pairs": int,
    "candidate_pairs": int,
    "attacks": list,
}
RUN = {"attack": str, "observer": str, "policy": str, "draw": int, "scores": list}
SCORE = {
    "cutoff_s": float,
    "true_positives": int,
    "false_positives": int,
    "false_negatives": int,
    "true_negatives": int,
    "precision": float,
    "recall": float,
}
NAMES = ["Adelheid", "Balthasar", "Cunigunde", "Dietlinde", "Engelbert"]
SECONDS = [0, 60, 61, 4_000, 4_030, 9_000]
ACTS = pl.DataFrame(
    {"user": ["a", "a", "b", "b", "b", "c"], "page": ["p", "q", "q", "p", "q", "p"], "ts": SECONDS}
)
PLACES = ["Quedlinburg", "Rothenburg", "Speyer", "Tangermünde", "Ulm"]


@pytest.fixture(scope="module")
def table():
    """Weeks of people with names that are easily found again."""
    rng = np.random.default_rng(5)
    return event_table(
        actor=[NAMES[i] for i in rng.integers(0, 5, 600)],
        target=[PLACES[i] for i in rng.integers(0, 5, 600)],
        time=rng.integers(0, 400_000, 600) * MICROSECONDS,
    )


@pytest.fixture(scope="module")
def found(table):
    """Two practices, two observers, all attacks."""
    question = Question(
        practices=[baseline("nothing"), replay(Policy(epsilon="1", gap="11m"))],
        observers=[observer("notified"), observer("poller:10m")],
        attacks=[attack(name) for name in ("cutoff", "likelihood", "recipient", "informed", "nearest")],
        draws=2,
    )
    return audit(table, question)


def test_the_promised_keys_are_there_with_plain_values(found):
    """After a trip through JSON, which knows no fractions, numbers of numpy or records."""
    answer = json.loads(json.dumps(found.as_dict()))

    assert {key: type(answer[key]) for key in KEYS} == KEYS
    assert len(answer["attacks"]) == len(found.runs) == 2 * 4 + 2 * (4 + 5)
    for run in answer["attacks"]:
        assert {key: type(run[key]) for key in RUN} == RUN
        for score in run["scores"]:
            assert {key: type(score[key]) for key in SCORE} == SCORE


def test_every_figure_is_the_one_measured(found):
    answer, measures = found.as_dict(), found.measures

    assert (answer["events"], answer["actors"], answer["targets"]) == (600, 5, 5)
    assert answer["batched_share"] == measures.batching.batched_share
    assert (answer["batching_rate"], answer["moves"]) == (measures.batching.rate, measures.batching.moves)
    assert answer["moves_within"] == measures.batching.moves_within
    assert (answer["linked_pairs"], answer["candidate_pairs"]) == (
        found.linked_pairs,
        found.candidate_pairs,
    )
    assert answer["different_rate"] == float(measures.different)
    assert answer["window_s"] == 300
    assert (answer["in_batch_gaps_s"], answer["null_gaps_s"]) == (
        measures.in_batch_gaps_s,
        measures.null_gaps_s,
    )
    for told, run in zip(answer["attacks"], found.runs, strict=True):
        counts = [score.counts for score in run.scores]
        assert (told["attack"], told["observer"], told["policy"], told["draw"]) == (
            run.attack,
            run.observer,
            run.policy,
            run.draw,
        )
        assert told["average_precision"] == average_precision(counts)
        assert told["error_crossover_rate"] == crossover(counts)
        assert told["recall_at_half_precision"] == recall_at(counts, 0.5)
        for line, score in zip(told["scores"], run.scores, strict=True):
            assert {**vars(score.counts), "cutoff_s": score.cutoff / 1e6} == {
                key: line[key] for key in (*vars(score.counts), "cutoff_s")
            }
            assert (line["precision"], line["recall"]) == (score.counts.precision, score.counts.recall)
            assert line.get("multiple") == score.multiple
            assert line.get("power_bound") == score.power_bound
    for told, cost in zip(answer["costs"], found.costs, strict=True):
        assert told == cost.as_dict()
        assert all(told[name] == value for name, value in vars(cost).items() if name != "spent")


def test_what_is_not_defined_is_null():
    """Precision where nothing is claimed, recall where nothing is linked; keys stay."""
    alone = event_table(actor=[1, 2], target=[1, 2], time=[0, 10 * 3600 * MICROSECONDS])
    answer = json.loads(json.dumps(audit(alone, Question(practices=["nothing"])).as_dict()))
    score = answer["attacks"][0]["scores"][0]

    assert (score["precision"], score["recall"], score["true_negatives"]) == (None, None, 1)
    assert (answer["batching_rate"], answer["posteriors"], answer["advice"]) == (None, [], None)
    assert answer["attacks"][0]["average_precision"] is None


def test_posteriors_follow_the_measured_rates(found):
    """And are left out where a rate is not known."""
    seconds = np.array([0, 5, 9_000, 8, 90_000])
    table = event_table(actor=[1, 1, 1, 2, 3], target=range(5), time=seconds * MICROSECONDS)
    quiet = audit(table, Question(practices=[]))

    assert [posterior.suspects for posterior in quiet.posteriors] == list(SUSPECTS)
    assert quiet.posteriors[2].batched == pytest.approx(float(posterior_batched("0.5", Fraction(1, 3), 10)))
    assert audit(table, Question(practices=[], different=False)).posteriors == []
    assert found.measures.different == 1  # all five ever act within five minutes of each other
    assert found.posteriors == []


def test_advice_is_told_with_its_choices(table):
    advice = advise(table)
    answer = json.loads(json.dumps(advice.as_dict()))

    assert answer["sentence"] == advice.sentence
    assert (answer["learned_on"], answer["measured_on"]) == (advice.learned_on, advice.measured_on)
    assert answer["precision_before"] == advice.before
    assert [choice["recommended"] for choice in answer["choices"]] == [
        c is advice.best for c in advice.choices
    ]
    for told, choice in zip(answer["choices"], advice.choices, strict=True):
        assert (told["epsilon"], told["gap_s"]) == (float(choice.policy.epsilon), float(choice.policy.gap))
        assert (told["precision"], told["mean_s"]) == (choice.precision, choice.mean_s)
        assert told["on_frontier"] == advice.on_frontier(choice)


def test_a_reason_in_place_of_advice_is_told_as_it_is(found):
    assert replace(found, no_advice="too few events").as_dict()["advice"] == "too few events"


def test_nobody_is_named(found, table):
    """Neither people nor what they acted on, by name or by number."""
    text = json.dumps(replace(found, advice=advise(table)).as_dict())

    assert not [name for name in NAMES + PLACES if name in text]
    assert not [number for number in {*table.actor.tolist(), *table.target.tolist()} if str(number) in text]


def sources(folder):
    """One history in every form that an audit takes."""
    path = folder / "acts.csv"
    ACTS.write_csv(path)
    events = [Event(actor, target, second * MICROSECONDS) for actor, target, second in ACTS.rows()]
    return {
        "path": path,
        "text": str(path),
        "polars": ACTS,
        "lazy": ACTS.lazy(),
        "pandas": pd.DataFrame(ACTS.to_dict(as_series=False)),
        "arrow": OnlyAStream(ACTS),
        "columns": read_frame(ACTS, time_unit="s"),
        "table": event_table(
            actor=ACTS["user"].to_list(),
            target=ACTS["page"].to_list(),
            time=[second * MICROSECONDS for second in SECONDS],
        ),
        "events": events,
        "generator": (event for event in events),
        "stream": EventStream(iter(events), Faults("the export")),
    }


@pytest.mark.parametrize("kind", range(11))
def test_every_form_of_a_history_gives_the_same_report(kind, tmp_path):
    """Whoever asks: a command gives a path, a notebook a frame, a reader a stream."""
    name, source = list(sources(tmp_path).items())[kind]
    question = Question(practices=["nothing", "mix:1h"], time_unit="s")
    report, table = audit(source, question), audit(sources(tmp_path)["table"], question)

    assert report.runs == table.runs, name
    assert report.costs == table.costs
    assert report.measures == table.measures
    assert report.linked_pairs == 2


def test_what_is_no_history_is_refused():
    with pytest.raises(BadInput, match="a history must be a path, a frame, a table or events, not int"):
        audit(5)
    with pytest.raises(BadInput, match="unknown engine 'dask': use memory, stream, spark, auto"):
        audit(ACTS, engine="dask")


def test_a_stream_brings_its_account_of_what_could_not_be_read():
    faults = Faults("the export")
    faults.add(7, "time is missing")
    events = [Event("a", "p", 0), Event("a", "q", 60 * MICROSECONDS), Event("SineBot", "q", 5, is_bot=True)]
    report = audit(
        EventStream(events, faults, ["half of it"]), Question(practices=["nothing"], without_bots=True)
    )

    assert report.reading.unreadable_count == 1
    assert [str(row) for row in report.reading.unreadable] == ["line 7: time is missing"]
    assert report.reading.notes == ("half of it",)
    assert report.notes == ["1 of 4 rows could not be read", "1 events of bots are left out"]


def test_a_table_is_filtered_like_a_file():
    rows = [(1, 1, 0), (1, 1, 0), (1, 2, 5), (2, 1, 9)]
    actor, target, time = zip(*rows, strict=True)
    table = event_table(actor=actor, target=target, time=time)

    assert audit(table, Question(practices=[], collapse=True)).measures.events == 3
    assert audit(table, Question(practices=[], busy_limit=1)).measures.events == 1
    with pytest.raises(BadInput, match="an EventTable does not say who is a bot"):
        audit(table, Question(practices=[], without_bots=True))


def test_one_call_measures_recommends_and_compares(table):
    """All of it in one report, with figures that agree; the stages are told on the way."""
    told = []
    question = Question(epsilons=["1"], compared=["mix:1h"])
    report = audit(table, question, progress=lambda stage, *_: told.append(stage))
    sides = report.comparison

    assert list(dict.fromkeys(told)) == ["measuring", "advising", "comparing", "replaying"]
    assert report.advice.sentence == advise(table, epsilons=["1"], draws=3).sentence
    assert list(sides.promises) == ["nothing", "recommended", "mix:1h"]
    assert sides.measures.events == report.after.measures.events == report.advice.measured_on
    [nothing] = [line for line in sides.lines if (line.policy, line.observer) == ("nothing", "notified")]
    assert nothing.precision.mean == report.advice.before
    assert [line["policy"] for line in report.as_dict()["comparison"][::2]] == list(sides.promises)


def test_what_cannot_be_recommended_or_compared_leaves_the_rest_standing():
    late = Policy(epsilon="1", gap="9m", deadline_at=1)
    report = audit(ACTS, Question(time_unit="s", compared=[late]))

    assert report.linked_pairs == 2
    assert (report.advice, report.after, report.comparison) == (None, None, None)
    assert "too few to learn" in report.no_advice
    assert "come after the deadline" in report.no_comparison


def test_a_practice_says_itself_what_it_promises_and_strands(table):
    report = audit(table, Question(practices=["nothing", "threshold:7", Policy(epsilon="1", gap="11m")]))

    assert list(report.promises.values()) == ["none", "none", "epsilon 1, gap 11m"]
    assert list(report.stranded.values()) == [0, 600 % 7, 0]


def test_the_package_offers_the_audit():
    assert tarry.audit is audit
    assert tarry.Question is Question
    assert isinstance(tarry.audit(ACTS, tarry.Question(practices=[], time_unit="s")), tarry.Report)


@pytest.fixture(scope="module")
def history_of_months():
    """Sixty people, some weeks, mostly in twos."""
    made = synthesize(Recipe(events=2_500, actors=60, bots=0), seed=2)
    return event_table(actor=made.actor, target=made.target, time=made.time)


def test_the_long_watch_is_part_of_an_audit_where_asked(history_of_months):
    """Everything that is replayed is watched; without the question there is nothing of it."""
    question = Question(practices=["nothing", replay(Policy(epsilon="1", gap="11m"), "mine")], watch=True)
    found = audit(history_of_months, question)

    assert found.watch.of("mine").first.mean > 3 * found.watch.chance
    assert found.as_dict()["watch"]["queries"] == found.watch.queries
    page = found.html()
    assert "After months: who is whose other name" in page
    assert all(sentence.split(":")[0] in page for sentence in found.watch.sentences)
    plain = audit(history_of_months, Question(practices=["nothing"]))
    assert (plain.watch, plain.no_watch) == (None, "")
    assert "After months" not in plain.html()


def test_where_nobody_can_be_watched_the_audit_stands():
    table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    found = audit(table, Question(practices=["nothing"], watch=True))

    assert found.watch is None
    assert found.no_watch
    assert f"Not measured: {found.no_watch}." in found.html()


def test_the_best_cutoff_does_not_depend_on_those_that_are_listed(history_of_months):
    """It is searched among all of them."""
    few, many = (
        audit(history_of_months, Question(practices=["nothing"], cutoffs=cutoffs)).runs[0].people
        for cutoffs in (["10s"], ["10s", "5m", "1h", "4h"])
    )

    assert few == many
