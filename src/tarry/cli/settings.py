"""What the commands of a gateway share: its settings, and how they show moments."""

import argparse
import os
from fractions import Fraction

from tarry.gateway.config import Config, read_config
from tarry.keep.store import moment

__all__ = ["add_settings", "config_from", "utc_text"]


def add_settings(parser: argparse.ArgumentParser) -> None:
    """--config, and --json."""
    text = (
        "the settings file (default: the one that TARRY_CONFIG names; docs/operating.md lists the settings)"
    )
    parser.add_argument("--config", metavar="FILE", help=text)


def config_from(arguments: argparse.Namespace) -> Config:
    """The settings that the file and the environment give."""
    return read_config(os.environ, arguments.config)


def utc_text(at: Fraction) -> str:
    """A moment to the second, in UTC.

    >>> utc_text(Fraction(7, 2))
    '1970-01-01T00:00:03Z'
    """
    return moment(Fraction(int(at)))
