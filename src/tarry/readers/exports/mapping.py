"""Which part of an object is meant: by the way to it, or by a template of several ways."""

import re
from collections.abc import Callable
from typing import Any

from tarry.core.errors import BadInput
from tarry.readers.exports.json_export import Fields
from tarry.readers.faults import clip

__all__ = ["Missing", "as_name", "part_at", "picker"]

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

    A way alone gives what lies there, whatever it is; a template gives a text.

    >>> picker("target", "{repo.name}#{number}")({"repo": {"name": "o/r"}, "number": 12})
    'o/r#12'
    >>> picker("actor", "user.login")({"user": {}})
    Traceback (most recent call last):
    tarry.readers.exports.mapping.Missing: actor is missing: nothing at user.login
    """
    ways = _BRACES.findall(mapping) if "{" in mapping or "}" in mapping else [mapping]
    is_template = ways != [mapping]
    left = _BRACES.sub("", mapping) if is_template else ""
    if not ways or not all(all(way.split(".")) for way in ways) or "{" in left or "}" in left:
        rule = "must be a way such as user.login, or a template such as {repo.name}#{number}"
        raise BadInput(f"--{role}", rule, found=clip(mapping) or "nothing")

    def pick(found: Fields) -> Any:
        parts = [_there(role, found, way) for way in ways]
        if not is_template:
            return parts[0]
        texts = iter([as_name(role, part) for part in parts])
        return _BRACES.sub(lambda _: next(texts), mapping)

    return pick


def part_at(found: object, way: str) -> Any:
    """What lies at the end of a way of names and places in lists, or None.

    A name that is a way itself goes first: some exports are flat and have such names.

    >>> (
    ...     part_at({"labels": [{"name": "bug"}]}, "labels.0.name"),
    ...     part_at({"user.login": "ann"}, "user.login"),
    ... )
    ('bug', 'ann')
    """
    if isinstance(found, dict) and way in found:
        return found[way]
    for name in way.split("."):
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
    if type(part) in _NEVER:
        raise Missing(f"{role} is {_NEVER[type(part)]}")
    if isinstance(part, float) and part.is_integer() and abs(part) < _EXACT:
        part = int(part)
    return str(part)


def _there(role: str, found: Fields, way: str) -> Any:
    part = part_at(found, way)
    if part is None or part == "":
        raise Missing(f"{role} is missing: nothing at {clip(way)}")
    return part
