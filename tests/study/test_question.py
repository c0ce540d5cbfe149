"""The question: what an audit looks at, given as things or as text, and checked at once."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.study.attack import attack
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS, observer
from tarry.study.question import CUTOFFS, Question
from tarry.study.replay import replay

SECONDS = [second * MICROSECONDS for second in CUTOFFS]


def test_a_question_asks_for_something():
    question = Question(practices=[])
    with pytest.raises(BadInput, match="the number of draws must be at least 1, not 0"):
        replace(question, draws=0)
    with pytest.raises(BadInput, match="no cutoffs given: give at least one"):
        replace(question, cutoffs=[])
    assert list(question.cutoffs) == SECONDS


def test_texts_mean_what_they_mean_on_the_command_line():
    policy = Policy(epsilon="1", gap="11m")
    written = Question(
        practices=["nothing", policy, "jitter:24h"],
        observers=["archive", "poller:10m"],
        attacks=["likelihood", "nearest:0.1"],
        window="10m",
        cutoffs=["10s", "1m"],
    )
    made = Question(
        practices=[baseline("nothing"), replay(policy), baseline("jitter:1d")],
        observers=[observer("archive"), observer("poller:10m")],
        attacks=[attack("likelihood"), attack("nearest:0.1")],
        window=600 * MICROSECONDS,
        cutoffs=[10 * MICROSECONDS, 60 * MICROSECONDS],
    )

    assert written == made


def test_a_policy_is_recommended_where_no_practices_are_given():
    """And cutoffs go on where none are given, so that nothing looks private because nobody looked."""
    assert Question().recommend
    assert Question().stretch
    assert not Question(practices=["nothing"]).recommend
    assert not Question(cutoffs=["5m"]).stretch
    assert Question(practices=["nothing"], recommend=True).recommend


def test_delays_without_a_gap_are_measured_by_the_first_policy_else_by_the_window():
    policy = Policy(epsilon="1", gap="1h")

    assert Question(practices=["jitter:24h"], window="10m").gap == 600
    assert Question(practices=["jitter:24h", policy]).gap == Fraction(3600)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"practices": ["mix:1h", "mix:60m"]}, "the practice 'mix:1h' is given twice: give it once"),
        ({"observers": ["archive", "archive"]}, "the observer 'archive' is given twice"),
        ({"attacks": ["cutoff", "cutoff"]}, "the attack 'cutoff' is given twice"),
        ({"observers": ["fly"]}, "unknown observer 'fly': use notified, archive or poller:10m"),
        ({"practices": ["mixx:1h"]}, "unknown practice 'mixx': use nothing, hotcrp"),
        ({"window": "soon"}, "the window"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(asked, sentence):
    with pytest.raises(BadInput, match=sentence):
        Question(**asked)
