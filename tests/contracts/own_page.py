"""One's own page in this process: a home with a clock moved by hand, and a browser that has come in."""

import re
from html import unescape

from starlette.testclient import TestClient

from contracts.shell import SLOW
from tarry.cli.main import main
from tarry.console.own.door import OwnDoor
from tarry.console.own.page import create_own_page
from tarry.console.own.store import OwnStore
from tarry.keep.closing import close_ticks
from tarry.keep.home import Home
from tarry.testing import ManualClock

__all__ = ["ADDRESS", "FROM_HERE", "LETTER", "OwnBrowser"]

ADDRESS = "http://127.0.0.1:8421"
#: What a browser says of a form that one of our own pages sends.
FROM_HERE = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}
#: A mail as the form of one's own page sends it.
LETTER = {
    "from": "nym@example.org",
    "to": "chair@example.net",
    "subject": "Paper 3",
    "text": "I agree.",
    "server": "smtp://localhost:25",
}


class OwnBrowser:
    """Somebody at their own page; `woken` counts the keepers that were asked for."""

    def __init__(self, folder, policy=SLOW) -> None:
        self.home, self.clock, self.woken, self.told = (
            Home.of({"TARRY_HOME": str(folder)}),
            ManualClock(),
            0,
            [],
        )
        folder.mkdir(mode=0o700, exist_ok=True)
        if policy is not None:
            self.home.policy_path.write_text(policy, encoding="utf-8")
        self.door = OwnDoor(ADDRESS)
        self.app = create_own_page(OwnStore(self.home, self._wake), self.door, tell=self.told.append)
        self.http = self.stranger(**FROM_HERE)

    def _wake(self) -> None:
        self.woken += 1

    def stranger(self, **headers) -> TestClient:
        """A client without the cookie."""
        return TestClient(self.app, ADDRESS, follow_redirects=False, headers=headers)

    def come_in(self) -> "OwnBrowser":
        """Open the link."""
        assert self.http.get(self.door.link).status_code == 200
        return self

    def read(self, path: str = "/"):
        """The answer for a page below the room."""
        return self.http.get(f"{self.door.room}{path}")

    def words(self, path: str = "/") -> str:
        """What a page says, without its markup."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.read(path).text)).split())

    def send(self, path: str, fields=(), **more):
        """Send a form."""
        data = {"mark": self.door.mark, **dict(fields), **more}
        return self.http.post(f"{self.door.room}{path}", data=data)

    def hand_in(self, **more) -> str:
        """Hand a mail in; the address of its page below the room."""
        answer = self.send("/hand-in/mail", {"once": repr(sorted(more.items())), **LETTER}, **more)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"].removeprefix(self.door.room).partition("?")[0]

    def pass_ticks(self, count: int) -> None:
        """Time goes by; nothing is delivered."""
        vault = self.home.gate().vault
        for _ in range(count):
            self.clock.sleep(float(vault.settings.tick))
            with vault.store.transaction("closing") as transaction:
                close_ticks(transaction, vault.keys, vault.clock)
        vault.store.close()

    def tell(self, *words: str) -> int:
        """Run a command on the same store."""
        return main(list(words))
