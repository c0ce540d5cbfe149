"""A recommendation by slices is that of the whole history, to the last digit."""

from dataclasses import replace

import numpy as np
import pytest

from tarry.core.errors import NotPossible
from tarry.study.audit import Question, audit
from tarry.study.batching import people_around
from tarry.study.learning import splits
from tarry.study.limits import limits
from tarry.study.parts.advice import SlicedSplit, split_moments
from tarry.study.parts.crop import Cropped
from tarry.study.parts.engine import InMemory
from tarry.study.parts.report import audit_by_parts
from tarry.study.parts.season import season_by_parts
from tarry.study.season import learn_season
from tarry.study.synth import synthesize
from tarry.study.synth_recipes import RECIPES
from tarry.study.table import event_table


def forum(events=1_200, seed=1):
    """A made-up forum, the first events of it."""
    made = synthesize(RECIPES["forum"], seed=seed)
    table = event_table(actor=made.actor, target=made.target, time=made.time)
    return table.keep(table.time <= np.sort(table.time)[events])


def cut(table, parts=4):
    """Cuts on moments of events."""
    ordered = np.sort(table.time)
    return [int(ordered[len(table) * part // parts]) for part in range(1, parts)]


def reports(table, question):
    """The whole and by parts, without the mix that is not tried by parts, and the sentence that says so."""
    whole = audit(table, question)
    by_parts = audit_by_parts(InMemory(table=table, cuts=cut(table)), question)
    if whole.advice is not None and by_parts.advice is not None:
        whole = replace(whole, advice=replace(whole.advice, mix=None))
        by_parts = replace(by_parts, advice=replace(by_parts.advice, further=()))
    return whole, by_parts


def test_it_is_learned_tried_and_chosen_as_of_the_whole():
    """Three splits, policies, draws; the interval; what it does before and after; and a comparison."""
    table = forum()
    deadline = str(np.datetime64(int(np.sort(table.time)[-20]), "us")) + "Z"
    question = Question(
        epsilons=["1"], compared=["jitter:1h"], limits=limits(deadline=deadline), different=False
    )
    whole, by_parts = reports(table, question)

    assert whole.advice.best is not None
    assert whole.advice.interval is not None
    assert whole.advice.best.late > 0
    assert by_parts.as_dict() == whole.as_dict()
    assert by_parts.after.as_dict() == whole.after.as_dict()
    assert by_parts.comparison.as_dict() == whole.comparison.as_dict()


@pytest.mark.parametrize("span", [1, 60, 7_000])
def test_people_around_are_those_of_the_whole(span):
    """Stretches of time that lie in several slices count their people once."""
    chance = np.random.default_rng(span)
    table = event_table(
        actor=chance.integers(0, 9, 200), target=range(200), time=chance.integers(-900, 900, 200)
    )
    split = SlicedSplit(
        late_part=Cropped(engine=InMemory(table=table, cuts=[-3, 50, 51]), start=-500, end=800),
        measure=audit_by_parts,
        learned={},
        learned_on=0,
    )

    assert split.around(span) == people_around(table.between(-500, 800), span)


def test_a_history_that_is_too_short_has_the_same_reason():
    """No part of it could be learned on."""
    table = event_table(actor=[1, 1, 2], target=[1, 2, 3], time=[0, 5, 9])
    whole, by_parts = reports(table, Question(different=False))

    assert by_parts.no_advice == whole.no_advice != ""


@pytest.mark.parametrize("seed", range(5))
def test_splits_are_at_the_moments_of_the_whole(seed):
    """Ties at the cuts, and cuts at the very first moments."""
    times = np.random.default_rng(seed).integers(0, 9, 12)
    table = event_table(actor=[1] * 12, target=range(12), time=times)
    try:
        expected = [(len(early), int(late.time.min())) for early, late in splits(table)]
    except NotPossible as error:
        with pytest.raises(NotPossible, match=str(error)):
            split_moments(InMemory(table=table, cuts=[4]))
    else:
        found = split_moments(InMemory(table=table, cuts=[4]))
        assert [(early, cut) for _, cut, early in found] == expected


@pytest.mark.parametrize(("length", "percentile"), [(None, 99), ("600s", 50), ("90s", 100)])
def test_the_acts_of_a_season_are_those_of_the_whole(length, percentile):
    """Batches over cuts, and stretches that lie in several slices."""
    chance = np.random.default_rng(7)
    table = event_table(
        actor=chance.integers(0, 9, 200),
        target=chance.integers(0, 5, 200),
        time=chance.integers(0, 4_000, 200) * 1_000_000,
    )
    options = {"window": "30s", "length": length, "percentile": percentile}
    engine = InMemory(table=table, cuts=cut(table, 7))

    assert season_by_parts(engine, **options) == learn_season(table, **options)
    with pytest.raises(NotPossible, match="nobody in this history has a batch"):
        season_by_parts(InMemory(table=table.between(0, 1), cuts=[5]), window="0s")
