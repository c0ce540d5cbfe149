"""Answers: the keys that programs rely on, plain values only, and nobody's name."""

import json
from fractions import Fraction

import numpy as np
import pytest

from tarry.core.bounds import posterior_batched
from tarry.core.policy import Policy
from tarry.study.advice import advise
from tarry.study.answer import SUSPECTS, advice_answer, audit_answer, posteriors_of
from tarry.study.attack.attacks import attack
from tarry.study.audit import Question, audit
from tarry.study.baselines import baseline
from tarry.study.observer import observer
from tarry.study.practice import MICROSECONDS
from tarry.study.replay import replay
from tarry.study.score import average_precision, crossover, recall_at
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
    answer = json.loads(json.dumps(audit_answer(found)))

    assert {key: type(answer[key]) for key in KEYS} == KEYS
    assert len(answer["attacks"]) == len(found.runs) == 2 * 4 + 2 * (4 + 5)
    for run in answer["attacks"]:
        assert {key: type(run[key]) for key in RUN} == RUN
        for score in run["scores"]:
            assert {key: type(score[key]) for key in SCORE} == SCORE


def test_every_figure_is_the_one_measured(found):
    answer, measures = audit_answer(found), found.measures

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
        assert told == vars(cost)


def test_what_is_not_defined_is_null():
    """Precision where nothing is claimed, recall where nothing is linked; keys stay."""
    alone = event_table(actor=[1, 2], target=[1, 2], time=[0, 10 * 3600 * MICROSECONDS])
    answer = json.loads(json.dumps(audit_answer(audit(alone, Question(practices=[baseline("nothing")])))))
    score = answer["attacks"][0]["scores"][0]

    assert (score["precision"], score["recall"], score["true_negatives"]) == (None, None, 1)
    assert (answer["batching_rate"], answer["posteriors"], answer["advice"]) == (None, [], None)
    assert answer["attacks"][0]["average_precision"] is None


def test_posteriors_follow_the_measured_rates(found):
    """And are left out where a rate is not known."""
    seconds = np.array([0, 5, 9_000, 8, 90_000])
    table = event_table(actor=[1, 1, 1, 2, 3], target=range(5), time=seconds * MICROSECONDS)
    quiet = audit(table, Question(practices=[]))

    assert [posterior.suspects for posterior in posteriors_of(quiet)] == list(SUSPECTS)
    assert posteriors_of(quiet)[2].batched == pytest.approx(
        float(posterior_batched("0.5", Fraction(1, 3), 10))
    )
    assert posteriors_of(audit(table, Question(practices=[]), different=False)) == []
    assert found.measures.different == 1  # all five ever act within five minutes of each other
    assert posteriors_of(found) == []


def test_advice_is_told_with_its_choices(table):
    advice = advise(table)
    answer = json.loads(json.dumps(advice_answer(advice)))

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
    assert audit_answer(found, "too few events")["advice"] == "too few events"


def test_nobody_is_named(found, table):
    """Neither people nor what they acted on, by name or by number."""
    text = json.dumps(audit_answer(found, advise(table)))

    assert not [name for name in NAMES + PLACES if name in text]
    assert not [number for number in {*table.actor.tolist(), *table.target.tolist()} if str(number) in text]
