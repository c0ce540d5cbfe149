"""The conformance suite of attacks: claims rest on what an observer saw, and on nothing else.

An attack joins in three lines, and says what it is told beside that, if anything:

    class TestMine(AttackSuite):
        case = AttackCase(kind=MINE, knows=["arrivals"])

It needs pytest. The history is small and made up, so the suite says nothing about how good an attack is.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np
import pytest

from tarry.core.entropy import Seeded
from tarry.core.errors import NotPossible
from tarry.core.lanes import IntArray
from tarry.core.policy import Policy
from tarry.study.attack import Attack, AttackKind, Observed, Truth
from tarry.study.baselines import baseline
from tarry.study.practice import MICROSECONDS, Practice, observer
from tarry.study.replay import replay
from tarry.study.score import Score
from tarry.study.table import EventTable, event_table

__all__ = ["AttackCase", "AttackSuite"]

_WINDOW = 300 * MICROSECONDS
_DAY = 86_400 * MICROSECONDS
_CUTOFFS = tuple(seconds * MICROSECONDS for seconds in (0, 60, 600, 3_600, 10_000_000))
_POLICY = Policy(epsilon="2", gap="11m", tick="20s")
_DRAWS = 20  # enough for a mean that chance moves by a hundredth or two
_OBSERVERS = ("notified", "archive", "poller:10m")


@dataclass(frozen=True, kw_only=True)
class AttackCase:
    """A kind of attack, and what it is told beside what its observer saw.

    >>> from tarry.study.attack.cutoff import RECIPIENT
    >>> AttackCase(kind=RECIPIENT, knows=["actors"]).error
    0.05
    """

    kind: AttackKind  # every example of it is tried
    knows: Collection[Literal["actors", "arrivals"]] = ()  # the true ones, of the history or on average
    practice: Practice = field(default_factory=lambda: replay(_POLICY))  # what it is tried on
    error: float = 0.05  # by how much recall may pass the false positive rate where nothing can be known


class AttackSuite:
    """What the test class of an attack inherits; `case` is all it adds.

    >>> from tarry.study.attack.cutoff import CUTOFF
    >>> class TestMine(AttackSuite):
    ...     case = AttackCase(kind=CUTOFF)
    >>> TestMine().test_who_acted_is_hidden_from_it("cutoff")
    """

    case: AttackCase

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each form of the parameter."""
        if "text" in metafunc.fixturenames:
            metafunc.parametrize("text", self.case.kind.examples)

    def test_it_is_called_what_makes_it(self, text: str) -> None:
        """Tables show the text that was given, and lists one short line."""
        assert self._attack(text).name == text
        assert text.partition(":")[0] == self.case.kind.name
        assert 10 < len(self.case.kind.what) < 100
        assert "\n" not in self.case.kind.what

    def test_it_says_where_it_applies(self, text: str) -> None:
        """It applies to what it is tried on, and says in words if that is not everywhere."""
        method = self._attack(text)
        practices = (self.case.practice, baseline("nothing"), replay(_POLICY))
        everywhere = all(
            method.applies_to(practice, observer(name)) for practice in practices for name in _OBSERVERS
        )

        assert method.applies_to(self.case.practice, observer("notified"))
        assert everywhere or method.needs

    def test_it_claims_the_same_again(self, text: str) -> None:
        """No chance is in it that is not fixed, and what it was given is as it was."""
        observed = self._observed(_ACTS, self._seen(_ACTS))
        before = [column.copy() for column in _columns(observed)]
        first = self._attack(text).score(observed, _CUTOFFS)

        assert self._attack(text).score(observed, _CUTOFFS) == first
        for column, copy in zip(_columns(observed), before, strict=True):
            assert np.array_equal(column, copy), "it has changed what it was given"

    def test_names_of_people_do_not_matter(self, text: str) -> None:
        """With other names for the same people it is right and wrong as often."""
        renamed = _ACTS._replace(actor=1_000_003 - 7 * _ACTS.actor)
        seen = self._seen(_ACTS)

        assert self._scores(text, renamed, seen) == self._scores(text, _ACTS, seen)

    def test_who_acted_is_hidden_from_it(self, text: str) -> None:
        """With other people behind the same acts it claims as much, unless it says that it knows them."""
        others = _ACTS._replace(actor=np.random.default_rng(5).permutation(_ACTS.actor))
        seen = self._seen(_ACTS)

        if "actors" not in self.case.knows:
            assert self._claims(text, others, seen) == self._claims(text, _ACTS, seen)

    def test_true_arrivals_are_hidden_from_it(self, text: str) -> None:
        """With other arrivals behind the same moments it claims as much, unless it says that it knows."""
        others = _ACTS._replace(time=np.random.default_rng(6).permutation(_ACTS.time))
        seen = self._seen(_ACTS)

        if "arrivals" not in self.case.knows:
            assert self._claims(text, others, seen) == self._claims(text, _ACTS, seen)

    def test_the_order_of_rows_does_not_matter(self, text: str) -> None:
        """A file may be sorted in any way."""
        order = np.random.default_rng(7).permutation(len(_ACTS.time))
        shuffled = _Acts(*(column[order] for column in _ACTS))
        seen = self._seen(_ACTS)

        assert self._scores(text, shuffled, seen[order]) == self._scores(text, _ACTS, seen)

    def test_its_counts_are_of_candidates(self, text: str) -> None:
        """At every cutoff, also one that reaches everything, the four counts are of the same things."""
        observed = self._observed(_ACTS, self._seen(_ACTS))
        scores = self._attack(text).score(observed, _CUTOFFS)
        linked = {score.counts.true_positives + score.counts.false_negatives for score in scores}
        others = {score.counts.false_positives + score.counts.true_negatives for score in scores}
        of_pairs = self._attack(text).seeks == "linked pairs"
        most = observed.truth.candidate_pairs if of_pairs else len(observed.seen)

        assert all(min(vars(score.counts).values()) >= 0 for score in scores)
        assert len(linked) == len(others) == 1
        assert max(linked) + max(others) <= most

    def test_two_acts_on_one_target_are_never_claimed(self, text: str) -> None:
        """They are no candidates. An attack may say that it cannot work there."""
        acts = _ACTS._replace(target=np.ones_like(_ACTS.target))

        with suppress(NotPossible):
            assert not any(self._claims(text, acts, self._seen(acts)))

    def test_where_nobody_is_linked_nobody_is_found(self, text: str) -> None:
        """Two acts by two people: what is claimed is wrong, and counted so. Or it cannot work there."""
        acts = _Acts(np.array([1, 2]), np.array([1, 2]), np.array([0, 400 * MICROSECONDS]))

        with suppress(NotPossible):
            for score in self._scores(text, acts, self._seen(acts)):
                assert score.counts.true_positives == score.counts.false_negatives == 0

    @pytest.mark.parametrize("moments", ["at one moment", "by lot"])
    def test_where_nothing_can_be_known_it_does_no_better_than_the_base_rate(
        self, text: str, moments: str
    ) -> None:
        """Where moments are one for all, or drawn again and again, linked pairs are claimed like others."""
        lots, count = np.random.default_rng(8), len(_ACTS.time)
        drawn = [lots.integers(0, _DAY, count) for _ in range(_DRAWS)]
        worlds = drawn if moments == "by lot" else [np.full(count, _DAY)]
        scores = [self._scores(text, _ACTS, seen) for seen in worlds]

        for at_cutoff in zip(*scores, strict=True):
            recall = fmean(score.counts.recall or 0 for score in at_cutoff)
            false_alarms = fmean(score.counts.false_positive_rate or 0 for score in at_cutoff)
            assert recall <= false_alarms + self.case.error, at_cutoff[0].cutoff_s

    def _attack(self, text: str) -> Attack:
        return self.case.kind.make(text.partition(":")[2])

    def _seen(self, acts: "_Acts") -> IntArray:
        """The moment at which a notified observer sees each act."""
        table = acts.table
        seen = np.empty(len(table), dtype=np.int64)
        shown = self.case.practice.show(table.history, Seeded(1))
        seen[table.row] = observer("notified").see(shown)
        return seen

    def _observed(self, acts: "_Acts", seen: IntArray) -> Observed:
        truth = Truth(table=acts.table, window=_WINDOW)
        return Observed(truth=truth, practice=self.case.practice, seen=seen[truth.table.row])

    def _scores(self, text: str, acts: "_Acts", seen: IntArray) -> list[Score]:
        return self._attack(text).score(self._observed(acts, seen), _CUTOFFS)

    def _claims(self, text: str, acts: "_Acts", seen: IntArray) -> list[int]:
        """How much is claimed at each cutoff, rightly or not."""
        scores = self._scores(text, acts, seen)
        return [score.counts.true_positives + score.counts.false_positives for score in scores]


class _Acts(NamedTuple):
    """Columns: who, on what, and when, in microseconds."""

    actor: IntArray
    target: IntArray
    time: IntArray

    @property
    def table(self) -> EventTable:
        return event_table(actor=self.actor, target=self.target, time=self.time)


def _acts_of_a_day(pairs: int = 210, people: int = 30, targets: int = 20) -> _Acts:
    """People who act twice within the window, on two targets, again and again."""
    lots = np.random.default_rng(3)
    first, at = lots.integers(0, targets, pairs), lots.integers(0, _DAY, pairs)
    second = (first + lots.integers(1, targets, pairs)) % targets
    return _Acts(
        actor=np.tile(np.arange(pairs) % people, 2),
        target=np.append(first, second),
        time=np.append(at, at + lots.integers(0, _WINDOW, pairs)),
    )


_ACTS = _acts_of_a_day()


def _columns(observed: Observed) -> tuple[IntArray, ...]:
    table = observed.truth.table
    return observed.seen, table.actor, table.target, table.time, table.row
