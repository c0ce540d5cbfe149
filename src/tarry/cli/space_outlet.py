"""The options of `tarry space` that say where a space releases to."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput

__all__ = ["WHERE", "add_outlet_arguments", "chosen_outlet", "told_outlet"]

#: The options that name a place, and what may stand beside each: the settings of that kind of outlet.
_PLACES: dict[str, tuple[str, ...]] = {
    "feed": (),
    "webhook": (),
    "mediawiki": ("accounts",),
    "openreview": ("accounts",),
    "bitcoin": ("cookie", "login", "strict"),
}
_ADDRESS = {"webhook": "url", "mediawiki": "api", "openreview": "api", "bitcoin": "node"}
_FILES = ("accounts", "cookie", "login")
_TOLD = {"mediawiki": "its wiki", "openreview": "OpenReview", "bitcoin": "its Bitcoin node"}

#: All of these options, as argparse names them.
WHERE = ("feed", "webhook", "mediawiki", "openreview", "bitcoin", *_FILES, "strict")


def add_outlet_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `add` and `set`.

    >>> parser = argparse.ArgumentParser()
    >>> add_outlet_arguments(parser)
    >>> parser.parse_args(["--mediawiki", "https://wiki.example/api.php"]).accounts is None
    True
    """
    parser.add_argument("--feed", action="store_true", help="set: send releases to the feed again")
    parser.add_argument("--webhook", metavar="URL", help="add, set: send releases there, not to the feed")
    told = "add, set: change pages of this wiki (its api.php), with --accounts"
    parser.add_argument("--mediawiki", metavar="URL", help=told)
    told = "add, set: post notes at this OpenReview (its API 2), with --accounts"
    parser.add_argument("--openreview", metavar="URL", help=told)
    told = "the logins that posts leave by: a private TOML file, one table for each pseudonym"
    parser.add_argument("--accounts", metavar="FILE", help=told)
    told = "add, set: give transactions to this Bitcoin node, with --cookie or --login"
    parser.add_argument("--bitcoin", metavar="URL", help=told)
    parser.add_argument("--cookie", metavar="FILE", help="the node's own .cookie file")
    parser.add_argument("--login", metavar="FILE", help="a private file with the node's user:password")
    told = "refuse transactions that tell when they were made"
    parser.add_argument("--strict", action="store_true", help=told)


def chosen_outlet(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The outlet that the options describe; None if they name no place.

    >>> parser = argparse.ArgumentParser()
    >>> add_outlet_arguments(parser)
    >>> chosen_outlet(parser.parse_args(["--bitcoin", "http://127.0.0.1:8332", "--cookie", "/c"]))
    {'kind': 'bitcoin', 'node': 'http://127.0.0.1:8332', 'cookie': '/c'}
    """
    kinds = [kind for kind in _PLACES if getattr(arguments, kind)]
    if len(kinds) > 1:
        found = " and ".join(f"--{kind}" for kind in kinds)
        raise BadInput("a space", "releases to one place", found=found)
    allowed = _PLACES[kinds[0]] if kinds else ()
    for option in (*_FILES, "strict"):
        if getattr(arguments, option) and option not in allowed:
            with_it = " or ".join(f"--{kind}" for kind, beside in _PLACES.items() if option in beside)
            raise BadInput(f"--{option}", f"goes with {with_it}", found="it alone")
    return _outlet(arguments, kinds[0], allowed) if kinds else None


def _outlet(arguments: argparse.Namespace, kind: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    if "accounts" in allowed and not arguments.accounts:
        raise BadInput(f"--{kind}", "has an accounts file", found="none", fix="give --accounts FILE")
    outlet: dict[str, Any] = {"kind": kind}
    if kind in _ADDRESS:
        outlet[_ADDRESS[kind]] = getattr(arguments, kind)
    for option in allowed:
        if value := getattr(arguments, option):
            # Servers and workers may run in other folders.
            outlet[option] = str(Path(value).absolute()) if option in _FILES else value
    return outlet


def told_outlet(outlet: Mapping[str, Any]) -> str:
    """Where a space releases to, in a sentence.

    >>> told_outlet({"kind": "mediawiki"}), told_outlet({"kind": "feed"})
    ('its wiki', 'its feed')
    """
    kind = str(outlet.get("kind"))
    return _TOLD.get(kind, f"its {kind}")
