"""Bitcoin, by a node: signed transactions go to it, and payments are read from it."""

from tarry.core.plugins import Option
from tarry.keep.outlet import OutletKind
from tarry.readers.kind import ReaderKind

__all__ = ["OUTLET", "READER"]

_COOKIE = Option(flag="cookie", metavar="FILE", help="the node's own .cookie file", rule="file")

OUTLET = OutletKind(
    name="bitcoin",
    outlet="tarry.places.bitcoin.outlet:Bitcoin",
    delivery="exactly once",
    words="its Bitcoin node",
    at_home=True,
    option=Option(
        flag="bitcoin",
        metavar="URL",
        help="give transactions to this Bitcoin node, with --cookie or --login",
        rule="address",
        name="node",
    ),
    options=(
        _COOKIE,
        Option(
            flag="login",
            metavar="FILE",
            help="a private file with the node's user:password",
            rule="private file",
        ),
        Option(flag="strict", help="refuse transactions that tell when they were made", rule="switch"),
    ),
    what_of=lambda options: str(options["txid"])[:8],  # enough for a person
)
READER = ReaderKind(
    name="bitcoin",
    summary="the address of a Bitcoin node",
    read="tarry.places.bitcoin.reader:read_bitcoin",
    options=(
        _COOKIE,
        Option(flag="login", metavar="FILE", help="a private file with user:password", rule="login file"),
        Option(flag="blocks", metavar="FROM-TO", help="the payments in these blocks"),
        Option(
            flag="mempool",
            help="those that wait in the node's mempool, with the time it first saw them",
            rule="switch",
        ),
    ),
)
