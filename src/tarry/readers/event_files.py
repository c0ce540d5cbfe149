"""Events as a file that the study reads: whole or not at all, and in memory that does not grow with it."""

import csv
import gzip
import io
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.events import Event

__all__ = ["ENDINGS", "MANY", "Written", "check_output", "write_events", "write_table", "written_time"]

ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
MANY = 50_000  # actors that are counted one by one; names of more would fill the memory
_COLUMNS = Event._fields
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AT_ONCE = 50_000  # events that a table takes in one go


@dataclass
class Written:
    """What was written: an account that grows while events pass.

    >>> written = Written()
    >>> _ = list(written.counting([Event("ann", "p", 5), Event("ann", "q", 3)]))
    >>> written.events, written.actors, written.first, written.last
    (2, 1, 3, 5)
    """

    events: int = 0
    first: int | None = None  # microseconds since 1970 UTC
    last: int | None = None
    _names: set[str] = field(default_factory=set, repr=False)

    @property
    def actors(self) -> int | None:
        """How many actors there are; None where there are more than are counted."""
        return len(self._names) if len(self._names) <= MANY else None

    def counting(self, events: Iterable[Event]) -> Iterator[Event]:
        """The same events, counted as they pass."""
        for event in events:
            self.events += 1
            self.first = event.time if self.first is None else min(self.first, event.time)
            self.last = event.time if self.last is None else max(self.last, event.time)
            if len(self._names) <= MANY:
                self._names.add(event.actor)
            yield event


def check_output(path: str | Path, *, force: bool = False) -> Path:
    """Refuse a file that cannot be written, before anything long begins.

    >>> check_output("events.xlsx")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the output file must end in .csv, .csv.gz, .jsonl, .jsonl.gz or .parquet...
    """
    file = Path(path)
    if not file.name.endswith(ENDINGS):
        endings = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise BadInput(f"the output file must end in {endings}, not {str(path)!r}")
    if file.name.endswith(".parquet") and find_spec("polars") is None:
        raise NotPossible(
            "a .parquet file needs the study extra: pip install '.[study]' in a checkout of tarry, "
            "or write .csv.gz"
        )
    if not file.parent.is_dir():
        raise BadInput(
            f"the folder {str(file.parent)!r} of the output file does not exist", "make it first"
        )
    if file.is_dir():
        raise BadInput(f"the output file {str(path)!r} is a directory", "choose another name")
    if not force and os.path.lexists(file):
        raise _exists(file)
    return file


def _exists(file: Path) -> BadInput:
    return BadInput(f"the output file {str(file)!r} already exists", "choose another name, or give --force")


def write_events(
    events: Iterable[Event], path: str | Path, *, force: bool = False, bots: bool = True
) -> Written:
    r"""Write events as columns actor, target, time and track, and is_bot if the events tell that.

    Nothing is seen under the name before all of it is there, and what is there already stays unless
    `force` is given.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "events.csv"
    ...     _ = write_events([Event("ann", "p 1", 1_714_557_600_000_000)], file)
    ...     file.read_text()
    'actor,target,time,track,is_bot\nann,p 1,2024-05-01T10:00:00Z,,false\n'
    """
    file, written = check_output(path, force=force), Written()
    columns = _COLUMNS if bots else _COLUMNS[:-1]
    with _draft(file, force=force) as draft:
        counted = map(_sound, written.counting(events))
        if file.name.endswith(".parquet"):
            write_table(counted, draft, columns)
        else:
            with _text(draft, packed=file.name.endswith(".gz")) as text:
                write = _write_csv if ".csv" in file.suffixes[-2:] else _write_jsonl
                write(counted, text, columns)
    return written


def write_table(events: Iterator[Event], path: Path, columns: tuple[str, ...]) -> None:
    """Write some columns of events as a Parquet table, which says the unit of times; needs the study extra.

    >>> import polars as pl
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_table(iter([Event("ann", "p 1", 5)]), Path(folder, "events"), ("actor", "time"))
    ...     pl.read_parquet(Path(folder, "events")).rows()
    [('ann', 5)]
    """
    import polars as pl  # noqa: PLC0415 - needs the study extra

    schema = {name: {"time": pl.Int64, "is_bot": pl.Boolean}.get(name, pl.String) for name in _COLUMNS}
    # While the library reads or writes, a program hears no signal: so each call is a short one. The first
    # piece has no rows, as the whole may have none.
    batches = chain([[]], iter(lambda: list(islice(events, _AT_ONCE)), []))
    with TemporaryDirectory(prefix=".", dir=path.parent) as folder:
        for number, some in enumerate(batches):
            piece = pl.DataFrame(some, schema=schema, orient="row").select(columns)
            piece.write_parquet(Path(folder, f"{number:09}.parquet"))
        pl.scan_parquet(folder).sink_parquet(path, metadata={"time_unit": "us"}, row_group_size=200_000)


def written_time(time: int) -> str:
    """A moment as ISO 8601, exact to the microsecond.

    >>> written_time(1_714_557_600_000_000), written_time(-1)
    ('2024-05-01T10:00:00Z', '1969-12-31T23:59:59.999999Z')
    """
    return (_EPOCH + timedelta(microseconds=time)).isoformat().removesuffix("+00:00") + "Z"


@contextmanager
def _draft(file: Path, *, force: bool) -> Iterator[Path]:
    """A file beside the one to be, which takes its name at the end; nothing is left of a failure.

    Until then nobody else may read it: should the machine stop, it stays behind where nobody looks.
    """
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield draft
        draft.chmod(0o666 & ~_umask())
        if force:
            draft.replace(file)
        else:
            _give_name(draft, file)
    except FileExistsError:
        raise _exists(file) from None
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def _umask() -> int:
    """What new files are not allowed; it can be asked for only by setting it, here to a strict one."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _give_name(draft: Path, file: Path) -> None:
    """Unless another file has got the name in between, which a rename would not notice."""
    try:
        os.link(draft, file)
    except FileExistsError:
        raise
    except OSError:  # not every file system knows second names
        if os.path.lexists(file):
            raise FileExistsError from None
        draft.rename(file)


@contextmanager
def _text(draft: Path, *, packed: bool) -> Iterator[IO[str]]:
    with draft.open("wb") as file:
        # Neither its name nor the time of its making stands in a packed file.
        raw: Any = gzip.GzipFile("", "wb", 6, file, mtime=0) if packed else file
        with io.TextIOWrapper(raw, "utf-8", newline="") as text:
            yield text


def _write_csv(events: Iterable[Event], text: IO[str], columns: tuple[str, ...]) -> None:
    table = csv.writer(text, lineterminator="\n")
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(columns)
    for event in events:
        is_bot = "true" if event.is_bot else "false"
        row = (event.actor, event.target, written_time(event.time), event.track, is_bot)[: len(columns)]
        # A bare carriage return ends a line for many programs, but is not quoted for that.
        (quoted if any("\r" in cell for cell in row) else table).writerow(row)


def _write_jsonl(events: Iterable[Event], text: IO[str], columns: tuple[str, ...]) -> None:
    for event in events:
        values = event._replace(time=written_time(event.time))  # type: ignore[arg-type]  # only to write it
        text.write(json.dumps(dict(zip(columns, values, strict=False)), ensure_ascii=False) + "\n")


def _sound(event: Event) -> Event:
    """Texts that a file can hold: JSON can name half of a pair of surrogates, which UTF-8 cannot write."""
    texts = (event.actor, event.target, event.track)
    if all(map(str.isascii, texts)):
        return event
    actor, target, track = (text.encode(errors="backslashreplace").decode() for text in texts)
    return event._replace(actor=actor, target=target, track=track)
