"""What a change of a wiki is as a post: whose it is, and how a form on one's own page hands it in."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.gate import Gate
from tarry.keep.home import Home
from tarry.places.accounts import Account, Accounts
from tarry.places.mediawiki.client import wiki_address

__all__ = ["make_post", "wiki_pseudonym"]

_OPTIONS = ("action", "page", "account", "heading", "summary")


def make_post(home: Home, _gate: Gate, said: Mapping[str, str]) -> dict[str, Any]:
    """The post that a filled form stands for; the password stays in the accounts file.

    >>> make_post(Home.of({"TARRY_HOME": "/nowhere"}), None, {"account": "nym", "base_revision": "x"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the revision must be a whole number, not 'x': copy the number after \
oldid= in the permanent link of the page
    """
    options: dict[str, Any] = {name: said[name] for name in _OPTIONS if name in said}
    options["minor"] = "minor" in said
    base = said.get("base_revision")
    if base is not None:
        if not (base.isascii() and base.isdecimal() and len(base) < 20):
            raise BadInput(
                f"the revision must be a whole number, not {base!r}",
                "copy the number after oldid= in the permanent link of the page",
            )
        options["base_revision"] = int(base)
    return {
        "target": wiki_pseudonym(Accounts(home.accounts_path).account(said.get("account", ""))),
        "outlet": "mediawiki",
        "content": said.get("text", "").encode(),
        "options": options,
    }


def wiki_pseudonym(account: Account) -> str:
    """Whom the wiki shows. One account may have several bot passwords, and its name several spellings.

    >>> wiki_pseudonym(Account(login="nym_a@tarry", password="secret", at="https://wiki.example/api.php"))
    'https://wiki.example/api.php Nym a'
    """
    user = account.login.partition("@")[0].replace("_", " ")
    user = unicodedata.normalize("NFC", " ".join(user.split()))
    return f"{wiki_address(account.at).url} {user[:1].upper()}{user[1:]}"
