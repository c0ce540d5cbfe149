"""How much memory a study needs: an estimate before the work, and one sentence where it does not fit.

An event costs so many bytes while it is read, and so many while it is measured. Both were measured on
made-up histories of 1 to 12 million events, and are rounded up: docs/study.md has the table.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tarry.core.errors import NotPossible
from tarry.readers.free_memory import Room, gigabytes, rooms

if TYPE_CHECKING:  # this is loaded before anything heavy
    from tarry.study.question import Question

__all__ = [
    "ADVISE",
    "ATTACK",
    "BASE",
    "LEARN",
    "SIMULATE",
    "Work",
    "check_base",
    "check_file",
    "check_memory",
    "needed",
    "watching",
    "work_of",
]

#: Python with everything that is loaded.
BASE = 260 << 20
#: Addresses that are reserved beyond the memory that is used: by libraries, and by each thread.
_RESERVED, _A_PROCESSOR = 1500 << 20, 20 << 20
_OWN_THREADS = 4  # of libraries, beside one for each processor


@dataclass(frozen=True)
class Work:
    """What is done with each event, in bytes, and how to do with less.

    >>> ATTACK.event
    330
    """

    event: int
    less: tuple[str, ...] = ()  # what to leave out, beside events


#: Replay and write.
SIMULATE = Work(150)
#: Replay and attack, whatever the practices and draws: one at a time is held.
ATTACK = Work(330)
#: Learn policies, measure them, and recommend one; an audit can leave that out.
LEARN = Work(480)
ADVISE = Work(480, ("ask for no recommendation (--no-advice)",))


def watching(replays: int) -> Work:
    """A long watch holds all of its replays at once.

    >>> watching(7).event
    366
    """
    return Work(240 + 18 * replays, ("fewer draws, splits or practices",) if replays > 4 else ())


def work_of(question: "Question") -> Work:
    """The part of an audit that takes most.

    >>> from tarry.study.question import Question
    >>> work_of(Question(practices=["nothing"])).event, work_of(Question()).event
    (330, 480)
    """
    parts = [ADVISE if question.recommend else ATTACK]
    if question.watch:
        parts.append(watching((len(question.practices) + question.recommend) * question.draws))
    return max(parts, key=lambda part: part.event)


def needed(events: int, reading: int, work: Work) -> int:
    """How many bytes that takes, if reading takes so many for each event.

    >>> gigabytes(needed(1_000_000, 66, ATTACK))
    '0.67 GB'
    """
    return BASE + events * (reading + work.event)


def check_base() -> None:
    """Refuse where not even the libraries fit.

    >>> check_base()
    """
    _check(0, 0, Work(0), beside=0)


def check_memory(events: int, reading: int, work: Work, *, beside: int = 0) -> None:
    """Refuse work that does not fit into what this process may use; `beside` are bytes of a mapped file.

    >>> check_memory(10**12, 66, ADVISE)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: this needs about 546000 GB of memory for 1,000,000,000,000 events, ...
    """
    _check(events, reading, work, beside=beside)


def check_file(path: str | Path, work: Work) -> None:
    """The same before a file is read. How much a packed text holds is known only afterwards.

    >>> check_file("no-such-file.csv", ATTACK)  # reading it says what is wrong
    """
    from tarry.readers.files import weigh  # noqa: PLC0415 - slow to load

    weight = weigh(path)
    check_memory(weight.rows, weight.row, work, beside=weight.mapped)


def _check(events: int, reading: int, work: Work, *, beside: int) -> None:
    total = needed(events, reading, work)
    for room in rooms():
        need = total + (_reserved(room) + beside if room.addresses else 0)
        if need > room.size:
            raise NotPossible(_sentence(events, need, room, work, (need - total) + BASE))


def _reserved(room: Room) -> int:
    processors = os.cpu_count() or 1
    return _RESERVED + _A_PROCESSOR * processors + room.stack * (processors + _OWN_THREADS)


def _sentence(events: int, need: int, room: Room, work: Work, base: int) -> str:
    what = "addresses" if room.addresses else "memory"
    whose = f" for {events:,} events" if events else ""
    fewer = _fewer(events, need, room, base)
    fix = _or([*fewer, *(work.less if fewer else ()), _more(room)])
    return f"this needs about {gigabytes(need)} of {what}{whose}, and {room.text}: {fix}"


def _fewer(events: int, need: int, room: Room, base: int) -> list[str]:
    """Which part of the history would fit, if a useful one does."""
    fits = (room.size - base) * events // max(1, need - base)
    if fits < events // 20 or fits < 1000:
        return []
    about = fits // 10 ** (len(str(fits)) - 2) * 10 ** (len(str(fits)) - 2)
    return [
        f"take a part of the history (about {about:,} events fit)",
        "leave out busy actors (--busy-limit)",
    ]


def _more(room: Room) -> str:
    return "allow more memory" if room.is_limit else "use a machine with more memory"


def _or(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + (", or " if parts[:-1] else "") + parts[-1]
