"""A webhook: an address of the operator's, to which each release is sent, signed."""

from tarry.core.plugins import Option
from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

OUTLET = OutletKind(
    name="webhook",
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
    for_space="tarry.places.webhook.outlet:make_for_space",
    shows_posts=True,
)
