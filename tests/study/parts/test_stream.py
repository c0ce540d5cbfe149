"""The engine stream: from a Parquet file, within a memory, and on from where a run was killed."""

import json
import os
import random
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.study.audit import Question, audit
from tarry.study.parts import stream
from tarry.study.parts.report import NO_DIFFERENT
from tarry.study.parts.resources import Resources
from tarry.study.parts.scratch import scratch_for

GB = 10**9


def history(size=4_000, seed=1):
    """Texts and numbers, ties and duplicates, rows that cannot be read, bots, busy people, tracks."""
    rng = np.random.default_rng(seed)
    actor = rng.integers(0, 60, size)
    return pl.DataFrame(
        {
            "user": [None if place % 500 == 7 else f"u{each}" for place, each in enumerate(actor)],
            "page": rng.integers(0, 40, size),
            "when": pl.Series(rng.integers(0, 400_000, size) * 1_000_000 + 1_700_000_000_000_000).cast(
                pl.Datetime("us")
            ),
            "kind": rng.integers(0, 2, size),
            "more": rng.integers(0, 2, size).astype(bool),
            "is_bot": actor == 3,
        }
    )


def figures(report):
    """All figures and notes."""
    return json.loads(report.to_json())


def small_parts(monkeypatch, rows=700):
    """As if so little memory were given that there are several slices."""

    whole = stream.budget_for
    monkeypatch.setattr(
        stream, "budget_for", lambda events, **limits: replace(whole(events, **limits), rows=rows)
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"collapse": True, "busy_limit": 75, "without_bots": False},
        {"without_bots": True, "suspects": ["u1", "u2", "u5"]},
        {"practices": ["nothing", "jitter:1h"], "observers": ["notified", "archive"], "draws": 2},
    ],
    ids=["plain", "filters", "suspects", "habits"],
)
def test_a_parquet_file_by_parts_says_what_it_says_as_a_whole(tmp_path, monkeypatch, options):
    """The same figures, the same notes, the same account of what could not be read; and nothing stays."""
    path, scratch = tmp_path / "acts.parquet", tmp_path / "scratch"
    scratch.mkdir()
    history().write_parquet(path)
    small_parts(monkeypatch)
    question = Question(
        **{"practices": ["nothing", policy()], "different": False, **options},
        track="kind",
        declared="more",
        time="when",
    )
    by_parts = audit(
        path, question, engine=Resources(engine="stream", memory=2 * GB, jobs=1, scratch=scratch)
    )
    whole = audit(path, question)

    assert figures(by_parts) == figures(whole)
    assert by_parts.reading == whole.reading
    assert by_parts.measures == replace(whole.measures, different=None)
    assert list(scratch.iterdir()) == []


def policy():
    from tarry.core.policy import Policy

    return Policy(epsilon="1", gap="11m", labels="declared", track_gaps={"1": "20m"})


RUN = """
import fcntl, os, signal, sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tarry.study.audit import Question, audit
from tarry.study.parts import stream
from tarry.study.parts.resources import Resources
from tarry.study.parts.scratch import Scratch
whole, whole_file = stream.budget_for, Scratch.whole
stream.budget_for = lambda events, **limits: replace(whole(events, **limits), rows=700)
path, scratch, written, at, named = sys.argv[1:]

def one_more(draft=None):
    # All processes count together; the one that writes for the n-th time kills all of them.
    with open(written, "ab") as count:
        fcntl.flock(count, fcntl.LOCK_EX)
        count.write(b".")
        count.flush()
        if os.fstat(count.fileno()).st_size == int(at):
            if draft is not None:  # in the middle of it
                os.truncate(draft, draft.stat().st_size // 2)
            os.killpg(0, signal.SIGKILL)

@contextmanager
def counted(self, name):
    with whole_file(self, name) as draft:
        yield draft
        if named == "no":
            one_more(draft)
    if named == "yes":
        one_more()

Scratch.whole = counted
if __name__ == "__main__":
    question = Question(practices=["nothing", "jitter:1h"], time="when", different=False)
    resources = Resources(engine="stream", memory=2 * 10**9, jobs=2, scratch=Path(scratch))
    print(audit(path, question, engine=resources).to_json())
"""
KILLS = int(os.environ.get("TARRY_KILLS", "3"))
SEED = int(os.environ.get("TARRY_KILLS_SEED", "1"))


def test_a_run_that_is_killed_at_random_moments_goes_on_where_it_was(tmp_path):
    """Killed several times in a row, a file half or just written, it ends with the same answer.

    What was finished is not done again. `TARRY_KILLS` says how often it is killed.
    """
    path, scratch = tmp_path / "acts.parquet", tmp_path / "scratch"
    scratch.mkdir()
    history().write_parquet(path)
    question = Question(practices=["nothing", "jitter:1h"], time="when", different=False)
    whole = figures(audit(path, question))
    draws = random.Random(SEED)
    for _ in range(KILLS):
        finished = passes_of(scratch)
        answer = run_until(path, scratch, draws.randint(1, 80), draws.choice(["no", "yes"]))
        if answer is None:
            [folder] = scratch.iterdir()
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert finished.items() <= passes_of(scratch).items()
        else:  # it was done before it would have been killed; the next run begins anew
            says_what_the_whole_says(answer, whole, scratch)
    says_what_the_whole_says(run_until(path, scratch, 0, "no"), whole, scratch)


def run_until(path, scratch, count, named):
    """Run an audit and kill it and its processes at the n-th file they write; else what it says."""
    code, written = path.with_suffix(".py"), path.with_suffix(".written")
    code.write_text(RUN, encoding="utf-8")
    written.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, *map(str, (code, path, scratch, written, count, named))],
        stdout=subprocess.PIPE,
        start_new_session=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL)
    return None if done.returncode else json.loads(done.stdout)


def passes_of(scratch):
    """Finished passes, and when each was written."""
    return {file.name: file.stat().st_mtime_ns for file in scratch.glob("*/pass-????.json")}


def says_what_the_whole_says(answer, whole, scratch):
    """The same figures; and nothing stays."""
    assert answer["attacks"] == whole["attacks"]
    assert answer["costs"] == whole["costs"]
    assert list(scratch.iterdir()) == []


def test_two_runs_of_one_audit_do_not_share_a_folder(tmp_path):
    """The second is refused while the first is at work."""
    with (
        scratch_for("one", tmp_path),
        pytest.raises(BadInput, match="another run of the same audit uses the scratch folder"),
        scratch_for("one", tmp_path),
    ):
        pass


def test_a_folder_that_others_may_read_is_not_used(tmp_path):
    """Somebody else may have put it there."""
    with scratch_for("one", tmp_path) as scratch:
        name = scratch.folder
    name.mkdir(mode=0o755)
    with pytest.raises(BadInput, match="is not private to this user"), scratch_for("one", tmp_path):
        pass


def test_what_cannot_be_done_by_parts_is_refused():
    """Each in a sentence that says what to use."""
    table = history()
    for options, refused in (
        ({"practices": ["pool"]}, "the practice pool looks at a whole history"),
        ({"practices": ["threshold:5"]}, "the practice threshold:5 looks at a whole history"),
        ({"different": True}, "--different"),
        (
            {"attacks": ["likelihood:neighbours"], "practices": [policy()]},
            "the attack likelihood:neighbours cannot be done by parts of a history: use the",
        ),
    ):
        with pytest.raises(BadInput, match=refused):
            audit(table, Question(**{"practices": ["nothing"], **options}), engine="stream")


def test_what_is_asked_besides_is_left_out_with_a_reason(tmp_path):
    """The audit stands without the long watch."""
    report = audit(
        history(300),
        Question(practices=["nothing"], time="when", watch=True),
        engine=Resources(engine="stream", jobs=1, scratch=tmp_path),
    )

    assert report.no_watch.startswith("the long watch cannot be done by parts")
    assert NO_DIFFERENT in report.notes


def test_auto_takes_what_fits():
    """By the number of events and the memory that is given."""
    auto = Resources(engine="auto", memory=GB)

    assert auto.chosen(10**4) == "memory"
    assert auto.chosen(10**9) == "stream"
    assert auto.chosen(None) == "memory"


def test_only_parquet_is_read_by_parts(tmp_path):
    """Texts have no index of times."""
    path = tmp_path / "acts.csv"
    history(300).write_csv(path)
    with pytest.raises(
        BadInput, match=r"the engine stream reads Parquet files \(.parquet\), and 'acts.csv'"
    ):
        audit(path, Question(practices=["nothing"]), engine="stream")


def test_times_must_say_what_they_are(tmp_path):
    """A unit is guessed from a whole column, and a part is none."""
    path = Path(tmp_path / "acts.parquet")
    pl.DataFrame({"user": [1, 2], "page": [1, 2], "time": [5, 6]}).write_parquet(path)
    with pytest.raises(BadInput, match="give --time-unit s, ms, us or ns"):
        audit(path, Question(practices=["nothing"]), engine="stream")


def test_parts_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    """Delays so long that a part would be the whole history."""

    whole = stream.budget_for
    monkeypatch.setattr(
        stream,
        "budget_for",
        lambda events, **limits: replace(whole(events, **limits), rows=50, most_rows=90),
    )
    with pytest.raises(NotPossible, match="and 90 fit: give more --memory"):
        audit(
            history(300),
            Question(practices=["nothing"], time="when"),
            engine=Resources(engine="stream", jobs=1, scratch=tmp_path),
        )
