"""Make and change the spaces of a gateway: the forums that posts appear in.

A policy changes in one of three ways. `policy` closes the space until no two acts can straddle the change;
with --accept-straddle it changes at once, and prints what that costs. Tick, window and labels belong to all
spaces: `together` changes them, while every space is paused and nothing waits.

  tarry space add talk --policy policy.toml --title "Talk"
  tarry space add reviews --policy policy.toml --webhook https://forum.example/hooks/tarry
  tarry space add wiki --policy policy.toml --mediawiki https://wiki.example/w/api.php --accounts nyms.toml
  tarry space set reviews --feed
  tarry space policy talk new.toml --dry-run
  tarry space together talk=coarse.toml reviews=coarse.toml
"""

import argparse
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tarry.cli.main import Argument, Parser, add_all
from tarry.cli.options import (
    SETTINGS,
    add_option,
    config_from,
    distinct_options,
    note_coarse_tick,
    read_policy_path,
)
from tarry.cli.show import print_answer, print_list, utc_text
from tarry.cli.space_policy import change_policy_of
from tarry.core.errors import BadInput, NotPossible
from tarry.core.plugins import Option
from tarry.core.policy import Policy
from tarry.gateway.catalog import Space, read_catalog
from tarry.gateway.config import Config
from tarry.gateway.database import database_path, first_keys, keys_of, opened_database
from tarry.gateway.outlets import outlet_kind, space_kinds, space_secret
from tarry.gateway.policy_changes import change_all_policies
from tarry.gateway.space_changes import (
    add_space,
    change_space,
    end_space,
    new_space,
    open_space,
    remove_space,
)
from tarry.keep.outlet import OutletKind
from tarry.keep.store import Store, current_tick, snapshot

__all__ = [
    "add_arguments",
    "add_outlet_arguments",
    "chosen_outlet",
    "outlet_words",
    "run",
]


def add_arguments(parser: Parser) -> None:
    """The subcommands of `tarry space`."""
    for name, subcommand in _SUBCOMMANDS.items():
        child = parser.add_subcommand(name, subcommand.summary, *subcommand.arguments)
        if subcommand.sets_outlet:
            add_outlet_arguments(child)
        add_all(child, SETTINGS)


class _Call(NamedTuple):
    """What a subcommand works with."""

    arguments: argparse.Namespace
    config: Config
    store: Store
    policies: Mapping[str, Policy]  # by space, from the files on the command line


def run(arguments: argparse.Namespace) -> None:
    """Do what the subcommand says."""
    config, policies = config_from(arguments), _policies(arguments)
    if arguments.subcommand == "add":
        new_space(**_new_space(arguments, policies))  # refused before a database or a key is made
        if (path := database_path(config.database)) is not None and not path.exists():
            _must_encrypt(arguments)
    with opened_database(config, make=arguments.subcommand == "add") as store:
        _SUBCOMMANDS[arguments.subcommand].do(_Call(arguments, config, store, policies))
    for policy in () if arguments.json else policies.values():
        note_coarse_tick(policy)


def _policies(arguments: argparse.Namespace) -> dict[str, Policy]:
    """The policy files on the command line, read before anything is made or changed."""
    match arguments.subcommand:
        case "add":
            return {arguments.name: read_policy_path(arguments.policy)}
        case "policy":
            return {arguments.name: read_policy_path(arguments.file)}
        case "together":
            return dict(map(_name_and_policy, arguments.policies))
    return {}


def _name_and_policy(text: str) -> tuple[str, Policy]:
    name, equals, path = text.partition("=")
    if not equals:
        raise BadInput(f"{text!r} names no policy file", "write NAME=FILE for every space")
    return name, read_policy_path(path)


def _add(call: _Call) -> None:
    arguments, store = call.arguments, call.store
    with store.transaction("reading") as transaction:
        is_first = transaction.snapshot() is None
    sealed = is_first and _must_encrypt(arguments)
    if arguments.unencrypted and not is_first:
        raise BadInput("--unencrypted is for the first space of a gateway", "leave it out")
    keys = first_keys(call.config, store)
    wanted = _new_space(arguments, call.policies)
    with store.transaction("closing") as transaction:
        space = add_space(transaction, keys, store.clock(), **wanted, sealed=sealed)
    text = f"made the space {space.name}" + (_places_of(call.config) if is_first else "")
    print_answer(call.arguments, text, space=space.name, version=space.version.number)


def _places_of(config: Config) -> str:
    """Where the new store and its key lie; a URL may hold a password."""
    path = database_path(config.database)
    where = "PostgreSQL" if path is None else path.absolute()
    return f"\ndatabase  {where}\nkey       {Path(config.key_file).absolute()}: keep a copy elsewhere"


def _must_encrypt(arguments: argparse.Namespace) -> bool:
    """Whether a new store encrypts what waits: one that does not is made only if somebody says so."""
    if arguments.unencrypted:
        return False
    if find_spec("cryptography") is None:
        raise NotPossible(
            "the package cryptography is missing, so contents would lie unencrypted in the database: "
            "install it (pip install cryptography), or use --unencrypted"
        )
    return True


def _new_space(arguments: argparse.Namespace, policies: Mapping[str, Policy]) -> dict[str, Any]:
    return {
        "name": arguments.name,
        "policy": policies[arguments.name],
        "title": arguments.title or "",
        "circle": arguments.circle or "all",
        "outlet": chosen_outlet(arguments),
        "adoption": arguments.adoption or "everyone",
    }


def _list(call: _Call) -> None:
    with call.store.transaction("reading") as transaction:
        spaces = list(read_catalog(transaction).spaces.values())
        tick = current_tick(snapshot(transaction), call.store.clock()) if spaces else 0
    print_list(
        call.arguments,
        {
            "spaces": [
                {
                    "name": space.name,
                    "title": space.title,
                    "circle": space.circle,
                    "outlet": dict(space.outlet),
                    "adoption": space.adoption,
                    "version": space.version.number,
                    "is_open": space.is_open,
                    "has_ended": space.has_ended,
                    "resumes_at": space.resumes_at(tick),
                }
                for space in spaces
            ]
        },
        ["space", "circle", "to", "delayed", "policy", "takes posts in"],
        [_space_row(space, tick) for space in spaces],
        none="there is no space yet: tarry space add makes one",
    )


def _space_row(space: Space, tick: int) -> list[str]:
    resumes, version = space.resumes_at(tick), str(space.version.number)
    if not space.is_open:
        state = "ended" if space.has_ended else "paused"
    else:
        state = "yes" if resumes is None else f"from {utc_text(resumes)}"
    return [space.name, space.circle, str(space.outlet["kind"]), space.adoption, version, state]


def _open(call: _Call) -> None:
    name, opens, store = call.arguments.name, call.arguments.subcommand == "open", call.store
    with store.transaction("closing") as transaction:
        open_space(transaction, name, is_open=opens)
        space = read_catalog(transaction).space(name)
        resumes = space.resumes_at(current_tick(snapshot(transaction), store.clock()))
    state = "takes nothing in; what waits leaves at its time"
    if opens:
        state = "takes posts in" if resumes is None else f"takes posts in from {utc_text(resumes)}"
    print_answer(call.arguments, f"{name} {state}", space=name, is_open=opens, resumes_at=resumes)


def _end(call: _Call) -> None:
    name = call.arguments.name
    with call.store.transaction("closing") as transaction:
        end_space(transaction, call.store.clock(), name)
    print_answer(
        call.arguments,
        f"{name} has ended: it takes no more posts; what waits leaves at its time, and its feed stays",
        space=name,
        has_ended=True,
    )


def _remove(call: _Call) -> None:
    name = call.arguments.name
    with call.store.transaction("closing") as transaction:
        remove_space(transaction, call.store.clock(), name)
    print_answer(
        call.arguments, f"{name} is removed: its feed, its policies and its tokens are gone", space=name
    )


def _set(call: _Call) -> None:
    name, title, outlet = call.arguments.name, call.arguments.title, chosen_outlet(call.arguments)
    if title is None and outlet is None:
        raise BadInput("nothing to change", "use --title, or say where the space releases to")
    with call.store.transaction("closing") as transaction:
        space = change_space(transaction, name, title=title, outlet=outlet)
    print_answer(
        call.arguments,
        f"{name} is called {space.title!r} and releases to {outlet_words(space.outlet)}",
        space=name,
        title=space.title,
        outlet=dict(space.outlet),
    )


def _policy(call: _Call) -> None:
    change_policy_of(call.arguments, call.store, call.policies[call.arguments.name])


def _together(call: _Call) -> None:
    keys = keys_of(call.config, call.store)
    with call.store.transaction("closing") as transaction:
        versions = change_all_policies(transaction, keys, call.store.clock(), call.policies)
    print_answer(
        call.arguments,
        f"{', '.join(versions)}: the new policies hold; open them again with tarry space open",
        versions={name: version.number for name, version in versions.items()},
    )


def _secret(call: _Call) -> None:
    name = call.arguments.name
    with call.store.transaction("reading") as transaction:
        space: Space = read_catalog(transaction).space(name)
    if (kind := space.outlet.get("kind")) != "webhook":
        raise BadInput(
            f"space {name!r} releases to a {kind}, which has no signing secret",
            "name a space with a webhook",
        )
    secret = space_secret(keys_of(call.config, call.store), space).hex()
    print_answer(call.arguments, secret, space=name, secret_hex=secret)


def add_outlet_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `add` and `set`: of our outlets, and of those that installed packages bring.

    >>> parser = argparse.ArgumentParser()
    >>> add_outlet_arguments(parser)
    >>> parser.parse_args(["--mediawiki", "https://wiki.example/api.php"]).accounts is None
    True
    """
    kinds = space_kinds().values()
    every = (option for kind in kinds for option in (kind.option, *kind.options) if option is not None)
    for option in distinct_options(every):
        add_option(parser, option)


def chosen_outlet(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """The outlet that the options describe; None if they name no place.

    >>> parser = argparse.ArgumentParser()
    >>> add_outlet_arguments(parser)
    >>> chosen_outlet(parser.parse_args(["--bitcoin", "http://127.0.0.1:8332", "--cookie", "/c"]))
    {'kind': 'bitcoin', 'node': 'http://127.0.0.1:8332', 'cookie': '/c'}
    """
    every = space_kinds().values()
    kinds = [kind for kind in every if kind.option and _value(arguments, kind.option)]
    if len(kinds) > 1:
        flags = " and ".join(f"--{kind.option.flag}" for kind in kinds if kind.option)
        raise BadInput(f"a space must release to one place, not to {flags}")
    allowed = {option.flag for kind in kinds for option in kind.options}
    for flag, option in {option.flag: option for kind in every for option in kind.options}.items():
        if _value(arguments, option) and flag not in allowed:
            owners = [f"--{kind.option.flag}" for kind in every if kind.option and option in kind.options]
            raise BadInput(f"--{flag} stands alone", f"give it with {' or '.join(owners)}")
    return _settings(arguments, kinds[0]) if kinds else None


def outlet_words(outlet: Mapping[str, Any]) -> str:
    """Where a space releases to, in a sentence.

    >>> outlet_words({"kind": "mediawiki"}), outlet_words({"kind": "feed"})
    ('its wiki', 'its feed')
    """
    try:
        return outlet_kind(outlet).words
    except BadInput:  # of a package that is not installed here
        return f"its {outlet.get('kind')}"


def _settings(arguments: argparse.Namespace, kind: OutletKind) -> dict[str, Any]:
    settings: dict[str, Any] = {"kind": kind.name}
    for option in kind.settings:
        if value := _value(arguments, option):
            # Servers and workers may run in other folders.
            settings[option.key] = str(Path(value).absolute()) if option.rule.endswith("file") else value
        elif option.required:
            chosen = f"--{kind.option.flag}" if kind.option else kind.name
            raise BadInput(f"{chosen} needs --{option.flag}", f"give --{option.flag} {option.metavar}")
    return settings


def _value(arguments: argparse.Namespace, option: Option) -> Any:
    return getattr(arguments, option.flag.replace("-", "_"))


_NAME = Argument("name", metavar="NAME", help="the space")


class _Subcommand(NamedTuple):
    summary: str
    do: Callable[[_Call], None]
    arguments: tuple[Argument, ...] = (_NAME,)
    sets_outlet: bool = False


_SUBCOMMANDS = {
    "add": _Subcommand(
        "make a space, and with the first one the database and its key",
        _add,
        (
            _NAME,
            Argument("--policy", metavar="FILE", required=True, help="its policy file"),
            Argument("--title", help="its title for people (default: its name)"),
            Argument("--circle", help="spaces of one circle share their actors (default: all)"),
            Argument(
                "--adoption",
                choices=["everyone", "opt-out", "opt-in"],
                help="whose posts are delayed: everyone, opt-out or opt-in (default: everyone)",
            ),
            Argument(
                "--unencrypted", action="store_true", help="for the first space: store contents unencrypted"
            ),
        ),
        sets_outlet=True,
    ),
    "list": _Subcommand("list the spaces", _list, ()),
    "set": _Subcommand(
        "change the title of a space, or where it releases to",
        _set,
        (_NAME, Argument("--title", help="its title for people")),
        sets_outlet=True,
    ),
    "pause": _Subcommand("take no posts in for now; what waits leaves at its time", _open),
    "open": _Subcommand("take posts in again", _open),
    "end": _Subcommand("close a space for good; what waits leaves at its time, and its feed stays", _end),
    "remove": _Subcommand("delete a space that has ended: its feed, its policies and its tokens", _remove),
    "policy": _Subcommand(
        "give a space another policy",
        _policy,
        (
            _NAME,
            Argument("file", metavar="FILE", help="the new policy file"),
            Argument(
                "--accept-straddle", action="store_true", help="change at once, and print what it costs"
            ),
            Argument(
                "--yes",
                action="store_true",
                help="with --accept-straddle: also where the loss has no bound",
            ),
            Argument(
                "--dry-run",
                action="store_true",
                help="change nothing: print how long the space would close, and what --accept-straddle "
                "would cost",
            ),
        ),
    ),
    "together": _Subcommand(
        "change tick, window or labels, which belong to all spaces",
        _together,
        (
            Argument(
                "policies",
                metavar="NAME=FILE",
                nargs="+",
                help="a space and its new policy file; every space must be named",
            ),
        ),
    ),
    "secret": _Subcommand("print the secret that signs what a webhook gets", _secret),
}
