"""JSON of any length, one object at a time: arrays, lines, or values one after the other.

Arrays are opened, however deep they lie in one another, and their values are yielded one by one. So one
array, several of them (as page after page of an answer), and an object a line all read the same.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

from tarry.core.errors import BadInput
from tarry.readers.faults import NOT_TEXT

__all__ = ["MOST", "Found", "NoJson", "json_object", "json_text", "json_values"]

MOST = 1 << 24  # characters of one object; nothing longer is held in memory
_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[^\s,\[\]{}\":]*")  # a number, true, false or null
# What lies between two objects of one array, and between two that lie in none.
_IN_ARRAY = re.compile(r"[ \t\r\n]*,[ \t\r\n]*(?=\{)")
_IN_NONE = re.compile(r"[ \t\r\n]*(?=\{)")
_NEAR = 16  # an error this near to the end of what is there may be due to the end alone
_DEEPEST = 50  # arrays in one another
_COPIED = "copy it again, to its end"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_STRICT = json.JSONDecoder(parse_constant=_no_constant)


class NoJson(ValueError):
    """A text that is no JSON; the message says why, and shows nothing of it.

    >>> raise NoJson("not a JSON object")
    Traceback (most recent call last):
    tarry.readers.json_stream.NoJson: not a JSON object
    """


class Found(NamedTuple):
    """A value and where it begins.

    >>> Found(3, {"actor": "ann"}).line
    3
    """

    line: int  # from 1
    value: Any  # an object, or a single text, number, true, false or null; never an array


def json_values(
    blocks: Iterable[bytes], what: str, *, prefix: str = "", most: int = MOST
) -> Iterator[Found]:
    r"""Yield what a stream of bytes holds, value by value, and refuse damage with its line.

    `what` is what sentences call the stream. `prefix` is passed over where it stands between values: some
    servers put one before their answers.

    >>> list(json_values([b'[{"a": 1},\n {"a"', b": 2}]\n[]\n[3]"], "the answer"))
    [Found(line=1, value={'a': 1}), Found(line=2, value={'a': 2}), Found(line=4, value=3)]
    >>> list(json_values([b'{"a": 1}\n{"a": 2,}\n'], "the answer"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the answer must be JSON, and has damage in line 2 (Expecting ...
    """
    text = _Text(blocks, what, most)
    depth, began = 0, 0  # in how many arrays this place lies, and on which line the outermost begins
    state = (
        "value"  # what may come: only a value, a value or the `]` of an `empty` array, what comes `after`
    )
    while sign := text.sign("" if depth else prefix):
        if sign == "[" and state != "after":
            began = began if depth else text.line
            depth, state = depth + 1, "empty"
            text.skip(1)
        elif sign == "]" and depth and state != "value":
            depth, state = depth - 1, "after" if depth > 1 else "value"
            text.skip(1)
        elif sign == "," and state == "after":
            state = "value"
            text.skip(1)
        elif sign in ",]" or state == "after" or depth > _DEEPEST:
            text.refuse_damage("a comma or a bracket is missing or too much")
        else:
            line = text.line
            yield Found(line, text.value())
            if depth or not prefix:
                yield from text.plain_objects(_IN_ARRAY if depth else _IN_NONE)
            state = "after" if depth else "value"
    if depth:
        text.refuse(f"ends inside the array that begins in line {began}", _COPIED)
    if not text.is_text:
        text.refuse("has nothing but blank lines", "give one with JSON in it")


def json_object(text: str) -> dict[str, Any]:
    """The one object that a text is.

    >>> json_object('{"actor": 5}')
    {'actor': 5}
    >>> json_object('{"actor": NaN}')
    Traceback (most recent call last):
    tarry.readers.json_stream.NoJson: not JSON: a number that is none or too long
    """
    try:
        value = _STRICT.decode(text)
    except (ValueError, RecursionError) as error:
        raise _reason(error) from None
    if not isinstance(value, dict):
        raise NoJson("not a JSON object")
    return value


def json_text(row: dict[str, Any]) -> str:
    """An object as the text that every reader of JSON accepts.

    >>> json_text({"actor": 5})
    '{"actor": 5}'
    """
    try:
        return json.dumps(row, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise _reason(error) from None


def _reason(error: ValueError | RecursionError) -> NoJson:
    """What Python's own reader takes or stumbles over, and JSON has no word for."""
    if isinstance(error, json.JSONDecodeError):
        return NoJson(f"not JSON: {error.msg} (character {error.pos + 1})")
    if isinstance(error, RecursionError):
        return NoJson("not JSON: too many brackets")
    return NoJson("not JSON: a number that is none or too long")


class _Text:
    """The text that was read and not yet parsed, and the line where it begins."""

    def __init__(self, blocks: Iterable[bytes], what: str, most: int) -> None:
        self._blocks, self._what, self._most = iter(blocks), what, most
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._decode = _STRICT.raw_decode
        self._text, self._at, self._ended = "", 0, False
        self.line = 1
        self.is_text = False  # whether there was anything but space

    def more(self) -> None:
        """Read on, at least as much as is there already: a long object is then tried only a few times."""
        text = [self._text[self._at :]]
        wanted, got = len(text[0]), 0
        while not self._ended and got <= wanted:
            block = next(self._blocks, b"")
            self._ended = not block
            try:
                text.append(self._decoder.decode(block, final=self._ended))
            except UnicodeDecodeError as error:
                before = "".join(text).count("\n") + bytes(error.object[: error.start]).count(b"\n")
                self.refuse(f"has damage in line {self.line + before} ({NOT_TEXT})", "convert it first")
            got += len(text[-1])
        self._text, self._at = "".join(text), 0

    def sign(self, prefix: str) -> str:
        """The next character that is no space, or nothing at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self.skip((space.end() if space else self._at) - self._at)
            rest = len(self._text) - self._at
            if rest <= len(prefix) and not self._ended:
                self.more()
            elif prefix and self._text.startswith(prefix, self._at):
                self.skip(len(prefix))
            else:
                sign = self._text[self._at : self._at + 1]
                self.is_text = self.is_text or bool(sign)
                return sign

    def skip(self, count: int) -> None:
        """Leave some characters behind."""
        self.line += self._text.count("\n", self._at, self._at + count)
        self._at += count

    def value(self) -> Any:
        """The value that begins here."""
        while True:
            try:
                value, end = self._try()
            except json.JSONDecodeError as error:
                self._go_on(error)
            except BadInput:
                raise
            except ValueError:
                self.refuse_damage("a number that is none or too long")
            except RecursionError:
                self.refuse_damage("too many brackets in one another")
            else:
                self.skip(end - self._at)
                return value

    def plain_objects(self, between: re.Pattern[str]) -> Iterator[Found]:
        """Objects that go on here, as long as they are whole and sound; what is not is left untouched.

        Nothing is read on and nothing is refused here, so all else goes the long way, with the same result.
        """
        text, at = self._text, self._at
        while space := between.match(text, at):
            begin = space.end()
            try:
                value, end = self._decode(text, begin)
            except (ValueError, RecursionError):
                return
            self.line += text.count("\n", at, begin)
            yield Found(self.line, value)
            self.line += text.count("\n", begin, end)
            self._at = at = end

    def _try(self) -> tuple[Any, int]:
        if self._text[self._at] in '{"':
            return self._decode(self._text, self._at)
        word = _WORD.match(self._text, self._at)
        end = word.end() if word else self._at
        if end == len(self._text) and not self._ended:  # the next block may go on with the same number
            raise json.JSONDecodeError("Expecting value", self._text, end)
        try:
            return _STRICT.decode(self._text[self._at : end]), end
        except json.JSONDecodeError:
            self.refuse_damage("Expecting value")

    def _go_on(self, error: json.JSONDecodeError) -> None:
        """Read on if that may help, or refuse."""
        # A string begins where a value may; at any other quote a comma or colon is missing.
        before = self._text[self._at : error.pos].rstrip()
        is_open = self._text.startswith('"', error.pos) and before[-1:] in ("", "{", "[", ",", ":")
        if not self._ended and (is_open or error.pos + _NEAR > len(self._text)):
            if len(self._text) - self._at > self._most:
                self.refuse(
                    f"has more than {self._most:,} characters in what begins in line {self.line}",
                    "give shorter objects",
                )
            self.more()
        elif is_open or error.pos >= len(self._text.rstrip()):
            self.refuse(f"ends inside what begins in line {self.line}", _COPIED)
        else:
            self.line += self._text.count("\n", self._at, error.pos)
            self.refuse_damage(error.msg)

    def refuse_damage(self, reason: str) -> NoReturn:
        self.refuse(f"has damage in line {self.line} ({reason})", "repair that line")

    def refuse(self, problem: str, fix: str) -> NoReturn:
        raise BadInput(f"{self._what} must be JSON, and {problem}", fix) from None
