"""What the commands of a gateway share: its settings, and how they show moments."""

import argparse
import os
from dataclasses import replace
from fractions import Fraction

from tarry.cli.options import add_json
from tarry.core.errors import BadInput
from tarry.gateway.config import Config, read_config
from tarry.keep.moments import moment

__all__ = ["add_settings", "config_from", "utc_text"]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """--config, and --json."""
    text = (
        "the settings file (default: the one that TARRY_CONFIG names; docs/operating.md lists the settings)"
    )
    parser.add_argument("--config", metavar="FILE", help=text)
    add_json(parser)


def config_from(arguments: argparse.Namespace) -> Config:
    """The settings; --host and --port go before all others."""
    config = read_config(os.environ, arguments.config)
    if (host := getattr(arguments, "host", None)) is not None:
        if not host or "\0" in host:
            raise BadInput(f"--host must be an address of this machine, not {host!r}")
        config = replace(config, host=host)
    if (port := getattr(arguments, "port", None)) is not None:
        if not (port.isascii() and port.isdecimal() and len(port) < 6 and int(port) <= 65535):
            raise BadInput(f"--port must be a whole number from 0 to 65535, not {port!r}")
        config = replace(config, port=int(port))
    return config


def utc_text(at: Fraction) -> str:
    """A moment to the second, in UTC.

    >>> utc_text(Fraction(7, 2))
    '1970-01-01T00:00:03Z'
    """
    return moment(Fraction(int(at)))
