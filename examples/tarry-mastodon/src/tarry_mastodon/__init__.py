"""Statuses at Mastodon: an outlet, a reader, a law and an attack for tarry.

Here are the descriptions of the first two, which load neither; `pyproject.toml` says where all four are.
"""

from collections.abc import Mapping
from typing import Any

from tarry.core.plugins import Option
from tarry.keep.outlet import OutletKind
from tarry.places.accounts import ACCOUNTS
from tarry.readers.kind import ReaderKind

__all__ = ["OUTLET", "READER"]


def _what_of(options: Mapping[str, Any]) -> str:
    return f"reply to {options['in_reply_to']}" if "in_reply_to" in options else "status"


OUTLET = OutletKind(
    name="mastodon",
    outlet="tarry_mastodon.outlet:Mastodon",
    delivery="exactly once",
    words="its Mastodon server",
    at_home=True,
    option=Option(
        flag="mastodon",
        metavar="URL",
        help="post statuses at this server, with --accounts",
        rule="address",
        name="server",
    ),
    options=(ACCOUNTS,),
    what_of=_what_of,
    bound_to=("server",),  # at another one nobody would find what was posted before
)
READER = ReaderKind(
    name="mastodon",
    summary="the address of a server that speaks Mastodon's API",
    read="tarry_mastodon.reader:read_mastodon",
    options=(
        Option(
            flag="account",
            metavar="NAME",
            help="the statuses of this account, not of the public timeline; may be given again",
            repeated=True,
            name="accounts",
        ),
        Option(flag="login", metavar="FILE", help="account:token of who reads", rule="login file"),
        Option(flag="since", metavar="TIME", help="the first moment that counts"),
        Option(flag="until", metavar="TIME", help="the first moment that no longer counts"),
    ),
    tells_bots=True,
)
