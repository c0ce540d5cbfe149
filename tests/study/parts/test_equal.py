"""An audit by slices says the same as one of the whole history, to the last digit."""

import json
import pickle
import random
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tarry.core.policy import Policy
from tarry.study.audit import Question, audit
from tarry.study.parts import tally, view
from tarry.study.parts.engine import InMemory, part_of
from tarry.study.parts.partial import Partial
from tarry.study.parts.report import audit_by_parts
from tarry.study.replay import replay
from tarry.study.table import event_table

SECOND = 1_000_000
UNITS = (1, 1_000, SECOND, 60 * SECOND)


@st.composite
def tables(draw, *, most=24):
    """Few actors, targets and moments, so that ties and duplicates are common; some far apart."""
    size = draw(st.integers(min_value=2, max_value=most))
    column = lambda low, high: draw(  # noqa: E731 - three columns alike
        st.lists(st.integers(min_value=low, max_value=high), min_size=size, max_size=size)
    )
    unit = draw(st.sampled_from(UNITS))
    times = [unit * time for time in column(0, draw(st.sampled_from([3, 50, 20_000])))]
    start = draw(st.sampled_from([0, -7 * 86_400 * SECOND, 1_700_000_000 * SECOND + 1]))
    return event_table(
        actor=column(0, draw(st.sampled_from([1, 5, 30]))),
        target=column(0, draw(st.sampled_from([1, 4, 30]))),
        time=[start + time for time in times],
        track=column(0, 1),
        declared=[bool(one) for one in column(0, 1)],
    )


@st.composite
def cuts(draw, table):
    """On moments of events, between them, before the first and after the last, some twice."""
    moments = sorted({int(time) for time in table.time})
    near = st.sampled_from(moments).flatmap(lambda at: st.sampled_from([at - 1, at, at + 1]))
    far = st.sampled_from([moments[0] - 10**9, moments[-1] + 10**9, (moments[0] + moments[-1]) // 2])
    return draw(st.lists(st.one_of(near, far), max_size=6))


POLICIES = [
    replay(Policy(epsilon="1", gap="11m", labels=labels), f"p-{labels}")
    for labels in ("held", "follower", "declared", "simultaneous")
] + [
    replay(Policy(epsilon="2", gap="90s", window="7s", tick="3s", labels="held"), "short"),
    replay(Policy(epsilon="1", gap="11m", target_gaps={"1": "1h"}, track_gaps={"0": "20m"}), "own gaps"),
    replay(Policy(epsilon="1", gap="11m", starts_at=5, ends_at=90), "period"),
]
#: Their laws are quickly made.
LEARNED = [
    replay(Policy(epsilon="2", gap="30s", window="7s", tick="3s", labels=labels), labels)
    for labels in ("held", "follower", "declared")
] + [replay(Policy(epsilon="2", gap="30s", window="7s", tick="3s", target_gaps={"1": "1m"}), "own gap")]
HABITS = [
    *("jitter:20m", "jitter:1m-5m", "mix:10m", "poisson:5m", "poisson:4s*3"),
    *("hotcrp", "hotcrp:Europe/Berlin", "rounding:1h", "backdated:12h", "end", "end:2023-11-15"),
]


@st.composite
def questions(draw):
    """One or two practices beside doing nothing, with one or two observers and attacks."""
    practices = draw(st.lists(st.sampled_from([*POLICIES, *HABITS]), max_size=2, unique_by=str))
    observers = draw(
        st.lists(
            st.sampled_from(["notified", "archive", "poller:10m"]), min_size=1, max_size=2, unique=True
        )
    )
    return Question(
        practices=["nothing", *practices],
        observers=observers,
        attacks=draw(
            st.sampled_from(
                [
                    *(["cutoff"], ["recipient", "cutoff"], ["nearest"], ["nearest:0.3"]),
                    *(["informed"], ["informed:0.5,1,3", "cutoff"]),
                ]
            )
        ),
        window=draw(st.sampled_from(["0s", "7s", "5m"])),
        cutoffs=draw(st.sampled_from([None, ["1m"], ["0s", "10s", "2h"]])),
        seed=draw(st.integers(min_value=0, max_value=9)),
        draws=draw(st.sampled_from([1, 2])),
        different=False,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class InAnyOrder(InMemory):
    """As real engines do: each slice gets a copy of the task, and is looked at and merged in any order."""

    def run(self, task):
        shuffled = random.Random(len(self.table))
        edges = list(pairwise([-(1 << 62), *sorted(set(self.cuts)), 1 << 62]))
        shuffled.shuffle(edges)
        sent = pickle.dumps(task)
        found = [
            pickle.loads(sent).look(  # noqa: S301 - our own
                part_of(self.table, start, end, before=task.before, after=task.after)
            )
            for start, end in edges
        ]
        parts = [*(each.partial for each in found), *self._reduced(task, found)]
        shuffled.shuffle(parts)
        total = Partial()
        for part in parts:
            total = Partial.from_json(part.to_json()).plus(total)
        return total


def agree(table, question, places, buckets=3):
    whole = audit(table, question)
    by_parts = audit_by_parts(InAnyOrder(table=table, cuts=places, buckets=buckets), question)
    assert json.loads(by_parts.to_json()) == json.loads(whole.to_json())
    assert by_parts.measures == replace(whole.measures, different=None)
    assert by_parts.stranded == whole.stranded
    assert by_parts.promises == whole.promises


@settings(max_examples=40)
@given(st.data())
def test_slices_add_up_to_the_whole(data):
    """Tables, cuts, labels, practices, observers and attacks of all kinds."""
    table = data.draw(tables())
    agree(table, data.draw(questions()), data.draw(cuts(table)))


@settings(max_examples=12)
@given(st.data())
def test_who_looks_less_far_may_be_given_what_others_look_at(data):
    """However much more that is: what lies further away cancels out."""
    table = data.draw(tables())
    kept, view._LITTLE = view._LITTLE, 1e-3
    try:
        agree(table, data.draw(questions()), data.draw(cuts(table)))
    finally:
        view._LITTLE = kept


@settings(max_examples=12)
@given(st.data())
def test_what_an_attack_learns_adds_up(data):
    """Gaps inside batches and labels of all parts together, then claims of the whole, or why none."""
    table = data.draw(tables())
    question = Question(
        practices=["nothing", data.draw(st.sampled_from(LEARNED))],
        observers=data.draw(st.sampled_from([["notified"], ["archive", "poller:10m"]])),
        attacks=["likelihood"],
        window=data.draw(st.sampled_from(["7s", "5m"])),
        cutoffs=["10s", "2m"],
        different=False,
        suspects=data.draw(st.sampled_from([None, [str(actor) for actor in table.actor[::2].tolist()]])),
    )
    agree(table, question, data.draw(cuts(table)))


@settings(max_examples=12)
@given(st.data())
def test_claims_about_some_people_add_up_too(data):
    """Only suspects, or only some targets, are looked at; all are delayed."""
    table = data.draw(tables())
    suspects = [str(data.draw(st.sampled_from(table.actor.tolist())))]
    among = data.draw(st.sampled_from([None, [str(data.draw(st.sampled_from(table.target.tolist())))]]))
    agree(table, question_about(suspects, among), data.draw(cuts(table)))


def question_about(suspects, among):
    return Question(
        practices=["nothing", POLICIES[0]], suspects=suspects, among=among, different=False, window="5m"
    )


@settings(max_examples=6)
@given(st.data(), st.sampled_from([130, 200]))
def test_long_tallies_are_opened_until_they_are_exact(data, most):
    """With few bins every percentile takes more passes, and comes to the same."""
    rng = np.random.default_rng(data.draw(st.integers(min_value=0, max_value=99)))
    table = event_table(
        actor=rng.integers(0, 40, 900),
        target=rng.integers(0, 9, 900),
        time=rng.integers(0, 3_000 * SECOND, 900),
    )
    kept, tally._MOST_BINS = tally._MOST_BINS, most
    try:
        agree(table, Question(practices=["nothing", "poisson:5m"], different=False), data.draw(cuts(table)))
    finally:
        tally._MOST_BINS = kept


@pytest.mark.parametrize("buckets", [1, 2, 64])
def test_the_number_of_buckets_changes_nothing(buckets):
    """Rows of one key come together however many buckets there are."""
    rng = np.random.default_rng(1)
    table = event_table(
        actor=rng.integers(0, 9, 300),
        target=rng.integers(0, 5, 300),
        time=rng.integers(0, 9_000, 300) * SECOND,
    )
    places = [2_000 * SECOND, 2_000 * SECOND, 5_000 * SECOND]
    agree(table, Question(practices=["nothing", POLICIES[0]], draws=2, different=False), places, buckets)
