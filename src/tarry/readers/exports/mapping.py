"""Which part of an object is meant: by the way to it, or by a template of several ways."""

import re
from collections.abc import Callable
from typing import Any

from tarry.core.errors import BadInput
from tarry.readers.exports.json_export import Fields
from tarry.readers.faults import clip

__all__ = ["Missing", "as_name", "picker"]

_BRACES = re.compile(r"\{([^{}]*)\}")
_NEVER = {bool: "true or false", list: "a list", dict: "an object"}  # what names are not
_EXACT = 2.0**53  # whole numbers below it are exact as floats


class Missing(ValueError):
    """A part that is not there or is no name; the message says which, and shows nobody's data.

    >>> raise Missing("actor is missing: nothing at user.login")
    Traceback (most recent call last):
    tarry.readers.exports.mapping.Missing: actor is missing: nothing at user.login
    """


def picker(role: str, mapping: str) -> Callable[[Fields], Any]:
    """A function that picks a part of an object: `user.login`, `labels.0.name` or `{repo.name}#{number}`.

    A way alone gives what lies there, whatever it is; a template gives a text. A name that is a way itself
    goes first: some exports are flat and have such names.

    >>> picker("target", "{repo.name}#{number}")({"repo": {"name": "o/r"}, "number": 12})
    'o/r#12'
    >>> picker("track", "labels.0.name")({"labels": [{"name": "bug"}]})
    'bug'
    >>> picker("actor", "user.login")({"user": {}})
    Traceback (most recent call last):
    tarry.readers.exports.mapping.Missing: actor is missing: nothing at user.login
    """
    is_template = "{" in mapping or "}" in mapping
    parts = _BRACES.split(mapping) if is_template else ["", mapping, ""]
    texts, ways = parts[::2], parts[1::2]  # what lies between braces is a way
    left = "".join(texts)
    if not ways or not all(all(way.split(".")) for way in ways) or "{" in left or "}" in left:
        rule = "must be a way such as user.login, or a template such as {repo.name}#{number}"
        raise BadInput(f"--{role}", rule, found=clip(mapping) or "nothing")
    pickers = [_way_picker(role, way) for way in ways]
    if not is_template:
        return pickers[0]
    form = "%s".join(text.replace("%", "%%") for text in texts)

    def pick(found: Fields) -> str:
        found_parts = [pick_part(found) for pick_part in pickers]
        return form % tuple([as_name(role, part) for part in found_parts])

    return pick


def _way_picker(role: str, way: str) -> Callable[[Fields], Any]:
    names = way.split(".")

    def pick(found: Fields) -> Any:
        part = found[way] if way in found else _part_at(found, names)
        if part is None or part == "":
            raise Missing(f"{role} is missing: nothing at {clip(way)}")
        return part

    return pick


def _part_at(found: object, names: list[str]) -> Any:
    """What lies at the end of a way of names and places in lists, or None."""
    for name in names:
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isascii() and name.isdigit():
            found = found[int(name)] if len(name) < 10 and int(name) < len(found) else None
        else:
            return None
    return found


def as_name(role: str, part: Any) -> str:
    """A text or a number as the name of something.

    >>> as_name("actor", 7), as_name("actor", 7.0), as_name("actor", "ann")
    ('7', '7', 'ann')
    >>> as_name("actor", ["ann"])
    Traceback (most recent call last):
    tarry.readers.exports.mapping.Missing: actor is a list
    """
    if isinstance(part, str):
        return part
    if type(part) in _NEVER:
        raise Missing(f"{role} is {_NEVER[type(part)]}")
    if isinstance(part, float) and part.is_integer() and abs(part) < _EXACT:
        part = int(part)
    return str(part)
