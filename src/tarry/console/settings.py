"""What an operator chooses about the pages."""

from dataclasses import dataclass

__all__ = ["ConsoleSettings"]


@dataclass(frozen=True, kw_only=True)
class ConsoleSettings:
    """The choices, each with the cautious one as the default.

    >>> ConsoleSettings().boards
    ()
    """

    boards: tuple[str, ...] = ()  # spaces where anybody may post from the board, without a token
    hosts: frozenset[str] = frozenset()  # names by which browsers may reach them, beside localhost
    is_https: bool = False  # cookies are for encrypted connections only
    audit_bytes: int = 64 << 20  # of one upload
    audit_seconds: int = 120  # that an audit may take
    audit_memory_bytes: int = 4 << 30  # that it may use
