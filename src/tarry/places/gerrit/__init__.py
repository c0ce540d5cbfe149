"""Gerrit: changes and their reviews."""

from tarry.core.plugins import Option
from tarry.readers.kind import ReaderKind

__all__ = ["READER"]

READER = ReaderKind(
    name="gerrit",
    summary="a JSON export of Gerrit's changes",
    read="tarry.places.gerrit.reader:read_gerrit",
    options=(
        Option(
            flag="change",
            metavar="ID",
            help="the change of a file that has only comments, as project~number",
        ),
    ),
    in_files=True,
    tells_bots=True,
)
