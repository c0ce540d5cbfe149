"""Make and change the spaces of a gateway: the forums that posts appear in.

`add` makes one, and with the first one the database and its key; `set` changes its title, or where it
releases to. `pause` and `open` close and open it: what waits leaves all the same. `end` closes it for good;
once nothing of it waits or can be asked for, `remove` forgets it, its feed, its policies and its tokens.
`policy` gives one another policy: it takes nothing in until no two acts can straddle the change; with
--accept-straddle it changes at once, and the loss is told. Tick, window and labels belong to all spaces:
`together` changes them, while every space is paused and nothing waits. `secret` tells what signs a webhook.

  tarry space add talk --policy policy.toml --title "Talk"
  tarry space add reviews --policy policy.toml --webhook https://forum.example/hooks/tarry
  tarry space add wiki --policy policy.toml --mediawiki https://wiki.example/w/api.php --accounts nyms.toml
  tarry space set reviews --feed
  tarry space policy talk new.toml --dry-run
  tarry space together talk=coarse.toml reviews=coarse.toml
"""

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

from tarry.cli.options import note_coarse_tick, read_policy_path
from tarry.cli.settings import add_settings, config_from, told_at
from tarry.cli.show import print_json
from tarry.cli.space_outlet import WHERE, add_outlet_arguments, chosen_outlet, told_outlet
from tarry.cli.space_policy import change
from tarry.cli.spaces import list_spaces, resumes_at
from tarry.core.errors import BadInput, NotPossible
from tarry.core.policy import Policy
from tarry.gateway.book import Space, read_book
from tarry.gateway.config import Config
from tarry.gateway.ending import end_space, remove_space
from tarry.gateway.opening import first_keys, keys_of, opened
from tarry.gateway.outlets import webhook_secret
from tarry.gateway.spaces import add_space, change_space, new_space, open_space
from tarry.gateway.stores import is_file
from tarry.gateway.together import change_together
from tarry.keep.store import Store, snapshot

__all__ = ["add_arguments", "run"]

_ADDING = ("policy", "title", "circle", "adoption", "unencrypted")
_CHANGING = ("accept_straddle", "yes", "dry_run")
_SETTING = "give --title, or where it releases to"
_WORDS = (
    "none for list; FILE after it for policy; NAME=FILE, for every space, for together; "
    "just its name for all others"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry space`."""
    parser.add_argument("action", metavar="ACTION", choices=list(_ACTIONS), help=", ".join(_ACTIONS))
    # With a default of its own argparse does not ask for a name where none is needed.
    parser.add_argument("words", metavar="NAME", nargs="*", default=[], help=_WORDS)
    parser.add_argument("--policy", metavar="FILE", help="add: its policy file")
    parser.add_argument("--title", help="add, set: its title for people (default its name)")
    parser.add_argument("--circle", help="add: spaces of one circle share their actors (default all)")
    told = "add: whose posts are delayed: everyone, opt-out or opt-in (default everyone)"
    parser.add_argument("--adoption", choices=["everyone", "opt-out", "opt-in"], help=told)
    told = "add, the first space: let contents lie unencrypted in the database"
    parser.add_argument("--unencrypted", action="store_true", help=told)
    add_outlet_arguments(parser)
    told = "policy: change at once, and tell what it costs"
    parser.add_argument("--accept-straddle", action="store_true", help=told)
    told = "policy: with --accept-straddle, also where the loss has no bound"
    parser.add_argument("--yes", action="store_true", help=told)
    told = "policy: tell for how long the space would close, and what --accept-straddle would cost"
    parser.add_argument("--dry-run", action="store_true", help=told)
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions."""
    action = _ACTIONS[arguments.action]
    _check_words(arguments, action)
    config, arguments.chosen = config_from(arguments), _policies(arguments)
    if arguments.action == "add":
        new_space(**_wanted(arguments))  # refused before a database or a key is made
        if (path := is_file(config.database)) is not None and not path.exists():
            _is_to_be_encrypted(arguments)
    with opened(config, make=arguments.action == "add") as store:
        action.do(arguments, config, store)
    for policy in () if arguments.json else arguments.chosen.values():
        note_coarse_tick(policy)
    return 0


def _policies(arguments: argparse.Namespace) -> dict[str, Policy]:
    """The policy files that are named, read before anything is made or changed."""
    words = arguments.words
    if arguments.action == "add":
        if arguments.policy is None:
            raise BadInput("a new space", "has a policy", found="none", fix="give --policy FILE")
        return {words[0]: read_policy_path(arguments.policy)}
    if arguments.action == "policy":
        return {words[0]: read_policy_path(words[1])}
    if arguments.action == "together":
        return {name: read_policy_path(path) for name, _, path in (word.partition("=") for word in words)}
    return {}


def _add(arguments: argparse.Namespace, config: Config, store: Store) -> None:
    with store.transaction("reading") as transaction:
        is_first = transaction.snapshot() is None
    sealed = is_first and _is_to_be_encrypted(arguments)
    if arguments.unencrypted and not is_first:
        raise BadInput("--unencrypted", "is for the first space of a gateway", found="a later one")
    keys = first_keys(config, store)
    with store.transaction("closing") as transaction:
        space = add_space(transaction, keys, store.clock(), **_wanted(arguments), sealed=sealed)
    _done(arguments, f"made the space {space.name}", space=space.name, version=space.version.number)


def _is_to_be_encrypted(arguments: argparse.Namespace) -> bool:
    """Whether a new store encrypts what waits: one that does not is made only if somebody says so."""
    if arguments.unencrypted:
        return False
    if find_spec("cryptography") is None:
        raise NotPossible(
            "the package cryptography is missing, so contents would lie unencrypted in the database: "
            "install it (pip install 'tarry[fast]'), or give --unencrypted"
        )
    return True


def _wanted(arguments: argparse.Namespace) -> dict[str, Any]:
    """The space that is to be made."""
    ((name, policy),) = arguments.chosen.items()
    return {
        "name": name,
        "policy": policy,
        "title": arguments.title or "",
        "circle": arguments.circle or "all",
        "outlet": chosen_outlet(arguments),
        "adoption": arguments.adoption or "everyone",
    }


def _list(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    with store.transaction("reading") as transaction:
        spaces = read_book(transaction).spaces.values()
        here = snapshot(transaction) if spaces else None
    list_spaces(list(spaces), here, store.clock(), as_json=arguments.json)


def _open(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    (name,), opens = arguments.words, arguments.action == "open"
    with store.transaction("closing") as transaction:
        open_space(transaction, name, is_open=opens)
        space, here = read_book(transaction).space(name), snapshot(transaction)
    resumes = resumes_at(space, here, store.clock())
    told = "takes nothing in; what waits leaves at its time"
    if opens:
        told = "takes posts in" if resumes is None else f"takes posts in from {told_at(resumes)}"
    _done(arguments, f"{name} {told}", space=name, is_open=opens, resumes_at=resumes)


def _end(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    (name,) = arguments.words
    with store.transaction("closing") as transaction:
        end_space(transaction, store.clock(), name)
    told = "has ended: it takes no more posts; what waits leaves at its time, and its feed stays"
    _done(arguments, f"{name} {told}", space=name, has_ended=True)


def _remove(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    (name,) = arguments.words
    with store.transaction("closing") as transaction:
        remove_space(transaction, store.clock(), name)
    _done(arguments, f"{name} is removed: its feed, its policies and its tokens are gone", space=name)


def _set(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    (name,) = arguments.words
    outlet = chosen_outlet(arguments)
    if arguments.title is None and outlet is None:
        raise BadInput("tarry space set", "changes something", found="nothing to change", fix=_SETTING)
    with store.transaction("closing") as transaction:
        space = change_space(transaction, name, title=arguments.title, outlet=outlet)
    told = f"{name} is called {space.title!r} and releases to {told_outlet(space.outlet)}"
    _done(arguments, told, space=name, title=space.title, outlet=dict(space.outlet))


def _together(arguments: argparse.Namespace, config: Config, store: Store) -> None:
    keys = keys_of(config, store)
    with store.transaction("closing") as transaction:
        changed = change_together(transaction, keys, store.clock(), arguments.chosen)
    names = ", ".join(changed)
    told = f"{names}: the new policies hold; open them again with tarry space open"
    _done(arguments, told, versions={name: version.number for name, version in changed.items()})


def _secret(arguments: argparse.Namespace, config: Config, store: Store) -> None:
    (name,) = arguments.words
    with store.transaction("reading") as transaction:
        space: Space = read_book(transaction).space(name)
    if space.outlet.get("kind") != "webhook":
        raise BadInput("a signing secret", "belongs to a webhook", found=f"a {space.outlet.get('kind')}")
    secret = webhook_secret(keys_of(config, store), space).hex()
    _done(arguments, secret, space=name, secret_hex=secret)


class _Action(NamedTuple):
    do: Callable[[argparse.Namespace, Config, Store], None]
    words: str  # what its words are, for a sentence
    number: int  # of words; any, where they end in dots
    options: tuple[str, ...] = ()


_ACTIONS = {
    "add": _Action(_add, "NAME", 1, (*_ADDING, *WHERE[1:])),
    "list": _Action(_list, "", 0),
    "set": _Action(_set, "NAME", 1, ("title", *WHERE)),
    "pause": _Action(_open, "NAME", 1),
    "open": _Action(_open, "NAME", 1),
    "end": _Action(_end, "NAME", 1),
    "remove": _Action(_remove, "NAME", 1),
    "policy": _Action(change, "NAME FILE", 2, _CHANGING),
    "together": _Action(_together, "NAME=FILE ...", 0),
    "secret": _Action(_secret, "NAME", 1),
}


def _check_words(arguments: argparse.Namespace, action: _Action) -> None:
    words, told = arguments.words, f"tarry space {arguments.action} {action.words}".strip()
    many = action.words.endswith("...")
    if (many and not all("=" in word for word in words or [""])) or (
        not many and len(words) != action.number
    ):
        raise BadInput(
            f"tarry space {arguments.action}", f"is called as {told}", found=" ".join(words) or "no words"
        )
    for option in (*_ADDING, *WHERE, *_CHANGING):
        if option not in action.options and getattr(arguments, option) not in (None, False):
            flag = "--" + option.replace("_", "-")
            raise BadInput(
                f"tarry space {arguments.action}", "has no such option", found=flag, fix="leave it out"
            )


def _done(arguments: argparse.Namespace, sentence: str, **told: object) -> None:
    if arguments.json:
        print_json(told)
    else:
        print(sentence)
