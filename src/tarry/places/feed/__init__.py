"""A gateway's own feed, which lies in its store: the outlet itself is in `gateway/feed.py`."""

from tarry.core.plugins import Option
from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

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
