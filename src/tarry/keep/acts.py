"""What waits or is parked in one person's own store, as its owner may see it: at a shell, or on a page."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tarry.core.plugins import load
from tarry.keep.gate import Gate
from tarry.keep.posts import Status, shown_id
from tarry.keep.store import Row

__all__ = ["OwnAct", "account_in", "kind_of", "options_in", "own_acts", "summary_of"]


class OwnAct(NamedTuple):
    """An act that waits or is parked.

    >>> from fractions import Fraction
    >>> status = Status(state="waiting", earliest=None, latest=None, tick=Fraction(1))
    >>> OwnAct({"id": 255, "outlet": "command"}, status, {"argv": ["true"]}, runs=False).id
    '00000000000000ff'
    """

    row: Row  # its id, state, target, outlet and parent
    status: Status
    options: Mapping[str, Any]
    runs: bool  # it is being delivered

    @property
    def state(self) -> str:
        """What people are told of it."""
        return "running" if self.runs else self.status.state

    @property
    def id(self) -> str:
        """As it is shown."""
        return shown_id(self.row["id"])

    @property
    def holds_up(self) -> bool:
        """Whether its delivery is tried again: then everything else has moved with it."""
        return self.status.state == "waiting" and self.status.problem is not None


def own_acts(gate: Gate) -> list[OwnAct]:
    """Everything that waits or is parked, by its release: the order in which it came in is not shown.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> own_acts(Gate(memory_vault(policy), policy))
    []
    """
    runs = gate.under_way()
    posts = sorted(gate.posts(), key=lambda each: (each[1].earliest or 0, each[0]["id"]))
    return [
        OwnAct(
            row, status, options_in(gate, row["id"]), runs=row["id"] in runs and status.state == "waiting"
        )
        for row, status in posts
    ]


def kind_of(outlet: str) -> Any:
    """The descriptor of an outlet; None of one that is not installed any more.

    >>> kind_of("git").words, kind_of("pigeon")
    ('a git remote', None)
    """
    try:
        return load("outlet", outlet)
    except Exception:  # noqa: BLE001 - somebody else's code: one act must not hide the others
        return None


def summary_of(outlet: str, options: Mapping[str, Any]) -> str:
    """What an act is, in one line; empty where its options do not tell.

    >>> summary_of("mediawiki", {"action": "append", "page": "Talk:Owls"})
    'append Talk:Owls'
    """
    try:
        return str(load("outlet", outlet).what_of(options))
    except Exception:  # noqa: BLE001 - options of another version, or an outlet that is not installed any more
        return ""


def account_in(options: Mapping[str, Any]) -> str | None:
    """The table of the accounts file that an act leaves by, if it needs one.

    >>> account_in({"account": "nym", "page": "Owls"}), account_in({"argv": ["true"]})
    ('nym', None)
    """
    account = options.get("account")
    return account if isinstance(account, str) else None


def options_in(gate: Gate, post: int) -> Mapping[str, Any]:
    """The options of an act; none if it has just left, or cannot be opened.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> options_in(Gate(memory_vault(policy), policy), 7)
    {}
    """
    try:
        return gate.options_of(post)
    except Exception:  # noqa: BLE001 - whatever the cipher says: one row must not hide the others
        return {}
