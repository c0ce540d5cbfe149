"""What an act of one's own store is, for its owner: in a few words, and word for word.

Everything here is read back from the store and shown to nobody but its owner, at a terminal.
"""

import sys
from collections.abc import Mapping
from typing import Any

from tarry.cli.personal_store import shown_id
from tarry.cli.show import print_json, printable
from tarry.core.errors import NotPossible, TarryError
from tarry.core.plugins import load
from tarry.keep.gate import Gate
from tarry.keep.outlet import content_fields
from tarry.keep.releaser import SHUT
from tarry.keep.store import Row

__all__ = ["account_in", "options_in", "show_content", "what_of"]

_MOST = 48  # characters, for a column


def what_of(outlet: str, options: Mapping[str, Any]) -> str:
    """What an act is, in a few words; empty where its options do not tell.

    >>> what_of("mediawiki", {"action": "append", "page": "Talk:Owls"})
    'append Talk:Owls'
    >>> what_of("command", {"argv": ["./submit.sh", "my review.txt"]})
    "./submit.sh 'my review.txt'"
    """
    try:
        line = printable(load("outlet", outlet).what_of(options))
    except Exception:  # noqa: BLE001 - options of another version, or an outlet that is not installed any more
        return ""
    return line if len(line) <= _MOST else f"{line[: _MOST - 3]}..."


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


def show_content(gate: Gate, row: Row, *, as_json: bool) -> None:
    """Print what one act will say: the very bytes, unless a terminal would obey some of them.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> show_content(Gate(memory_vault(policy), policy), {"id": 7}, as_json=True)
    Traceback (most recent call last):
    tarry.keep.errors.NoSuchPost: no post has this receipt: it is mistyped, or the post left long ago
    """
    try:
        content, options = gate.content_of(row["id"]), gate.options_of(row["id"])
    except TarryError:
        raise
    except Exception:  # noqa: BLE001 - whatever the cipher says
        raise NotPossible(SHUT) from None
    if as_json:
        facts = {key: row[key] for key in ("state", "target", "outlet")}
        what = what_of(row["outlet"], options)
        about = {"id": shown_id(row["id"]), **facts, "what": what}
        print_json({**about, "options": options, **content_fields(content)})
    elif not content:
        print("it has no content: --json shows its options", file=sys.stderr)
    elif sys.stdout.isatty():
        print("\n".join(map(_on_terminal, content.decode(errors="replace").split("\n"))))
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _on_terminal(line: str) -> str:
    return "\t".join(map(printable, line.removesuffix("\r").split("\t")))
