"""The conformance suite of readers: events that are whole, the same each time, and one sentence when not.

A reader joins in three lines, with a small export and what is in it:

    class TestMastodon(ReaderSuite):
        case = ReaderCase(kind=READER, source=write_export, events=[...], broken={"no JSON": write_rubbish})

It needs pytest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.readers.events import Event, Stream
from tarry.readers.kind import ReaderKind

__all__ = ["ReaderCase", "ReaderSuite"]

_Source = str | Sequence[str]


@dataclass(frozen=True, kw_only=True)
class ReaderCase:
    """A reader, an export that is written into an empty folder (or an address), and what is in it.

    >>> from tarry.places.github import READER
    >>> ReaderCase(kind=READER, source=lambda folder: "-", events=[]).options
    {}
    """

    kind: ReaderKind
    source: Callable[[Path], _Source]
    events: Sequence[Event]
    options: Mapping[str, Any] = field(default_factory=dict)  # by their keys
    broken: Mapping[str, Callable[[Path], _Source]] = field(default_factory=dict)  # what cannot be read


class ReaderSuite:
    """What the test class of a reader inherits; `case` is all it adds.

    >>> from tarry.places.github import READER
    >>> class TestMine(ReaderSuite):
    ...     case = ReaderCase(kind=READER, source=lambda folder: "-", events=[])
    """

    case: ReaderCase

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each thing that cannot be read."""
        if "damage" in metafunc.fixturenames:
            metafunc.parametrize("damage", self.case.broken)

    def test_it_reads_what_is_there(self, tmp_path: Path) -> None:
        """Every event, in its order."""
        assert list(self._open(self.case.source(tmp_path))) == list(self.case.events)

    def test_it_reads_the_same_again(self, tmp_path: Path) -> None:
        """Nothing of the moment or of chance is in what is read."""
        source = self.case.source(tmp_path)

        assert list(self._open(source)) == list(self._open(source))

    def test_events_are_whole(self, tmp_path: Path) -> None:
        """Who and on what are texts that are not empty, when is a whole number of microseconds."""
        for event in self._open(self.case.source(tmp_path)):
            assert isinstance(event, Event)
            assert event.actor, event
            assert event.target, event
            assert type(event.time) is int, event
            assert all(isinstance(text, str) for text in (event.actor, event.target, event.track)), event

    def test_bots_are_marked_only_by_who_tells_them(self, tmp_path: Path) -> None:
        """A reader that does not tell bots marks none."""
        stream, tells = self._opened(self.case.source(tmp_path))

        assert tells or not any(event.is_bot for event in stream)

    def test_what_cannot_be_read_is_one_sentence(self, tmp_path: Path, damage: str) -> None:
        """It says what is wrong and holds no line end."""
        with pytest.raises((BadInput, NotPossible)) as caught:
            list(self._open(self.case.broken[damage](tmp_path)))
        assert str(caught.value)
        assert "\n" not in str(caught.value)

    def _open(self, source: _Source) -> Stream:
        return self._opened(source)[0]

    def _opened(self, source: _Source) -> tuple[Stream, bool]:
        return self.case.kind.open([source] if isinstance(source, str) else source, self.case.options)
