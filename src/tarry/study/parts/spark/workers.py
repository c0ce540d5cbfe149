"""What runs on Spark's workers: frames of rows in and out, one slice or bucket in memory at a time.

Everything is said in rows of one form (`ANSWER`): a family of rows dealt to a bucket, a partial result, or
a refusal, which must reach whoever asked as the sentence that it is.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
import polars as pl

from tarry.core.errors import BadInput, NotPossible, TarryError
from tarry.core.lanes import IntArray
from tarry.study.parts.engine import Looked, SlicePart, Task, bucket_of
from tarry.study.parts.partial import Partial, merged
from tarry.study.table import event_table

__all__ = [
    "ANSWER",
    "SlicedTask",
    "as_batches",
    "block_numbers",
    "code_mark",
    "known_version",
    "look",
    "pack",
    "raised",
    "reduce",
    "refused",
    "together",
]

#: The rows that workers hand on, in Spark's words.
ANSWER = "family string, bucket int, width int, data binary"
_SCHEMA = {"family": pl.String(), "bucket": pl.Int32(), "width": pl.Int32(), "data": pl.Binary()}
_PARTIAL, _REFUSAL = 0, -1  # in place of a width
_FIRST, _LAST = -(1 << 61), 1 << 61  # before and after every moment
_FAR = 1 << 61  # farther than any two events are apart
_ROOMS = ("core", "readers", "study")  # whose code decides what comes out
Frames = Iterator[pl.DataFrame]


@dataclass(frozen=True, kw_only=True)
class SlicedTask:
    """One task over all slices.

    >>> SlicedTask(task=None, cuts=np.array([5])).slices
    2
    """

    task: Any  # a Task: it is pickled, and a protocol cannot be
    cuts: IntArray  # microseconds: between slices
    buckets: int = 1
    mark: str = ""  # of the code that asks; nothing: whatever it is

    @property
    def slices(self) -> int:
        """How many slices there are, empty ones too."""
        return len(self.cuts) + 1

    @property
    def before(self) -> int:
        """How much earlier than its slice a part begins, in microseconds."""
        return min(int(self.task.before), _FAR)

    @property
    def after(self) -> int:
        """How much later than its slice a part ends, in microseconds."""
        return min(int(self.task.after), _FAR)

    def edges(self, number: int) -> tuple[int, int]:
        """The moments between which a slice lies."""
        edges = [_FIRST, *self.cuts.tolist(), _LAST]
        return edges[number], edges[number + 1]


def as_batches(run: Callable[[Frames], Frames], batches: Iterable[Any]) -> Iterator[Any]:
    """A function over frames, as one over batches of Arrow: what `mapInArrow` wants.

    >>> [frame.height for frame in as_batches(lambda frames: frames, [])]
    []
    """
    for frame in run(pl.DataFrame(batch) for batch in batches):
        yield from frame.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()


# --- slices -----------------------------------------------------------------------------------------


def pack(frames: Frames) -> Frames:
    """The events of each block as one value: a cluster moves few large values faster than many rows.

    >>> frame = pl.DataFrame({"block": [0, 0], "time": [3, 9]})
    >>> next(pack(iter([frame]))).columns
    ['block', 'data']
    """
    for (block,), rows in together(frames, "block"):
        data = io.BytesIO()
        rows.drop("block").write_ipc(data, compression="lz4")
        yield pl.DataFrame(
            {"block": [block], "data": [data.getvalue()]}, schema={"block": pl.Int32(), "data": pl.Binary()}
        )


def block_numbers(frames: Frames, cuts: IntArray) -> Frames:
    """Each event with the number of its block; blocks lie between these moments.

    >>> next(block_numbers(iter([pl.DataFrame({"time": [3, 9]})]), np.array([5])))["block"].to_list()
    [0, 1]
    """
    for frame in frames:
        numbers = np.searchsorted(cuts, frame["time"].to_numpy(), side="right")
        yield frame.with_columns(block=pl.Series(numbers, dtype=pl.Int32))


def look(frames: Frames, sliced: SlicedTask) -> Frames:
    """What the task found in each slice. The blocks of a slice come one after the other.

    >>> class Count:
    ...     before, after = 0, 0
    ...
    ...     def look(self, part):
    ...         return Looked(partial=Partial(sums={"events": len(part.table)}))
    >>> events = {"block": [0, 1, 1], "actor": [1] * 3, "target": [1, 2, 3], "time": [3, 9, 9]}
    >>> blocks = pl.concat(pack(iter([pl.DataFrame(events)]))).with_columns(slice="block")
    >>> answers = look(iter([blocks]), SlicedTask(task=Count(), cuts=np.array([5])))
    >>> [Partial.from_json(row["data"].decode()).sums for each in answers for row in each.to_dicts()]
    [{'events': 1}, {'events': 2}]
    """
    with_mark = _other_code(sliced.mark)
    if with_mark:
        yield with_mark[0]
        return
    for (number,), rows in together(frames, "slice"):
        try:
            yield _answers(sliced.task.look(_part(rows["data"], sliced, number)), number, sliced.buckets)
        except TarryError as error:
            yield refused(error)
            return


def _part(blocks: pl.Series, sliced: SlicedTask, number: int) -> SlicePart:
    """A slice and its halo. Blocks at its ends have events that belong to neither."""
    start, end = sliced.edges(number)
    near = pl.col("time").is_between(start - sliced.before, end + sliced.after, closed="left")
    rows = pl.concat(pl.read_ipc(io.BytesIO(block)).filter(near) for block in blocks)
    columns = {name: rows[name].to_numpy() for name in rows.columns}
    return SlicePart(table=event_table(**columns), start=start, end=end)


def _answers(looked: Looked, number: int, buckets: int) -> pl.DataFrame:
    """A partial result, and the rows of each family by bucket.

    One bucket of each family is there though it has no rows, so that its task hears of every family.
    """
    answers = [("", number % buckets, _PARTIAL, looked.partial.to_json().encode())]
    for family, rows in looked.rows.items():
        bucket = bucket_of(rows[:, 0], buckets)
        order = np.argsort(bucket, kind="stable")
        ends = np.cumsum(np.bincount(bucket, minlength=buckets))
        for one, piece in enumerate(np.split(rows[order], ends[:-1])):
            if len(piece) or not one:
                answers.append((family, one, rows.shape[1], piece.astype("<i8").tobytes()))
    return _frame(answers)


def _frame(answers: Sequence[tuple[str, int, int, bytes]]) -> pl.DataFrame:
    return pl.DataFrame(answers, schema=_SCHEMA, orient="row")


def together(frames: Frames, *keys: str) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    """All rows of one key after the other, where rows are sorted by it.

    >>> frames = [pl.DataFrame({"slice": [0, 1]}), pl.DataFrame({"slice": [1, 2]})]
    >>> [(key, rows.height) for key, rows in together(iter(frames), "slice")]
    [((0,), 1), ((1,), 2), ((2,), 1)]
    """
    key: tuple[Any, ...] | None = None
    waiting: list[pl.DataFrame] = []
    for frame in frames:
        for new, rows in frame.group_by(keys, maintain_order=True):
            if new != key and key is not None:
                yield key, pl.concat(waiting)
                waiting = []
            key = new
            waiting.append(rows)
    if key is not None:
        yield key, pl.concat(waiting)


# --- buckets, and the tree --------------------------------------------------------------------------


def reduce(frames: Frames, task: Task | None) -> Frames:
    """All that came to this worker, as one partial result; without a task, of partial results alone.

    >>> parts = _frame([("", 0, 0, Partial(sums={"n": n}).to_json().encode()) for n in (1, 2)])
    >>> [total] = reduce(iter([parts]), None)
    >>> Partial.from_json(total["data"][0].decode()).sums
    {'n': 3}
    """
    total = Partial()
    for (family, width, _), rows in together(frames, "family", "width", "bucket"):
        if width == _REFUSAL:
            yield rows.head(1)
            return
        try:
            total = total.plus(_reduced(family, width, rows["data"].to_list(), task))
        except TarryError as error:
            yield refused(error)
            return
    yield _frame([("", 0, _PARTIAL, total.to_json().encode())])


def _reduced(family: str, width: int, data: Sequence[bytes], task: Task | None) -> Partial:
    if task is None or width == _PARTIAL:
        return merged(Partial.from_json(each.decode()) for each in data)
    rows = np.frombuffer(b"".join(data), dtype="<i8").astype(np.int64, copy=False)
    return task.reduce(family, rows.reshape(-1, width))


# --- refusals ---------------------------------------------------------------------------------------


def refused(error: TarryError) -> pl.DataFrame:
    """A refusal as a row, to be raised again where somebody reads it.

    >>> raised(refused(BadInput("there are no events", "give some")).to_dicts())
    Traceback (most recent call last):
    tarry.core.errors.BadInput: there are no events: give some
    """
    words = [error.problem, error.fix] if isinstance(error, BadInput) else [str(error)]
    return _frame([("", 0, _REFUSAL, json.dumps(words).encode())])


def raised(rows: Iterable[Any]) -> list[Partial]:
    """The partial results of some rows; a refusal among them is raised.

    >>> raised([{"width": 0, "data": Partial(sums={"n": 1}).to_json().encode()}])[0].sums
    {'n': 1}
    """
    answers = [(row["width"], bytes(row["data"]).decode()) for row in rows]
    refusals = sorted(text for width, text in answers if width == _REFUSAL)
    if refusals:
        words = json.loads(refusals[0])
        raise BadInput(*words) if len(words) > 1 else NotPossible(*words)
    return [Partial.from_json(text) for _, text in answers]


# --- one version everywhere -------------------------------------------------------------------------


@cache
def code_mark() -> str:
    """A short mark of the code that decides what comes out: equal code, equal mark.

    >>> len(code_mark()), code_mark() == code_mark()
    (16, True)
    """
    digest = blake2b(digest_size=8)
    for room in _ROOMS:
        for name, file in sorted(_code(files("tarry") / room, room)):
            digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _code(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _code(each, f"{name}/{each.name}")
        elif each.name.endswith(".py"):
            yield f"{name}/{each.name}", each


def known_version() -> str:
    """The version that is installed here.

    >>> known_version().count(".")
    2
    """
    try:
        return version("tarry")
    except PackageNotFoundError:  # it came as a file among others
        return "unknown"


def _other_code(mark: str) -> list[pl.DataFrame]:
    if mark in {"", code_mark()}:
        return []
    return [
        refused(
            NotPossible(
                f"a worker of Spark has other code of tarry ({known_version()}) than this computer: "
                "install the same version on both"
            )
        )
    ]
