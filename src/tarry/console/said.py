"""Sentences of the core in the language of a page: what a policy promises, and what it does not.

The core speaks English and knows no page. `texts/<language>/promise.toml` holds each of its sentences with
places for what changes; a sentence is recognised by the English one and said by that of the language.
"""

import re
from functools import cache

from tarry.console.pages import texts

__all__ = ["said"]

_PLACE = re.compile(r"\{(\w+)\}")


@cache
def _patterns(kind: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """English sentences or phrases as patterns, each with its name."""
    known: dict[str, str] = texts("en")["promise"][kind]
    return tuple((_pattern(text), name) for name, text in known.items())


def _pattern(text: str) -> re.Pattern[str]:
    parts = _PLACE.split(text)
    seen: set[str] = set()
    written = []
    for number, part in enumerate(parts):
        if number % 2 == 0:
            written.append(re.escape(part))
        elif part in seen:
            written.append(f"(?P={part})")
        else:
            seen.add(part)
            written.append(f"(?P<{part}>.+?)")
    return re.compile("".join(written), re.DOTALL)


def said(sentence: str) -> str:
    """A sentence of the core in the language of the pages; one that nobody has translated as it is.

    >>> said("That an act was alone: the delays may show that it was not batched.")
    'That an act was alone: the delays may show that it was not batched.'
    """
    return _in_language(sentence, "sentences") or sentence


def _in_language(text: str, kind: str) -> str | None:
    for pattern, name in _patterns(kind):
        if found := pattern.fullmatch(text):
            places = {
                place: _in_language(value, "phrases") or value for place, value in found.groupdict().items()
            }
            return str(texts()["promise"][kind][name]).format(**places)
    return None
