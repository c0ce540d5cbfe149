"""The options of `tarry space` that say where a space releases to, made from the descriptors of outlets."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tarry.cli.options import add_option, distinct_options
from tarry.core.errors import BadInput
from tarry.core.plugins import Option
from tarry.gateway.outlets import outlet_kind, space_kinds
from tarry.keep.outlet import OutletKind

__all__ = ["add_outlet_arguments", "chosen_outlet", "outlet_flags", "outlet_words"]


def add_outlet_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `add` and `set`: of our outlets, and of those that installed packages bring.

    >>> parser = argparse.ArgumentParser()
    >>> add_outlet_arguments(parser)
    >>> parser.parse_args(["--mediawiki", "https://wiki.example/api.php"]).accounts is None
    True
    """
    for option in _options():
        add_option(parser, option)


def outlet_flags() -> list[str]:
    """The options that `add_outlet_arguments` adds, as argparse names them.

    >>> outlet_flags()[:3]
    ['feed', 'webhook', 'feed_file']
    """
    return [_dest(option) for option in _options()]


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
    beside = {option.flag: option for kind in every for option in kind.options}
    for flag, option in beside.items():
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


def _options() -> list[Option]:
    kinds = space_kinds().values()
    return distinct_options(
        option for kind in kinds for option in (kind.option, *kind.options) if option is not None
    )


def _value(arguments: argparse.Namespace, option: Option) -> Any:
    return getattr(arguments, _dest(option))


def _dest(option: Option) -> str:
    return option.flag.replace("-", "_")
