"""Stack Exchange: the files of its dumps."""

from tarry.readers.kind import ReaderKind

__all__ = ["READER"]

READER = ReaderKind(
    name="stack-exchange",
    summary="Posts.xml, Comments.xml or PostHistory.xml of a Stack Exchange dump",
    read="tarry.places.stack_exchange.reader:read_stack_exchange",
    in_files=True,
    tells_bots=True,
)
