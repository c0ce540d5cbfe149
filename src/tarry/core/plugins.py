"""Finds outlets, readers, laws, attacks, practices, boxes and commands by name: ours, and others'.

A package joins by entry points, without touching a file of ours:

    [project.entry-points."tarry.outlets"]
    mastodon = "tarry_mastodon:OUTLET"

What is named there is a small description (`OutletKind`, `ReaderKind`, ...), which says where the code is:
only what is used is loaded. Ours go first, so no package can take the place of one of them. Code that is
not installed, `module:Name`, runs only where somebody has allowed it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from tarry.core.errors import BadInput
from tarry.core.laws import LAWS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

__all__ = ["Kind", "Option", "Rule", "load", "load_all", "names", "resolve"]

Kind = Literal["outlet", "reader", "law", "attack", "practice", "box", "command"]

#: Where each of ours is. A file is loaded when it is asked for.
_OURS: dict[Kind, dict[str, str]] = {
    "outlet": {
        "feed": "tarry.places.feed:OUTLET",
        "webhook": "tarry.places.webhook:OUTLET",
        "feed-file": "tarry.places.feed:FILE_OUTLET",
        "mediawiki": "tarry.places.mediawiki:OUTLET",
        "openreview": "tarry.places.openreview:OUTLET",
        "bitcoin": "tarry.places.bitcoin:OUTLET",
        "command": "tarry.places.command:OUTLET",
        "git": "tarry.places.git:OUTLET",
        "mail": "tarry.places.mail:OUTLET",
    },
    "reader": {
        "wiki-dump": "tarry.places.mediawiki:DUMP_READER",
        "wiki": "tarry.places.mediawiki:READER",
        "stack-exchange": "tarry.places.exports:STACK_EXCHANGE",
        "git": "tarry.places.git:READER",
        "github": "tarry.places.exports:GITHUB",
        "gerrit": "tarry.places.exports:GERRIT",
        "openreview": "tarry.places.openreview:READER",
        "bitcoin": "tarry.places.bitcoin:READER",
        "jsonl": "tarry.places.exports:JSON_LINES",
    },
    "law": LAWS,
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
        "jitter": "tarry.study.baselines.plain:JITTER",
        "kloak": "tarry.study.baselines.plain:KLOAK",
        "end": "tarry.study.baselines.plain:END",
    },
    "box": {},
    "command": {},
}

#: What the value of an option must be. A login file holds user:password, and only its owner may read it.
Rule = Literal["text", "switch", "address", "file", "private file", "login file"]


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option that a description asks for: commands offer it, settings hold it.

    >>> Option(flag="time-unit", metavar="UNIT", help="of times that are numbers").key
    'time_unit'
    """

    flag: str  # without its dashes
    help: str
    metavar: str = ""  # what it takes; nothing for a switch
    rule: Rule = "text"
    required: bool = False
    repeated: bool = False  # it may be given again: its value is a list
    name: str = ""  # of the setting or argument, where it is not the flag's

    @property
    def key(self) -> str:
        """What its value is called in settings, and as an argument of a function."""
        return self.name or self.flag.replace("-", "_")


def names(kind: Kind) -> list[str]:
    """Every name that `load` knows: ours, then those of installed packages.

    >>> names("reader")[:2]
    ['wiki-dump', 'wiki']
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
        return resolve(_OURS[kind][name])
    if entries := _installed(kind).get(name):
        return _load_entry(kind, entries)
    if ":" not in name:
        known = ", ".join(names(kind)) or f"an installed package that names one under {_group(kind)}"
        raise BadInput(f"unknown {kind} {name!r}", f"use {known}, or install the package that has it")
    if not allow_code:
        fix = f"install it as a package that names it under {_group(kind)}, or allow it with --allow-code"
        raise BadInput(f"{name!r} is code that is not installed", fix)
    try:
        return resolve(name)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"{name!r} cannot be loaded ({error})", "check module and name") from None


def load_all(kind: Kind) -> dict[str, Any]:
    """Everything of a kind, by name. A package that cannot be loaded is left out: others go on working.

    >>> load_all("outlet")["mediawiki"].words
    'its wiki'
    """
    loaded = {}
    for name in names(kind):
        try:
            loaded[name] = load(kind, name)
        except BadInput:  # whoever names it is told why
            continue
    return loaded


def find(kind: Kind, text: str, *, allow_code: bool = False) -> tuple[Any, str]:
    """What a text such as `jitter:24h` names, and the parameter after its colon.

    Code has its own colon: the parameter of `module:Name:24h` stands after the second one.

    >>> find("law", "fractions:Fraction:2/3", allow_code=True)
    (<class 'fractions.Fraction'>, '2/3')
    """
    name, _, parameter = text.strip().partition(":")
    attribute, _, rest = parameter.partition(":")
    no_code = name in names(kind) or not attribute.isidentifier()
    # A module that is not there is a typing error rather than code.
    if no_code or (not allow_code and find_spec(name.partition(".")[0]) is None):
        return load(kind, name), parameter
    return load(kind, f"{name}:{attribute}", allow_code=allow_code), rest


def resolve(place: str) -> Any:
    """What a description names as `module:name`.

    >>> resolve("fractions:Fraction")
    <class 'fractions.Fraction'>
    """
    module, _, attributes = place.partition(":")
    value: Any = import_module(module)
    for attribute in attributes.split("."):
        value = getattr(value, attribute)
    return value


def entry_points(group: str) -> "Iterable[EntryPoint]":
    """What installed packages name under this group."""
    from importlib.metadata import entry_points as installed  # noqa: PLC0415 - slow, and seldom needed

    return installed(group=group)


def _group(kind: Kind) -> str:
    return f"tarry.{kind}{'es' if kind == 'box' else 's'}"


def _installed(kind: Kind) -> Mapping[str, "list[EntryPoint]"]:
    """Entry points by name; packages that name the same thing count once."""
    entries: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=_group(kind)):
        same = entries.setdefault(entry.name, [])
        if entry.value not in {other.value for other in same}:
            same.append(entry)
    return entries


def _load_entry(kind: Kind, entries: "list[EntryPoint]") -> Any:
    entry = entries[0]
    if len(entries) > 1:
        packages = " and ".join(each.value for each in entries)
        raise BadInput(f"two packages have the {kind} {entry.name!r} ({packages})", "uninstall one of them")
    try:
        return entry.load()
    except Exception as error:
        # Somebody else's code: whatever it raises while it is loaded, the sentence says whose it is.
        fix = "mend or uninstall that package"
        raise BadInput(
            f"the {kind} {entry.name!r} ({entry.value}) cannot be loaded: {error}", fix
        ) from error
