"""A program on this machine, run as its owner would have run it."""

import shlex

from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

OUTLET = OutletKind(
    name="command",
    outlet="tarry.places.command.outlet:CommandOutlet",
    delivery="at most once",
    words="a command",
    at_home=True,
    what_of=lambda options: shlex.join(options["argv"]),
)
