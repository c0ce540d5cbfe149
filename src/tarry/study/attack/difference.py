"""The likelihood-ratio attack on a history: pairs whose difference is likelier batched than not."""

from collections.abc import Sequence

from tarry.core.errors import BadInput, NotPossible
from tarry.core.lanes import IntArray
from tarry.study.attack.likelihood import PairLaws, pair_laws
from tarry.study.attack.likelihood_spread import GapLaw
from tarry.study.attack.scene import Scene
from tarry.study.batching import in_batch_gaps, null_gaps
from tarry.study.pairs import pairs_within, pairs_within_groups
from tarry.study.practice import MICROSECONDS
from tarry.study.replay import Replay
from tarry.study.score import Score

__all__ = ["difference_attack"]

Interval = tuple[int, int]


def difference_attack(scene: Scene, cutoffs: Sequence[int]) -> list[Score]:
    """Score the attack of somebody who knows the policy and the history's gaps, in and out of batches.

    For each cutoff it claims every difference at least as telling as the cutoff itself; where the
    ratio falls with the distance that is the cutoff attack. The sets are unions of intervals, so the
    counts are exact.

    >>> from tarry.core.entropy import Seeded
    >>> from tarry.core.policy import Policy
    >>> from tarry.study.attack.cutoff import Truth
    >>> from tarry.study.replay import replay
    >>> from tarry.study.table import event_table
    >>> minute = 60_000_000
    >>> table = event_table(actor=[1, 1, 2], target=[1, 2, 3], time=[0, minute, 9 * minute])
    >>> practice = replay(Policy(epsilon="1", gap="11m"))
    >>> seen = practice.show(table.history, Seeded(1)).release
    >>> scene = Scene(truth=Truth(table=table, window=minute), practice=practice, seen=seen)
    >>> difference_attack(scene, [60 * minute])[0].counts.true_positives
    1
    """
    laws, tick = _laws(scene)
    wanted = [
        [(low * tick, high * tick) for low, high in laws.distances_above(laws.threshold_at(cutoff // tick))]
        for cutoff in cutoffs
    ]
    edges = sorted({edge for sets in wanted for low, high in sets for edge in (low - 1, high) if edge >= 0})
    within = _Within(scene, edges)
    scores = []
    for cutoff, sets in zip(cutoffs, wanted, strict=True):
        found, flagged = within.of(sets)
        scores.append(Score(cutoff=cutoff, counts=scene.truth.counts(found, flagged)))
    return scores


class _Within:
    """Linked and flagged pairs up to each distance, and so inside any union of intervals."""

    def __init__(self, scene: Scene, edges: Sequence[int]) -> None:
        table, seen = scene.truth.table, scene.seen
        everywhere = pairs_within(seen, edges)
        on_one_target = pairs_within_groups(table.target_rank, seen, edges)
        linked = scene.truth.near.shown_within(seen, edges)
        self._up_to = {
            edge: (found, total - one)
            for edge, found, total, one in zip(edges, linked, everywhere, on_one_target, strict=True)
        }
        self._up_to[-1] = (0, 0)

    def of(self, sets: Sequence[Interval]) -> tuple[int, int]:
        """(linked, all) pairs whose distance lies in one of the intervals."""
        found = sum(self._up_to[high][0] - self._up_to[low - 1][0] for low, high in sets)
        flagged = sum(self._up_to[high][1] - self._up_to[low - 1][1] for low, high in sets)
        return found, flagged


def _laws(scene: Scene) -> tuple[PairLaws, int]:
    if not isinstance(scene.practice, Replay):
        raise BadInput(
            "the likelihood attack", "needs a policy to know", found=f"the practice {scene.practice.name}"
        )
    policy = scene.practice.policy
    if len(policy.gaps) > 1:
        raise NotPossible("the likelihood attack on a history takes a policy with one gap")
    tick, table = int(policy.tick * MICROSECONDS), scene.truth.table
    null = _gap_law(null_gaps(table), tick, "gaps between different people")
    in_batch = _gap_law(in_batch_gaps(table, scene.truth.window), tick, "gaps inside batches")
    return pair_laws(policy.mechanism(), null=null, in_batch=in_batch, labels=policy.labels), tick


def _gap_law(gaps: IntArray, tick: int, what: str) -> GapLaw:
    if not len(gaps):
        raise NotPossible(f"the likelihood attack needs {what} to learn from, and this history has none")
    return GapLaw.of_sample(-(-gaps // tick))
