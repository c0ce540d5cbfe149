"""Large XML files, element by element, in memory that does not grow with them.

Only what an export needs is allowed: UTF-8, no DOCTYPE (so no entities that unfold to anything), a
nesting of few elements, and texts of a bounded length. Everything else is refused with its line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from xml.parsers import expat

from tarry.core.errors import BadInput

__all__ = ["DEEPEST", "LONGEST", "XmlStream"]

DEEPEST = 32  # elements inside one another
LONGEST = 1 << 20  # bytes of one tag with its attributes, and characters of one text
_RULE = "must be well-formed XML in UTF-8"
_FIX = "copy it again, whole and unchanged"

Begin = Callable[[dict[str, str]], None]
Text = Callable[[str], None]
End = Callable[[], None]


class XmlStream:
    """A parser that calls back for the elements in its tables, and for no others.

    `begins` are called with the attributes of an element as it begins, `texts` with the text of one that
    holds nothing else, `ends` when one ends, and `root` with the name of the first element of all. No
    other text is ever put together.

    >>> found = []
    >>> stream = XmlStream("the file", root=print, texts={"name": found.append})
    >>> for _ in stream.read([b"<list><name>a", b"</name><other>b</other></list>"]):
    ...     print(found)
    list
    []
    ['a']
    ['a']
    """

    def __init__(
        self,
        what: str,
        *,
        root: Text,
        begins: Mapping[str, Begin] | None = None,
        texts: Mapping[str, Text] | None = None,
        ends: Mapping[str, End] | None = None,
    ) -> None:
        self.what, self._root = what, root
        self._begins, self._texts, self._ends = begins or {}, texts or {}, ends or {}
        self._depth, self._fed, self._room = 0, 0, 0
        self._parts: list[str] | None = None  # of the text that is being put together
        self._parser = expat.ParserCreate("UTF-8")  # whatever the file declares
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype

    @property
    def line(self) -> int:
        """Where the parser is: inside a call back, the line of the element's tag."""
        return self._parser.CurrentLineNumber

    def read(self, blocks: Iterable[bytes]) -> Iterator[None]:
        """Parse block after block; the one who asks takes in between what the call backs have found."""
        for block in blocks:
            self._parse(block, last=False)
            yield
        self._parse(b"", last=True)
        yield

    def refuse(self, rule: str, found: str, fix: str = "") -> BadInput:
        """What is wrong with the whole file, found in the line where the parser is."""
        return BadInput(f"{self.what} {rule}, and has {found} in line {self.line}", fix)

    def _parse(self, block: bytes, *, last: bool) -> None:
        try:
            self._parser.Parse(block, last)
        except expat.ExpatError as error:
            damage = "an end that comes too early" if last else expat.ErrorString(error.code)
            raise BadInput(f"{self.what} {_RULE}, and has {damage} in line {error.lineno}", _FIX) from None
        self._fed += len(block)
        if self._fed - max(0, self._parser.CurrentByteIndex) > LONGEST:  # it waits for the end of a tag
            raise self.refuse(f"must have tags of at most {LONGEST >> 20} MiB", "a longer one")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            self._root(name)
        if self._depth > DEEPEST:
            raise self.refuse(f"must nest at most {DEEPEST} elements", "more")
        if self._parts is not None:
            raise self.refuse("must have plain texts in its fields", "an element inside one")
        if name in self._begins:
            self._begins[name](attributes)
        if name in self._texts:
            self._parts, self._room = [], LONGEST
            self._parser.CharacterDataHandler = self._text

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._parts is not None:
            text, self._parts = "".join(self._parts), None
            self._parser.CharacterDataHandler = None
            self._texts[name](text)
        elif name in self._ends:
            self._ends[name]()

    def _text(self, text: str) -> None:
        if self._parts is None:
            return
        self._room -= len(text)
        if self._room < 0:
            raise self.refuse(f"must have texts of at most {LONGEST >> 20} Mi characters", "a longer one")
        self._parts.append(text)

    def _doctype(self, *_: object) -> None:
        raise self.refuse("must not have a DOCTYPE", "one", "an export of this kind has none")
