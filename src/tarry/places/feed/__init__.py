"""Feeds: a gateway's own, which lies in its store (`gateway/feed.py` is its outlet), or one in a file."""

from tarry.core.plugins import Option
from tarry.keep.outlet import OutletKind

__all__ = ["FILE_OUTLET", "OUTLET"]

OUTLET = OutletKind(
    name="feed",
    outlet="tarry.gateway.feed:FeedOutlet",
    delivery="exactly once",
    words="its feed",
    option=Option(
        flag="feed", help="publish releases in the gateway's own feed, as is usual", rule="switch"
    ),
    shows_posts=True,
)
FILE_OUTLET = OutletKind(
    name="feed-file",
    outlet="tarry.places.feed.outlet:FeedFile",
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
