"""A feed in a file: one line of JSON for each release."""

from tarry.core.plugins import Option
from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

OUTLET = OutletKind(
    name="feed-file",
    outlet="tarry.places.feed_file.outlet:FeedFile",
    delivery="exactly once",
    words="its feed file",
    option=Option(
        flag="feed-file",
        metavar="FILE",
        help="append releases to this file, one line of JSON for each",
        rule="file",
        name="path",
    ),
)
