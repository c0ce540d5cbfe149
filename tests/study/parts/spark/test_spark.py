"""On a real Spark, and on Sail, an audit says what the engine memory says, to the last digit.

`scripts/test` runs this file twice: with pyspark on this computer, and with Spark's client on Sail.
"""

import os
import sys
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

from study.parts.histories import QUESTIONS, figures, named_history, skewed_history
from tarry.core.errors import BadInput, NotPossible
from tarry.study.audit import audit
from tarry.study.parts import report
from tarry.study.parts.engine import Looked
from tarry.study.parts.partial import Partial
from tarry.study.parts.spark import engine, rows, workers
from tarry.study.parts.spark.engine import Spark, audit_on_spark
from tarry.study.parts.spark.session import spark_session
from tarry.study.parts.spark.source import open_frame, read_spark
from tarry.study.parts.tally import tally_of
from tarry.study.question import Question

pytest.importorskip(
    "pyspark",
    reason="NO PYSPARK HERE: scripts/test runs this with the packages of .parts/spark and .parts/sail",
)
IS_SAIL = find_spec("pysail") is not None
pytestmark = [pytest.mark.server, *([] if IS_SAIL else [pytest.mark.needs("java")])]
FAST = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.session.timeZone": "Asia/Tokyo",  # whatever it is, moments are moments
}


@pytest.fixture(scope="module")
def session():
    """The one session of all tests. Their tasks are sent as they are: no worker can import them."""
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(sys.modules[__name__])
    if not IS_SAIL:
        with spark_session("local[2]", settings=FAST) as started:
            yield started
        return
    from pysail.spark import SparkConnectServer

    os.environ["PYSPARK_PYTHON"] = sys.executable
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    with spark_session(remote=f"sc://{host}:{port}") as connected:
        yield connected
    server.stop()


def stored(session, frame, folder):
    """A history as a frame of Spark's, from two files."""
    for number, part in enumerate((frame[::2], frame[1::2])):
        part.write_parquet(folder / f"{number}.parquet")
    return open_frame(session, folder)


def audited(frame, question, most):
    """As `audit_on_spark`, with slices small enough that there are several."""
    events = read_spark(frame, question, block=20)
    return report.audit_by_parts(Spark(events=events, most=most), question)


@pytest.mark.parametrize("name", [name for name in QUESTIONS if IS_SAIL or "filters" not in name])
def test_spark_says_what_memory_says(session, tmp_path, name):
    """Labels, practices, observers, attacks and filters; texts, ties, duplicates, an empty day."""
    history, question = named_history(), QUESTIONS[name]

    assert figures(audited(stored(session, history, tmp_path), question, 120)) == figures(
        audit(history, question)
    )


def test_a_skewed_history_is_cut_evenly(session, tmp_path):
    """Half of all events in one hour, three tenths on one target: no part is 1.5 times the median."""
    history = skewed_history()
    question = Question(
        practices=["nothing"], time_unit="us", window="10s", cutoffs=["10s"], different=False
    )
    events = read_spark(stored(session, history, tmp_path), question, block=20)
    parts = Spark(events=events, most=400).run(Sizes()).tallies["events"]
    sizes = np.sort(np.repeat(parts.low, parts.count.astype(int)))

    assert len(sizes) >= 6
    assert sizes[-1] < 1.5 * np.median(sizes)
    if IS_SAIL:  # the same work takes Spark far longer, and shows nothing more
        by_parts = report.audit_by_parts(Spark(events=events, most=400), question)
        assert figures(by_parts) == figures(audit(history, question))


class Sizes:
    """A task that measures parts."""

    before = after = 10_000_000

    def look(self, part):
        return Looked(partial=Partial(tallies={"events": tally_of(np.array([len(part.table)]))}))

    def reduce(self, family, rows):
        raise AssertionError(family)


class Keys:
    """A task whose rows are events by actor: every key must come together, in one bucket."""

    before = after = 5_000_000

    def __init__(self, refuses=None):
        self.refuses = refuses

    def look(self, part):
        own = part.table.actor[part.own]
        partial = Partial(sums={"events": len(own)}, most={"huge": 1 << 70})
        return Looked(partial=partial, rows={"people": np.stack([own, np.ones_like(own)], axis=1)})

    def reduce(self, family, rows):
        if self.refuses is not None:
            raise self.refuses
        people, counts = np.unique(rows[:, 0], return_counts=True)
        return Partial(sums={family: len(people)}, tops={family: tuple(sorted(counts.tolist())[::-1][:10])})


@pytest.fixture
def skewed(session, tmp_path):
    question = Question(practices=["nothing"], time_unit="us")
    return read_spark(stored(session, skewed_history(900), tmp_path), question, block=20)


def test_rows_of_one_key_come_together(skewed, monkeypatch):
    """With more buckets than the tree gathers at once; sums pass the range of a machine word."""
    monkeypatch.setattr(engine, "_GATHERED", 2)
    table = skewed_history(900)
    found = Spark(events=skewed, most=200).run(Keys())
    counts = sorted(table["actor"].value_counts()["count"].to_list(), reverse=True)

    assert found.sums == {"events": 900, "people": len(counts)}
    assert found.tops["people"] == tuple(counts[:10])
    assert found.most["huge"] == 1 << 70


@pytest.mark.parametrize(
    "error", [BadInput("no such name", "check its spelling"), NotPossible("choose another")]
)
def test_a_refusal_on_a_worker_is_the_sentence_that_it_was(skewed, error):
    """Nothing of Spark's own page of complaint."""
    with pytest.raises(type(error), match=f"^{error}$"):
        Spark(events=skewed, most=500).run(Keys(refuses=error))


def test_workers_with_other_code_are_refused(skewed, monkeypatch):
    """Each worker compares, whenever it is given work."""
    monkeypatch.setattr(engine.workers, "code_mark", lambda: "0123")
    sliced = workers.SlicedTask(task=Sizes(), cuts=np.array([], dtype=np.int64), mark="0123")
    looked = Spark(events=skewed)._looked(sliced)
    monkeypatch.undo()
    if IS_SAIL:  # its workers are threads of this process: what they compare with is undone by now
        assert sliced.mark != workers.code_mark()
    with pytest.raises(NotPossible, match="install the same version on both"):
        workers.raised(looked.collect())


def test_two_names_with_one_number_are_refused(session, tmp_path, monkeypatch):
    """The check is kept: here every name gets the number 7."""

    question = QUESTIONS["held labels, filters"]
    frame = stored(session, named_history(), tmp_path)
    monkeypatch.setattr(rows, "names", same_number)
    with pytest.raises(BadInput, match="two names of the column user get the same number"):
        read_spark(frame, question)


def same_number(frames, roles):
    """Instead of `names`."""
    for frame in frames:
        texts = frame[roles.actor].drop_nulls().unique()
        yield pl.DataFrame(
            [pl.Series("role", ["actor"] * len(texts)), pl.Series("code", [7] * len(texts)), texts]
        )


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("table:nowhere", r"Spark cannot read table:nowhere \(AnalysisException\): check its name"),
        ("events.csv", "Spark reads Parquet and tables, not 'events.csv'"),
        ({}, "Spark reads no dict: give Parquet files, table:NAME or a frame of Spark's"),
    ],
)
def test_a_source_that_cannot_be_read_is_one_sentence(session, source, sentence):
    """Of another kind, or not there."""
    with pytest.raises((BadInput, NotPossible), match=sentence):
        audit_on_spark(source, Question(practices=["nothing"]))


def test_a_job_that_fails_is_one_sentence(session, tmp_path):
    """What Spark says of it stays in the log, and is the cause of the error."""
    frame = stored(session, named_history(), tmp_path).selectExpr(
        "user", "page", "cast(raise_error('lost') as timestamp) as created_at"
    )
    with pytest.raises(NotPossible, match=r"Spark has given up the work \(\w+\): see the logs") as given_up:
        audit_on_spark(frame, Question(practices=["nothing"]))

    assert given_up.value.__cause__ is not None


def test_a_frame_of_spark_is_a_source_and_its_session_stays(session, tmp_path):
    """Filters too; `audit_on_spark` uses the session that is there, and leaves it as it was."""
    history, question = named_history(), QUESTIONS["held labels, filters"]
    found = audit_on_spark(stored(session, history, tmp_path), question)

    missing = history["user"].null_count()
    assert figures(found) == figures(audit(history, question))
    assert [str(each) for each in found.reading.unreadable] == [f"{missing} rows: actor is missing"]
    assert session.range(3).count() == 3


def test_too_few_events_are_refused(session, tmp_path):
    """In the words of the table in memory."""
    frame = stored(session, named_history(2), tmp_path).filter("user is not null").limit(1)
    with pytest.raises(NotPossible, match="at least 2 events to have pairs, and 1 is left of 1 rows"):
        read_spark(frame, Question(practices=["nothing"], without_bots=False))
