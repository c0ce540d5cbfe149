"""Lines of separated values as records, one by one: slow, forgiving and exact about lines."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator

from tarry.readers.lines import Illegible, text_of

__all__ = ["Record", "records"]

Record = tuple[int, int, list[str] | str]  # first line, number of lines, the fields or what is wrong


def records(lines: Iterable[bytes], separator: str) -> Iterator[Record]:
    r"""Each record with the line it begins on; blank lines are none.

    Where a record cannot be read, one line is given up, and the next one begins a record again: a
    quote that is never closed costs the line it stands in, and not the rest of the file.

    >>> list(records([b"a,b\n", b"\n", b'"c\n', b'd",e\n', b'f,"g\n', b"h,i\n"], ","))[1:]
    [(3, 2, ['c\nd', 'e']), (5, 1, 'a quote is not closed'), (6, 1, ['h', 'i'])]
    """
    source = _Source(lines)
    for line in source:
        number = source.number
        try:
            text = text_of(line)
            if not text.strip(" \r\n"):
                continue
            if '"' in text:
                fields = _quoted(text, source, separator)
            else:
                fields = text.removesuffix("\n").removesuffix("\r").split(separator)
        except Illegible as error:
            yield number, 1, str(error)
        else:
            yield number, source.number - number + 1, fields


class _Source:
    """Lines that can be put back."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.lines = iter(lines)
        self.returned: deque[bytes] = deque()
        self.number = 0  # of the line given last, from 1

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = self.returned.popleft() if self.returned else next(self.lines)
        self.number += 1
        return line

    def put_back(self, taken: list[bytes]) -> None:
        self.returned.extendleft(reversed(taken))
        self.number -= len(taken)


def _quoted(text: str, source: _Source, separator: str) -> list[str]:
    """The fields of a record with quotes, which may go on over several lines."""
    taken: list[bytes] = []

    def feed() -> Iterator[str]:
        yield text
        for line in source:
            taken.append(line)
            yield text_of(line)

    try:
        return next(csv.reader(feed(), delimiter=separator, strict=True))
    except (csv.Error, Illegible) as error:
        source.put_back(taken)
        open_to_the_end = taken or "unexpected end" in str(error)
        raise Illegible("a quote is not closed" if open_to_the_end else "a quote is out of place") from None
