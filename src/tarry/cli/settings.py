"""What the commands of a gateway share: its settings, and how they tell moments."""

import argparse
import os
from dataclasses import replace
from fractions import Fraction

from tarry.cli.options import add_json
from tarry.core.errors import BadInput
from tarry.gateway.config import Config, read_config
from tarry.keep.clock import moment

__all__ = ["add_settings", "config_from", "told_at"]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """--config, and --json."""
    told = "the settings file (default TARRY_CONFIG; docs/operating.md lists the settings)"
    parser.add_argument("--config", metavar="FILE", help=told)
    add_json(parser)


def config_from(arguments: argparse.Namespace) -> Config:
    """The settings; --port goes before all others."""
    config = read_config(os.environ, arguments.config)
    port = getattr(arguments, "port", None)
    if port is None:
        return config
    if not (port.isascii() and port.isdecimal() and len(port) < 6 and int(port) <= 65535):
        raise BadInput("--port", "is a whole number from 0 to 65535", found=repr(port))
    return replace(config, port=int(port))


def told_at(at: Fraction) -> str:
    """A moment to the second, in UTC.

    >>> told_at(Fraction(7, 2))
    '1970-01-01T00:00:03Z'
    """
    return moment(Fraction(int(at)))
