"""Histories to recommend for, and recommendations to read."""

import numpy as np

from tarry.core.policy import Policy
from tarry.study.advice import Advice
from tarry.study.practice import MICROSECONDS
from tarry.study.table import event_table
from tarry.study.tried import Trial, TriedPolicy

__all__ = ["DAY", "advice_of", "choice_of", "months", "trial"]

DAY = 86_400 * MICROSECONDS


def months(*, every, acts=400, spread=5, seed=0):
    """Somebody acts on two targets a minute apart, every so often."""
    rng = np.random.default_rng(seed)
    actor = np.repeat(rng.integers(0, 50, acts), 2)
    target = rng.integers(0, 30, 2 * acts) + np.tile([0, 30], acts)
    at = np.arange(acts) * every + rng.integers(0, every // spread, acts)
    return event_table(
        actor=actor, target=target, time=np.repeat(at, 2) + np.tile([0, 60 * MICROSECONDS], acts)
    )


def choice_of(right, spent=0, *, epsilon="1", gap="11m", mean=65.0, trials=(), **more):
    """A choice under which claims are right so often."""
    numbers = {"average_precision": 0.1, "mean_s": mean, "longest_s": 3601.0, "spent_actors": spent}
    numbers |= {"right_person": right, "reference": 0.4, "precision": right, "percentile": 50, **more}
    return TriedPolicy(policy=Policy(epsilon=epsilon, gap=gap), trials=trials, **numbers)


def advice_of(*choices, before=0.9, **more):
    """Advice to take the first."""
    counts = {"learned_on": 9, "measured_on": 9, "before": before, "right_before": before}
    return Advice(**counts, choices=choices, **{"best": choices[0], **more})


def trial(*rights, mean_s=600.0):
    """A trial in which claims are right so often, where they were right in four of five."""
    return Trial(before=0.8, rights=rights, mean_s=mean_s)
