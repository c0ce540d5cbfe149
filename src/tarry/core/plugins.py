"""Finds outlets, readers, laws, attacks and practices by name: ours, and those of installed packages.

A package joins by entry points, without touching a file of ours:

    [project.entry-points."tarry.outlets"]
    mastodon = "tarry_mastodon:OUTLET"

Ours go first, so no package can take the place of one of them. Code that is not installed, `module:Name`,
runs only where somebody has allowed it.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, Literal

from tarry.core.errors import BadInput

__all__ = ["Kind", "find", "load", "names"]

Kind = Literal["outlet", "reader", "law", "attack", "practice"]

#: Where each of ours is. A file is loaded when it is asked for.
_OURS: dict[Kind, dict[str, str]] = {
    "outlet": {},
    "reader": {},
    "law": {},
    "attack": {
        "cutoff": "tarry.study.attack.cutoff:CUTOFF",
        "likelihood": "tarry.study.attack.difference:LIKELIHOOD",
        "recipient": "tarry.study.attack.cutoff:RECIPIENT",
        "informed": "tarry.study.attack.cutoff:INFORMED",
        "nearest": "tarry.study.attack.nearest:NEAREST",
    },
    "practice": {
        "nothing": "tarry.study.baselines.plain:NOTHING",
        "hotcrp": "tarry.study.baselines.stamps:HOTCRP",
        "rounding": "tarry.study.baselines.stamps:ROUNDING",
        "backdated": "tarry.study.baselines.stamps:BACKDATED",
        "mix": "tarry.study.baselines.mixes:MIX",
        "threshold": "tarry.study.baselines.mixes:THRESHOLD",
        "pool": "tarry.study.baselines.mixes:POOL",
        "poisson": "tarry.study.baselines.mixes:POISSON",
        "jitter": "tarry.study.baselines.jitter:JITTER",
        "kloak": "tarry.study.baselines.jitter:KLOAK",
        "end": "tarry.study.baselines.plain:END",
    },
}


def names(kind: Kind) -> list[str]:
    """Every name that `load` knows: ours, then those of installed packages.

    >>> "no such thing" in names("law")
    False
    """
    return [*_OURS[kind], *(name for name in _installed(kind) if name not in _OURS[kind])]


def load(kind: Kind, name: str, *, allow_code: bool = False) -> Any:
    """What has this name.

    >>> load("law", "fractions:Fraction", allow_code=True)
    <class 'fractions.Fraction'>
    >>> load("law", "fractions:Fraction")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: 'fractions:Fraction' is code that is not installed: install it as a \
package that names it under tarry.laws, or allow it with --allow-code
    """
    if name in _OURS[kind]:
        return _resolve(_OURS[kind][name])
    if (entry := _installed(kind).get(name)) is not None:
        return _load_entry(kind, entry)
    if ":" not in name:
        raise BadInput(f"unknown {kind} {name!r}", f"use {_one_of(kind)}")
    if not allow_code:
        fix = f"install it as a package that names it under tarry.{kind}s, or allow it with --allow-code"
        raise BadInput(f"{name!r} is code that is not installed", fix)
    try:
        return _resolve(name)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"{name!r} cannot be loaded ({error})", "check module and name") from None


def find(kind: Kind, text: str, *, allow_code: bool = False) -> tuple[Any, str]:
    """What a text such as `jitter:24h` names, and the parameter after its colon.

    Code has its own colon: the parameter of `module:Name:24h` stands after the second one.

    >>> find("law", "fractions:Fraction:2/3", allow_code=True)
    (<class 'fractions.Fraction'>, '2/3')
    """
    name, _, parameter = text.strip().partition(":")
    attribute, _, rest = parameter.partition(":")
    if name in names(kind) or not attribute.isidentifier():
        return load(kind, name), parameter
    if not allow_code and find_spec(name.partition(".")[0]) is None:  # a typing error rather than code
        return load(kind, name), parameter
    return load(kind, f"{name}:{attribute}", allow_code=allow_code), rest


def _installed(kind: Kind) -> Mapping[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"tarry.{kind}s"):
        if entry.name in found and found[entry.name].value != entry.value:
            packages = f"{found[entry.name].value} and {entry.value}"
            raise BadInput(
                f"two packages have the {kind} {entry.name!r} ({packages})", "uninstall one of them"
            )
        found[entry.name] = entry
    return found


def _load_entry(kind: Kind, entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        # Somebody else's code: whatever it raises while it is loaded, the sentence says whose it is.
        fix = "mend or uninstall that package"
        raise BadInput(
            f"the {kind} {entry.name!r} ({entry.value}) cannot be loaded: {error}", fix
        ) from error


def _resolve(place: str) -> Any:
    module, _, attributes = place.partition(":")
    found: Any = import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found


def _one_of(kind: Kind) -> str:
    known = names(kind)
    return ", ".join(known) if known else f"an installed package that names one under tarry.{kind}s"
