"""A visitor of the boards of a gateway in this process, under a clock moved by hand."""

import re
from html import unescape

from starlette.testclient import TestClient

from tarry.console.site import create_site
from tarry.gateway.config import Config
from tarry.keep.closing import close_ticks
from tarry.keep.releaser import Releaser

__all__ = ["FIELDS", "OURS", "board_visitor", "hand_in", "pass_ticks", "plain"]

#: What a browser says of a form that one of our own pages sends.
OURS = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
FIELDS = {"target": "cats", "content": "They do not care."}


def board_visitor(gateway, **settings) -> TestClient:
    """A browser; on the board of talk anybody may post."""
    site = create_site(gateway, config=Config(**{"boards": "talk", **settings}))
    return TestClient(site, "http://localhost", follow_redirects=False)


def pass_ticks(gateway, ticks) -> None:
    """Ticks go by; each closes, and what is due leaves."""
    for _ in range(ticks):
        gateway.clock.sleep(1)
        with gateway.store.transaction("closing") as transaction:
            close_ticks(transaction, gateway.keys, gateway.clock)
        Releaser(gateway.vault).release()


def hand_in(visitor, **fields):
    """Send the form."""
    return visitor.post("/board/talk", data={**FIELDS, **fields}, headers=OURS)


def plain(page: str) -> str:
    """The words of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
