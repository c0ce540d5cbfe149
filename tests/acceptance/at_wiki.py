"""Changes of a real wiki's pages, for tests of the outlet that makes them."""

import hashlib
from itertools import count
from types import SimpleNamespace

from contracts.real_wiki import PASSWORD, Wiki
from tarry.places.accounts import Accounts
from tarry.places.mediawiki.outlet import MediaWiki
from tarry.testing.outlets import release_of

__all__ = ["EDIT", "append", "deliver", "new_page", "new_title"]
__all__ += ["outlet_to", "release_id", "write_accounts"]

#: What a request for a change says.
EDIT = b"action=edit"
_NUMBERS = count(1)


def new_title():
    """A title that no other test has."""
    return f"Page {next(_NUMBERS)}"


def new_page(wiki):
    """A page of a test's own, with somebody else's text: its title."""
    title = new_title()
    wiki.edit(title, "Owls eat mice.")
    return title


def write_accounts(folder, **wrong):
    """The accounts of both pseudonyms, with other passwords where that is said: the file."""
    path = folder / "accounts.toml"
    path.touch(mode=0o600)
    path.write_text(
        "\n".join(
            f'[{nym}]\nlogin = "{nym.title()}@tarry"\npassword = "{wrong.get(nym, PASSWORD)}"'
            for nym in ("nym", "alter")
        )
    )
    return path


def outlet_to(port, folder):
    """An outlet of an operator whose wiki is at this port."""
    return MediaWiki(Accounts(write_accounts(folder), place=Wiki.address(port)))


def deliver(outlet, options, text="Some words.", **changes):
    """Give a change to the outlet as a releaser would: an account's change of a page is one release."""
    world = SimpleNamespace(content=text.encode(), options=options)
    outlet.deliver(release_of(world, id=release_id(options), **changes))


def release_id(options):
    """The id of that release."""
    return hashlib.sha256(f"{options['account']} {options['page']}".encode()).hexdigest()[:32]


def append(page, account="nym"):
    """The options of a new section."""
    return {"account": account, "page": page, "action": "append", "heading": "Food", "summary": "owls"}
