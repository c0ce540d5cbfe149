"""GitHub: reviews, comments, issues and pull requests, as its API or `gh` exports them."""

from tarry.readers.kind import ReaderKind

__all__ = ["READER"]

READER = ReaderKind(
    name="github",
    summary="a JSON export of GitHub's reviews and comments",
    read="tarry.places.github.reader:read_github",
    in_files=True,
    tells_bots=True,
)
