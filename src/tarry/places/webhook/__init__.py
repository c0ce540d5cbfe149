"""A webhook: an address of the operator's, to which each release is sent, signed."""

from tarry.core.plugins import Option
from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

OUTLET = OutletKind(
    name="webhook",
    outlet="tarry.places.webhook.outlet:Webhook",
    delivery="at least once",
    words="its webhook",
    option=Option(
        flag="webhook",
        metavar="URL",
        help="send releases there, not to the feed",
        rule="address",
        name="url",
    ),
    stored=("turn",),  # each turn has a secret of its own
    shows_posts=True,
)
