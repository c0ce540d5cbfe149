"""Every attack by name: the nouns that the study's verbs are given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tarry.core.durations import parse_number
from tarry.core.errors import BadInput
from tarry.study.attack.cutoff import cutoff_attack
from tarry.study.attack.difference import difference_attack
from tarry.study.attack.nearest import NearestScore, nearest_mass, nearest_test
from tarry.study.attack.recipient import informed_attack, recipient_attack, recipient_gaps
from tarry.study.attack.scene import Attack, Scene
from tarry.study.observer import Observer
from tarry.study.practice import MICROSECONDS, Practice
from tarry.study.replay import Replay
from tarry.study.score import Counts, Score

__all__ = ["ATTACKS", "attack"]

#: What `attack` makes, by name, and what each does.
ATTACKS = {
    "cutoff": "claims pairs that appear at most a cutoff apart",
    "likelihood": "knows the policy: claims pairs whose difference is likelier if batched",
    "recipient": "claims payments to one address (the actor) that appear at most a cutoff apart",
    "informed": "the same with a cutoff relative to each address's own gap (informed:0.5,1,2)",
    "nearest": "tests whether an event is batched with the nearest one on watched targets",
}
_DEFAULT_GAP = 600 * MICROSECONDS  # the paper's, for addresses with too few payments
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class _Named:
    """An attack made of a name and a function."""

    name: str
    run: Callable[[Scene, Sequence[int]], list[Score]]

    def applies_to(self, practice: Practice, watcher: Observer) -> bool:
        """The likelihood of a difference is that of two releases, not of a poller's looks at them."""
        exact = isinstance(practice, Replay) and watcher.name in ("notified", "archive")
        return exact or not self.name.startswith("likelihood")

    def score(self, scene: Scene, cutoffs: Sequence[int]) -> list[Score]:
        return self.run(scene, cutoffs)


def attack(text: str) -> Attack:
    """The attack that a text names.

    `nearest:0.1` watches a tenth of the targets; `informed:0.5,1,2` claims within these multiples of
    each recipient's gap, instead of cutoffs in proportion to it; `likelihood:neighbours` takes pairs
    that are not batched to be as far apart as neighbours in the history.

    >>> attack("cutoff").name
    'cutoff'
    """
    name, _, given = text.partition(":")
    if text == "likelihood:neighbours":
        return _Named(text, lambda scene, cutoffs: difference_attack(scene, cutoffs, neighbours=True))
    if name == "informed":
        return _Named(
            text, _informed([parse_number(part, "a multiple") for part in given.split(",") if part])
        )
    if name == "nearest":
        return _Named(text, _nearest(_share(given) if given else _HALF))
    if name not in _PLAIN or given:
        raise BadInput("an attack", f"is one of {', '.join(ATTACKS)}", found=repr(text))
    return _Named(name, _PLAIN[name])


def _cutoff(scene: Scene, cutoffs: Sequence[int]) -> list[Score]:
    return cutoff_attack(scene.truth, scene.seen, cutoffs)


def _recipient(scene: Scene, cutoffs: Sequence[int]) -> list[Score]:
    return recipient_attack(scene.truth, scene.seen, cutoffs)


def _informed(multiples: Sequence[Fraction]) -> Callable[[Scene, Sequence[int]], list[Score]]:
    """Without multiples the median recipient is judged by the cutoff itself, others in proportion."""

    def run(scene: Scene, cutoffs: Sequence[int]) -> list[Score]:
        gaps = recipient_gaps(scene.truth.table, scene.truth.window, _DEFAULT_GAP)
        if multiples:
            return informed_attack(scene.truth, scene.seen, multiples, gaps)
        each = gaps[np.flatnonzero(np.diff(scene.truth.table.actor_rank, prepend=-1))]  # one a recipient
        middle = max(1, int(np.median(each))) if len(each) else 1
        own = [Fraction(cutoff, middle) for cutoff in cutoffs]
        scores = informed_attack(scene.truth, scene.seen, own, gaps)
        return [replace(score, cutoff=cutoff) for score, cutoff in zip(scores, cutoffs, strict=True)]

    return run


def _nearest(share: Fraction) -> Callable[[Scene, Sequence[int]], list[Score]]:
    def run(scene: Scene, cutoffs: Sequence[int]) -> list[Score]:
        table = scene.truth.table
        watched = _lots(table.target) < float(share)
        sides = {"own": ~watched, "watched": watched, "window_us": scene.truth.window}
        columns = (table.time, table.actor, table.target)
        found = nearest_test(scene.seen, *columns, cutoffs_us=cutoffs, **sides)  # type: ignore[arg-type]
        if not isinstance(scene.practice, Replay):
            return [_as_score(one, None) for one in found]
        policy = scene.practice.policy
        if policy.delta or len(policy.gaps) > 1:  # the bound is about one gap, and no chance of failing
            return [_as_score(one, None) for one in found]
        labels = scene.practice.labelled(table.history).batched
        reach = int(policy.start_ticks(policy.gap) * policy.tick * MICROSECONDS)
        mass = nearest_mass(*columns, labels, gap_us=reach, **sides)  # type: ignore[arg-type]
        return [_as_score(one, one.bound(policy.epsilon, mass)) for one in found]

    return run


_PLAIN: dict[str, Callable[[Scene, Sequence[int]], list[Score]]] = {
    "cutoff": _cutoff,
    "likelihood": difference_attack,
    "recipient": _recipient,
}


def _as_score(found: NearestScore, bound: float | None) -> Score:
    counts = Counts(
        true_positives=found.batched_flagged,
        false_positives=found.others_flagged,
        false_negatives=found.batched - found.batched_flagged,
        true_negatives=found.others - found.others_flagged,
    )
    return Score(cutoff=found.cutoff_us, counts=counts, power_bound=bound)


def _lots(
    targets: "np.ndarray[tuple[int], np.dtype[np.int64]]",
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """A number in 0..1 for each target, fixed by its name: which are watched depends on nothing else."""
    mixed = (targets.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xD1342543DE82EF95)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    lots: np.ndarray[tuple[int], np.dtype[np.float64]] = (mixed >> np.uint64(11)) / float(1 << 53)
    return lots


def _share(text: str) -> Fraction:
    share = parse_number(text, "the share of watched targets")
    if not 0 < share < 1:
        raise BadInput("the share of watched targets", "lies between 0 and 1", found=text)
    return share
