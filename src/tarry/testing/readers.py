"""The conformance suite of readers: events that are whole, the same each time, and one sentence when not.

A reader joins in three lines, with a small export and what is in it:

    class TestMastodon(ReaderSuite):
        case = ReaderCase(kind=READER, source=write_export, events=[...], broken={"no JSON": write_rubbish})

It needs pytest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.events import Event, Stream
from tarry.readers.kind import ReaderKind

__all__ = ["ReaderCase", "ReaderSuite", "Source"]

#: What is read: a path or an address, several paths, or what serves it for a while and gives its address.
Source = str | Sequence[str] | AbstractContextManager[str]


@dataclass(frozen=True, kw_only=True)
class ReaderCase:
    """A reader, what makes an export in an empty folder (or serves one), and the events in it.

    >>> from tarry.places.exports import GITHUB
    >>> ReaderCase(kind=GITHUB, source=lambda folder: "-", events=[]).options
    {}
    """

    kind: ReaderKind
    source: Callable[[Path], Source]
    events: Sequence[Event]
    options: Mapping[str, Any] = field(default_factory=dict)  # by their keys
    broken: Mapping[str, Callable[[Path], Source]] = field(default_factory=dict)  # what cannot be read


class ReaderSuite:
    """What the test class of a reader inherits; `case` is all it adds.

    >>> from tarry.places.exports import GITHUB
    >>> class TestMine(ReaderSuite):
    ...     case = ReaderCase(kind=GITHUB, source=lambda folder: "-", events=[])
    """

    case: ReaderCase

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each thing that cannot be read."""
        if "damage" in metafunc.fixturenames:
            metafunc.parametrize("damage", self.case.broken)

    def test_it_reads_what_is_there(self, tmp_path: Path) -> None:
        """Every event, in its order."""
        with self._opened(self.case.source, tmp_path) as (stream, _):
            assert list(stream) == list(self.case.events)

    def test_it_reads_the_same_again(self, tmp_path: Path) -> None:
        """Nothing of the moment or of chance is in what is read."""
        with _served(self.case.source, tmp_path) as sources:
            first, again = (self.case.kind.open(sources, self.case.options)[0] for _ in range(2))

            assert list(first) == list(again)

    def test_events_are_whole(self, tmp_path: Path) -> None:
        """Who and on what are texts that are not empty, when is a whole number of microseconds."""
        with self._opened(self.case.source, tmp_path) as (stream, _):
            for event in stream:
                assert isinstance(event, Event)
                assert event.actor, event
                assert event.target, event
                assert type(event.time) is int, event
                assert all(isinstance(text, str) for text in (event.actor, event.target, event.track)), (
                    event
                )

    def test_bots_are_marked_only_by_who_tells_them(self, tmp_path: Path) -> None:
        """A reader that does not tell bots marks none."""
        with self._opened(self.case.source, tmp_path) as (stream, tells_bots):
            assert tells_bots or not any(event.is_bot for event in stream)

    def test_what_cannot_be_read_is_one_sentence(self, tmp_path: Path, damage: str) -> None:
        """It says what is wrong, and has no line end."""
        broken = self._opened(self.case.broken[damage], tmp_path)
        with pytest.raises((BadInput, NotPossible)) as caught, broken as (stream, _):
            list(stream)
        assert str(caught.value)
        assert "\n" not in str(caught.value)

    @contextmanager
    def _opened(self, make: Callable[[Path], Source], folder: Path) -> Iterator[tuple[Stream, bool]]:
        with _served(make, folder) as sources:
            yield self.case.kind.open(sources, self.case.options)


@contextmanager
def _served(make: Callable[[Path], Source], folder: Path) -> Iterator[Sequence[str]]:
    source = make(folder)
    if isinstance(source, AbstractContextManager):
        with source as address:
            yield [address]
    else:
        yield [source] if isinstance(source, str) else source
