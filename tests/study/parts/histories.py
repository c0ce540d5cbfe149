"""Histories and questions with which engines are compared, and what must be equal of their reports."""

import json

import numpy as np
import polars as pl

from tarry.core.policy import Policy
from tarry.study.question import Question
from tarry.study.replay import replay

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


def named_history(events=400, seed=1):
    """Names as texts, ties, duplicates, a long silence, rows that cannot be read, bots and busy actors."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, 4_000, events)
    seconds[events // 2 :] += 90_000  # nothing happens for a day
    frame = pl.DataFrame(
        {
            "user": [None if one == 7 else f"user {one}" for one in rng.integers(0, 30, events)],
            "page": [f"{one:02d}" for one in rng.integers(0, 12, events)],
            "created_at": START + seconds // 20 * 20 * SECOND,
            "space": rng.integers(0, 2, events),
            "more": rng.choice(["yes", "no"], events),
            "bot": rng.integers(0, 20, events) == 0,
        }
    ).with_columns(pl.col("created_at").cast(pl.Datetime("us", "UTC")))
    return pl.concat([frame, frame.head(20)])


def skewed_history(events=3_000):
    """Three tenths on one target, a tenth by one actor, half of all in one hour of a week."""
    rng = np.random.default_rng(2)
    week, hour = 7 * 86_400 * SECOND, 3_600 * SECOND
    busy = rng.random(events) < 0.5
    return pl.DataFrame(
        {
            "actor": np.where(rng.random(events) < 0.1, 0, rng.integers(1, 400, events)),
            "target": np.where(rng.random(events) < 0.3, 0, rng.integers(1, 200, events)),
            "time": START
            + np.where(busy, 3 * hour + rng.integers(0, hour, events), rng.integers(0, week, events)),
        }
    )


#: What is asked of them: labels, practices, observers, attacks, filters.
QUESTIONS = {
    "followers, all observers": Question(
        practices=["nothing", replay(Policy(epsilon="1", gap="11m", labels="follower"), "p"), "jitter:20m"],
        observers=["notified", "archive", "poller:10m"],
        attacks=["cutoff", "recipient"],
        different=False,
    ),
    "declared labels, gaps of tracks": Question(
        practices=[
            replay(Policy(epsilon="1", gap="11m", track_gaps={"0": "20m"}, labels="declared"), "own gaps")
        ],
        track="space",
        declared="more",
        draws=2,
        window="7s",
        collapse=True,
        different=False,
    ),
    "held labels, filters": Question(
        practices=["mix:10m", replay(Policy(epsilon="1", gap="11m", labels="held"), "held")],
        without_bots=True,
        busy_limit=16,
        suspects=["user 3", "user 4", "user 5", "user 6", "user 8", "user 9", "user 10"],
        different=False,
    ),
}


def figures(report):
    """All that a report prints as JSON, and its notes."""
    return json.loads(report.to_json()), report.notes
