"""Make and change the spaces of a gateway: the forums that posts appear in.

`add` makes one, and with the first one the database and its key. `list`, `pause` and `open` do what they
say. `policy` gives one another policy: it takes nothing in until no two acts can straddle the change; with
--accept-straddle it changes at once, and the loss is told. Tick, window and labels belong to all spaces:
`together` changes them, while every space is paused and nothing waits. `secret` tells what signs a webhook.

  tarry space add talk --policy policy.toml --title "Talk"
  tarry space add reviews --policy policy.toml --webhook https://forum.example/hooks/tarry
  tarry space policy talk new.toml
  tarry space together talk=coarse.toml reviews=coarse.toml
"""

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from tarry.cli.options import read_policy_path
from tarry.cli.settings import add_settings, config_from
from tarry.cli.show import print_json
from tarry.cli.spaces import list_spaces, tell_change, tell_straddle
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.straddle import straddle_loss
from tarry.gateway.book import Space, read_book
from tarry.gateway.config import Config
from tarry.gateway.keyfile import read_key
from tarry.gateway.opening import first_keys, opened
from tarry.gateway.outlets import webhook_secret
from tarry.gateway.spaces import add_space, change_policy, open_space
from tarry.gateway.together import change_together
from tarry.keep.store import Store, place

__all__ = ["add_arguments", "run"]

_ADDING = ("policy", "title", "circle", "webhook", "adoption")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry space`."""
    parser.add_argument("action", metavar="ACTION", choices=list(_ACTIONS), help=", ".join(_ACTIONS))
    parser.add_argument("words", metavar="NAME", nargs="*", help="its name; what else, the examples show")
    parser.add_argument("--policy", metavar="FILE", help="add: its policy file")
    parser.add_argument("--title", help="add: its title for people (default its name)")
    parser.add_argument("--circle", help="add: spaces of one circle share their actors (default all)")
    parser.add_argument("--webhook", metavar="URL", help="add: send releases there, not to the feed")
    told = "add: whose posts are delayed: everyone, opt-out or opt-in (default everyone)"
    parser.add_argument("--adoption", choices=["everyone", "opt-out", "opt-in"], help=told)
    parser.add_argument(
        "--accept-straddle", action="store_true", help="policy: change at once, and tell what it costs"
    )
    add_settings(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of the actions."""
    action = _ACTIONS[arguments.action]
    _check_words(arguments, action)
    config, arguments.chosen = config_from(arguments), _policies(arguments)
    with opened(config, make=arguments.action == "add") as store:
        action.do(arguments, config, store)
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
    ((name, policy),) = arguments.chosen.items()
    keys = first_keys(config, store)
    outlet = {"kind": "webhook", "url": arguments.webhook} if arguments.webhook else {"kind": "feed"}
    with store.transaction("closing") as transaction:
        space = add_space(
            transaction,
            keys,
            store.clock(),
            name,
            policy,
            title=arguments.title or "",
            circle=arguments.circle or "all",
            outlet=outlet,
            adoption=arguments.adoption or "everyone",
            sealed=find_spec("cryptography") is not None,
        )
    _done(arguments, f"made the space {space.name}", space=space.name, version=space.version.number)


def _list(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    with store.transaction("reading") as transaction:
        spaces = read_book(transaction).spaces.values()
        here = place(transaction) if spaces else None
    list_spaces(list(spaces), here, store.clock(), as_json=arguments.json)


def _open(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    (name,), opens = arguments.words, arguments.action == "open"
    with store.transaction("closing") as transaction:
        open_space(transaction, name, is_open=opens)
    told = "takes posts in" if opens else "takes nothing in; what waits leaves at its time"
    _done(arguments, f"{name} {told}", space=name, is_open=opens)


def _policy(arguments: argparse.Namespace, _: Config, store: Store) -> None:
    ((name, policy),), accepted = arguments.chosen.items(), arguments.accept_straddle
    with store.transaction("reading") as transaction:
        old, settings = read_book(transaction).space(name).version.policy, place(transaction).settings
    settings.check(policy)
    loss = straddle_loss(old, policy) if accepted else None  # before the doors stand still
    with store.transaction("closing") as transaction:
        version = change_policy(transaction, store.clock(), name, policy, accept_straddle=accepted)
    if loss is None:
        tell_change(name, version, as_json=arguments.json)
    else:
        tell_straddle(name, version, loss, as_json=arguments.json)


def _together(arguments: argparse.Namespace, config: Config, store: Store) -> None:
    keys = read_key(config.key_file)
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
    secret = webhook_secret(read_key(config.key_file), space).hex()
    _done(arguments, secret, space=name, secret_hex=secret)


class _Action(NamedTuple):
    do: Callable[[argparse.Namespace, Config, Store], None]
    words: str  # what its words are, for a sentence
    number: int  # of words; any, where they end in dots
    options: tuple[str, ...] = ()


_ACTIONS = {
    "add": _Action(_add, "NAME", 1, _ADDING),
    "list": _Action(_list, "", 0),
    "pause": _Action(_open, "NAME", 1),
    "open": _Action(_open, "NAME", 1),
    "policy": _Action(_policy, "NAME FILE", 2, ("accept_straddle",)),
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
    for option in (*_ADDING, "accept_straddle"):
        if option not in action.options and getattr(arguments, option):
            flag = "--" + option.replace("_", "-")
            raise BadInput(flag, f"does not belong to tarry space {arguments.action}", found="it there")


def _done(arguments: argparse.Namespace, sentence: str, **told: object) -> None:
    if arguments.json:
        print_json(told)
    else:
        print(sentence)
