"""What Spark's workers run comes to the same without Spark: the test deals, sorts and hands on."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.parts.histories import QUESTIONS, START, figures, named_history
from tarry.core.errors import BadInput, NotPossible
from tarry.study.audit import audit
from tarry.study.parts.cuts import slice_numbers
from tarry.study.parts.engine import Looked
from tarry.study.parts.partial import Partial, merged
from tarry.study.parts.report import audit_by_parts
from tarry.study.parts.spark import workers
from tarry.study.parts.spark.rows import Roles, is_text, names, numbered, surveyed
from tarry.study.parts.spark.source import _unreadable, roles_of
from tarry.study.question import Question
from tarry.study.source import SourceAccount, read_source

HISTORY = named_history()
ROLES = Roles(
    actor="user",
    target="page",
    time="created_at",
    track="space",
    declared="more",
    marks="bot",
    texts=("actor", "target"),
)
NUMBERS = {"block": pl.Int32, "slice": pl.Int32}
COLUMNS = ("actor", "target", "time", "track", "declared")


def batches(frame, size):
    """A frame in pieces, as Arrow brings them."""
    return iter([frame[at : at + size] for at in range(0, frame.height, size)])


@dataclass
class ByHand:
    """An engine that does what Spark does between two calls of its workers."""

    events: pl.DataFrame
    cuts: list
    buckets: int
    size: int
    reading: SourceAccount
    notes: tuple = ()

    def run(self, task):
        cuts = np.array(sorted(set(self.cuts)), dtype=np.int64)
        sliced = workers.SlicedTask(task=task, cuts=cuts, buckets=self.buckets, mark=workers.code_mark())
        edges = np.append(cuts, [int(self.events["time"].min()), int(self.events["time"].max()) + 1])
        edges = np.unique(np.append(edges, edges[:-2] + 30 * 10**6))  # blocks are finer than slices
        placed = pl.concat(workers.block_numbers(batches(self.events, self.size), edges)).sort("block")
        blocks = pl.concat(workers.pack(batches(placed, self.size)))
        first, last = np.append(-(10**17), edges), np.append(edges, 10**17) - 1
        pairs = slice_numbers(first, last, cuts, before=task.before, after=task.after)
        needed = pl.DataFrame(dict(zip(("block", "slice"), pairs, strict=True)), schema_overrides=NUMBERS)
        dealt = blocks.join(needed, on="block").sort("slice").select("slice", "data")
        looked = pl.concat(workers.look(batches(dealt, 3), sliced)).sort("bucket", "family", "width")
        buckets = looked.partition_by("bucket")
        reduced = pl.concat(
            frame for bucket in buckets for frame in workers.reduce(batches(bucket, 2), task)
        )
        [total] = workers.reduce(batches(reduced, 2), None)
        return merged(workers.raised(total.to_dicts()))


@settings(max_examples=4)
@given(
    st.lists(
        st.integers(min_value=0, max_value=4_000).map(lambda s: START + s // 20 * 20 * 10**6), max_size=5
    ),
    st.sampled_from([1, 3]),
    st.sampled_from([7, 1_000]),
)
def test_workers_say_what_the_whole_history_says(cuts, buckets, size):
    """With labels that were declared, gaps of tracks, and duplicates; cuts on ties; batches of any size."""
    question = replace_collapse(QUESTIONS["declared labels, gaps of tracks"])
    events = pl.concat(numbered(batches(HISTORY, size), replace(ROLES, without_bots=True)))
    account = SourceAccount(rows=420, unreadable_count=HISTORY["user"].null_count())
    by_parts = audit_by_parts(ByHand(events, cuts, buckets, size, account), question)

    whole, parts = figures(audit(HISTORY, question))[0], figures(by_parts)[0]
    assert {**parts, "notes": []} == {**whole, "notes": []}


def replace_collapse(question):
    """Without what is done before the work: repetitions are left out by Spark itself."""
    plain = {name: value for name, value in vars(question).items() if name != "collapse"}
    return Question(**{name: value for name, value in plain.items() if name in ASKED})


ASKED = ("practices", "track", "declared", "draws", "different", "observers", "attacks", "cutoffs")


@pytest.mark.parametrize("size", [1, 13, 1_000])
def test_batches_are_numbered_like_the_table_in_memory(size):
    """Texts, numbers, tracks and declared labels, without rows that cannot be read; whatever the batch."""
    _, table = read_source(
        HISTORY, Question(track="space", declared="more", without_bots=False, practices=["nothing"])
    )
    read = pl.concat(numbered(batches(HISTORY, size), ROLES)).sort("actor", "time", "target", "declared")

    for column in COLUMNS:
        assert sorted(read[column].to_list()) == sorted(getattr(table, column).tolist())
    assert read["actor"].to_list() == table.actor.tolist()
    assert read["time"].to_list() == table.time.tolist()


def test_a_survey_counts_what_is_wrong():
    """Rows that cannot be read, bots, names that are texts, and words that are neither yes nor no."""
    found = pl.concat(surveyed(batches(HISTORY, 100), ROLES)).sum().to_dicts()[0]
    missing = HISTORY["user"].null_count()

    assert (found["rows"], found["unreadable"]) == (420, missing)
    assert found["bots"] == HISTORY.filter(pl.col("user").is_not_null())["bot"].sum()
    assert found["actor"] == found["target"] == 5  # in each of five batches
    assert found["track"] == found["strange_marks"] == found["strange_declared"] == 0
    strange = HISTORY.with_columns(more=pl.lit("perhaps"), bot=pl.lit("maybe"))
    [odd] = surveyed(iter([strange]), ROLES)
    assert odd["strange_marks"].to_list() == odd["strange_declared"].to_list() == [1]


def test_rows_that_cannot_be_read_are_told_by_what_is_wrong():
    """As a file's are told one by one: of several faults of a row the first counts."""
    frame = pl.DataFrame(
        {
            "user": ["a", None, "b\0", None, "c", ""],
            "page": [1, None, 2, 3, None, 4],
            "created_at": pl.Series([0, 0, 0, 5, 0, None]).cast(pl.Datetime("us", "UTC")),
        }
    )
    roles = Roles(actor="user", target="page", time="created_at")
    survey = pl.concat(surveyed(batches(frame, 2), roles)).sum().to_dicts()[0]

    assert [str(each) for each in _unreadable(survey)] == [
        "3 rows: actor is missing",
        "1 row: actor ends in NUL",
        "1 row: target is missing",
    ]
    late = frame.with_columns(user=pl.lit(7), page=pl.lit(8))
    late = pl.concat([late, late.with_columns(created_at=pl.datetime(2300, 1, 1, time_zone="UTC"))])
    survey = next(surveyed(iter([late]), roles)).to_dicts()[0]
    assert [str(each) for each in _unreadable(survey)] == [
        "6 rows: time is outside the years 1900 to 2200",
        "1 row: time is missing",
    ]


def test_one_text_makes_all_names_of_a_column_texts():
    """Of a column with one text even 7 is a text, in the batches without that text too."""
    assert not is_text(pl.Series(["7", "-8"]))
    frame = HISTORY.with_columns(user=pl.lit("7"))
    as_number = next(numbered(iter([frame]), replace(ROLES, texts=("target",))))["actor"].unique().to_list()
    as_text = next(numbered(iter([frame]), ROLES))["actor"].unique().to_list()

    assert as_number == [7] != as_text
    assert next(names(iter([frame]), ROLES)).rows()[0] == ("actor", as_text[0], "7")


KINDS = {"user": "string", "page": "long", "time": "timestamp", "space": "double"}


@pytest.mark.parametrize(
    ("kinds", "question", "sentence"),
    [
        (
            {"time": "string"},
            {},
            "the time must be timestamps, or numbers of a unit, and time holds string",
        ),
        ({"time": "long"}, {}, "give --time-unit s, ms, us or ns"),
        ({"user": "double"}, {}, "the actor must be whole numbers or texts, and user holds double"),
        ({}, {"track": "space"}, "the track must be whole numbers or texts, and space holds double"),
        ({}, {"track": "nowhere"}, "there is no column 'nowhere'"),
        ({}, {"time_format": "%d"}, "leave --time-format and --time-zone out"),
        ({"user": "long"}, {"without_bots": True}, "nothing says who is a bot"),
        ({}, {"time_unit": "min"}, "--time-unit must be one of"),
    ],
)
def test_what_spark_cannot_read_is_refused(kinds, question, sentence):
    """By names and kinds alone, before any row is looked at."""
    with pytest.raises(BadInput, match=sentence.replace("(", r"\(")):
        roles_of(KINDS | kinds, Question(practices=["nothing"], **question))


class Refuses:
    """A task that refuses."""

    before = after = 0

    def __init__(self, error):
        self.error = error

    def look(self, part):
        raise self.error

    def reduce(self, family, rows):
        raise self.error


@pytest.mark.parametrize(
    "error", [BadInput("no such name", "check its spelling"), NotPossible("choose another")]
)
def test_a_refusal_of_a_worker_is_raised_where_one_reads_it(error):
    """As it was, from either step, and through the tree."""
    events = pl.DataFrame({"block": [0], "actor": [1], "target": [2], "time": [3]})
    blocks = next(workers.pack(iter([events]))).with_columns(slice="block")
    sliced = workers.SlicedTask(task=Refuses(error), cuts=np.array([], dtype=np.int64))
    looked = list(workers.look(iter([blocks]), sliced))
    with pytest.raises(type(error), match=str(error)):
        workers.raised(next(workers.reduce(iter(looked), sliced.task)).to_dicts())

    given = Looked(partial=Partial(), rows={"people": np.array([[1, 2]])})
    with pytest.raises(type(error), match=str(error)):
        workers.raised(next(workers.reduce(iter([workers._answers(given, 0, 1)]), sliced.task)).to_dicts())


def test_a_worker_with_other_code_refuses():
    """Whatever its version is called."""
    sliced = workers.SlicedTask(task=Refuses(None), cuts=np.array([], dtype=np.int64), mark="0123")
    [answer] = workers.look(iter([]), sliced)
    with pytest.raises(NotPossible, match="install the same version on both"):
        workers.raised(answer.to_dicts())
