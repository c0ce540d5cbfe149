"""What a note is as a post: whose it is, and how a form on one's own page hands it in."""

import re
from collections.abc import Mapping
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.gate import Gate
from tarry.keep.home import Home
from tarry.places.accounts import Account, Accounts
from tarry.places.openreview.client import openreview_address

__all__ = ["check_id", "make_post", "note_pseudonym"]

_NO_ID = re.compile(r"://|[?&=\s]")
_OPTIONS = ("account", "invitation", "signature", "forum", "replyto", "field")


def make_post(home: Home, _gate: Gate, said: Mapping[str, str]) -> dict[str, Any]:
    """The post that a filled form stands for; the password stays in the accounts file.

    >>> make_post(Home.of({"TARRY_HOME": "/nowhere"}), None, {"forum": "https://openreview.net/forum?id=a"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the forum must be an id, not 'https://openreview.net/forum?id=a': give the \
id, which stands after id= in the address
    """
    for name in ("forum", "replyto", "signature"):
        check_id(f"the {name}", said.get(name))
    account = Accounts(home.accounts_path).account(said.get("account", ""))
    return {
        "target": note_pseudonym(account, said.get("forum", ""), said.get("signature", "")),
        "outlet": "openreview",
        "content": said.get("text", "").encode(),
        "options": {name: said[name] for name in _OPTIONS if name in said},
    }


def check_id(name: str, value: str | None) -> None:
    """Refuse an address out of a browser: it would be refused only at the release.

    >>> check_id("--forum", "aBcD1234")
    """
    if value is not None and (not value or _NO_ID.search(value)):
        raise BadInput(
            f"{name} must be an id, not {value!r}", "give the id, which stands after id= in the address"
        )


def note_pseudonym(account: Account, forum: str, signature: str) -> str:
    """A name for one paper, where it is: the login behind it is nobody's business.

    >>> account = Account(login="me@example.org", password="secret", at="https://api2.openreview.net")
    >>> note_pseudonym(account, "aBcD1234", "V/Reviewer_a")
    'https://api2.openreview.net aBcD1234 V/Reviewer_a'
    """
    return f"{openreview_address(account.at).url} {forum} {signature}"
