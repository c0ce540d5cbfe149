"""A wiki with one page, an accounts file, and the outlet between them: a world for the outlet's tests."""

from contracts.wiki_server import PASSWORD, WikiServer
from tarry.places.accounts import Accounts
from tarry.places.mediawiki.outlet import MediaWiki

__all__ = ["MARKER", "Everything", "WikiWorld", "page", "write_accounts"]

NAMES = ("Nym", "Other")
MARKER = "(5a5a5a5a5a5a5a5a)"  # of the id that the contract's releases have


def write_accounts(folder, at=None):
    """An accounts file that only its owner reads."""
    path = folder / "accounts.toml"
    path.touch(mode=0o600)
    place = f'at = "{at}"\n' if at else ""
    tables = [
        f'[{name.lower()}]\nlogin = "{name}@tarry"\npassword = "{PASSWORD}"\n{place}' for name in NAMES
    ]
    path.write_text("".join(tables))
    return path


class WikiWorld:
    """A wiki with one page, and somebody who appends a section to it."""

    content = "They eat mice.\n\nLiebe Grüße ~~~~".encode()

    def __init__(self, folder):
        self.server = WikiServer()
        self.accounts = write_accounts(folder)
        self.outlet = MediaWiki(Accounts(self.accounts, place=self.server.at))
        self.base = self.server.write("Talk:Owls", "Owls are birds.")
        self.options = {
            "account": "nym",
            "page": "Talk:Owls",
            "action": "append",
            "heading": "Food & drink",
            "summary": "what they eat",
        }

    @property
    def edit(self):
        """Options of an edit of the page as it was."""
        return {"account": "nym", "page": "Talk:Owls", "action": "edit", "base_revision": self.base}

    @property
    def create(self):
        """Options of a page that is not there."""
        return {"account": "nym", "page": "Hawks", "action": "create"}

    def sent(self):
        """What was changed, each with every byte of the visit that changed it."""
        return [
            (title, each.id, each.user, each.comment, each.text, each.visit)
            for title, each in self.server.made()
        ]

    def close(self):
        """Stop the server, which has had nothing to object."""
        self.server.stop()
        assert self.server.wrong == []


class Everything(WikiWorld):
    """The same, and everything is seen, also the visits that change nothing."""

    def sent(self):
        return self.server.sent()


def page(world, title="Talk:Owls"):
    """How a page reads now."""
    return world.server.pages[title][-1].text
