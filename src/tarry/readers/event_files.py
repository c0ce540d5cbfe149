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
from pathlib import Path
from typing import IO, Any

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.events import Event

__all__ = ["ENDINGS", "MANY", "Written", "check_output", "write_events", "written_time"]

ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
MANY = 50_000  # actors that are counted one by one; names of more would fill the memory
_COLUMNS = Event._fields
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Written:
    """What was written: an account that grows while events pass.

    >>> told = Written()
    >>> _ = list(told.counting([Event("ann", "p", 5), Event("ann", "q", 3)]))
    >>> told.events, told.actors, told.first, told.last
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
        first, last, names = None, None, self._names
        for event in events:
            self.events += 1
            if first is None or event.time < first:
                self.first = first = event.time
            if last is None or event.time > last:
                self.last = last = event.time
            if len(names) <= MANY:
                names.add(event.actor)
            yield event


def check_output(path: str | Path, *, force: bool = False) -> Path:
    """Refuse a file that cannot be written, before anything long begins.

    >>> check_output("events.xlsx")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the output file must end in .csv, .csv.gz, .jsonl, .jsonl.gz or .parquet...
    """
    file, what = Path(path), "the output file"
    if not file.name.endswith(ENDINGS):
        raise BadInput(
            what, f"must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}", found=repr(str(path))
        )
    if file.name.endswith(".parquet") and find_spec("polars") is None:
        raise NotPossible(
            "a .parquet file needs the study extra: pip install 'tarry[study]', or write .csv.gz"
        )
    if not file.parent.is_dir():
        raise BadInput(what, "must lie in a folder that is there", found=repr(str(file.parent)))
    if file.is_dir() or (not force and os.path.lexists(file)):
        found = "a directory" if file.is_dir() else repr(str(path))
        fix = "choose another name" + ("" if file.is_dir() else ", or give --force")
        raise BadInput(what, "must not be there yet", found=found, fix=fix)
    return file


def write_events(
    events: Iterable[Event], path: str | Path, *, force: bool = False, bots: bool = True
) -> Written:
    r"""Write events as columns actor, target, time and track, and is_bot if the events tell that.

    Nothing is seen under the name before all of it is there, and what is there already stays unless
    `force` is given.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "events.csv"
    ...     told = write_events([Event("ann", "p 1", 1_714_557_600_000_000)], file)
    ...     file.read_text()
    'actor,target,time,track,is_bot\nann,p 1,2024-05-01T10:00:00Z,,false\n'
    """
    file, told = check_output(path, force=force), Written()
    columns = _COLUMNS if bots else _COLUMNS[:-1]
    with _draft(file, force=force) as draft:
        counted = map(_sound, told.counting(events))
        if file.name.endswith(".parquet"):
            from tarry.readers.event_table import write_table  # noqa: PLC0415 - needs the study extra

            write_table(counted, draft, columns)
        else:
            with _text(draft, packed=file.name.endswith(".gz")) as text:
                write = _write_csv if ".csv" in file.suffixes[-2:] else _write_jsonl
                write(counted, text, columns)
    return told


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
        fix = "choose another name, or give --force"
        raise BadInput("the output file", "must not be there yet", found=repr(str(file)), fix=fix) from None
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
        row = _row(event)[: len(columns)]
        # A bare carriage return ends a line for many programs, but is not quoted for that.
        (quoted if any("\r" in cell for cell in row) else table).writerow(row)


def _row(event: Event) -> tuple[str, ...]:
    is_bot = "true" if event.is_bot else "false"
    return event.actor, event.target, written_time(event.time), event.track, is_bot


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
