"""Finds outlets, readers, laws, attacks and practices by name: ours, and those of installed packages.

A package joins by entry points, without touching a file of ours:

    [project.entry-points."tarry.outlets"]
    mastodon = "tarry_mastodon:OUTLET"

Ours go first, so no package can take the place of one of them. Code that is not installed, `module:Name`,
runs only where somebody has allowed it.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from tarry.core.errors import BadInput
from tarry.core.laws import LAWS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

__all__ = ["Kind", "load", "names"]

Kind = Literal["outlet", "reader", "law", "attack", "practice"]

#: Where each of ours is. A file is loaded when it is asked for.
_OURS: dict[Kind, dict[str, str]] = {
    "outlet": {},
    "reader": {},
    "law": LAWS,
    "attack": {},
    "practice": {},
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
        raise BadInput(
            f"unknown {kind} {name!r}", f"use {_one_of(kind)}, or install the package that has it"
        )
    if not allow_code:
        fix = f"install it as a package that names it under tarry.{kind}s, or allow it with --allow-code"
        raise BadInput(f"{name!r} is code that is not installed", fix)
    try:
        return _resolve(name)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"{name!r} cannot be loaded ({error})", "check module and name") from None


def entry_points(group: str) -> "Iterable[EntryPoint]":
    """What installed packages name under this group."""
    from importlib.metadata import entry_points as installed  # noqa: PLC0415 - slow, and seldom needed

    return installed(group=group)


def _installed(kind: Kind) -> Mapping[str, "EntryPoint"]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"tarry.{kind}s"):
        if entry.name in found and found[entry.name].value != entry.value:
            packages = f"{found[entry.name].value} and {entry.value}"
            raise BadInput(
                f"two packages have the {kind} {entry.name!r} ({packages})", "uninstall one of them"
            )
        found[entry.name] = entry
    return found


def _load_entry(kind: Kind, entry: "EntryPoint") -> Any:
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
