"""How commands list what may have left already."""

from collections.abc import Sequence

from tarry.cli.settings import told_at
from tarry.cli.show import print_table, printable
from tarry.gateway.backup import MayHaveLeft

__all__ = ["tell_overdue"]


def tell_overdue(posts: Sequence[MayHaveLeft]) -> None:
    """A table of posts that were to leave while the store was away.

    >>> tell_overdue([])
    nothing was to leave meanwhile
    """
    if not posts:
        print("nothing was to leave meanwhile")
        return
    print("these may have left already; tarry resume parks them for you to retry or withdraw one by one:")
    rows = [[str(each.post), each.space, printable(each.target), told_at(each.at)] for each in posts]
    print_table(["post", "space", "target", "was to leave"], rows)
