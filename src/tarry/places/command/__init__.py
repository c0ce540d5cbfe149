"""A program on this machine, run as its owner would have run it."""

import shlex

from tarry.keep.outlet import OutletKind

__all__ = ["OUTLET"]

OUTLET = OutletKind(
    name="command",
    delivery="at most once",
    words="a command",
    for_home="tarry.places.command.outlet:make_own",
    what_of=lambda options: shlex.join(options["argv"]),
)
