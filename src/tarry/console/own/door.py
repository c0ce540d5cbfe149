"""The door of one's own page: it opens once, to one browser, and to no other program of the machine.

Every program of a machine, whoever runs it, reaches a port on loopback. So the page is behind a link that
`tarry page` prints, with a random word that opens it once: the browser that brings it gets a cookie, and
whoever brings it again gets nothing.

Browsers send cookies to every port of a machine, and let a page from another port set them. So the cookie
is for one random path alone, which no other program knows, and of several with its name one must be right.
"""

import hmac
import secrets

from starlette.requests import Request
from starlette.responses import Response

from tarry.console.pages import check_origin, require

__all__ = ["OwnDoor"]

_COOKIE = "tarry_own"
_RANDOM_BYTES = 32


class OwnDoor:
    """Who may come in, at the address that a page is served under, such as http://127.0.0.1:8421.

    >>> door = OwnDoor("http://127.0.0.1:8421")
    >>> door.link.startswith("http://127.0.0.1:8421/enter/")
    True
    >>> door.open_once("a guess"), door.open_once(door.link.rpartition("/")[2]), door.is_open
    (False, True, True)
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.room = f"/{secrets.token_hex(8)}"
        self.mark = secrets.token_hex(_RANDOM_BYTES)  # in every form
        self._word = secrets.token_urlsafe(_RANDOM_BYTES)
        self._cookie = secrets.token_hex(_RANDOM_BYTES)
        self.is_open = False  # somebody has used the link

    @property
    def link(self) -> str:
        """The link that opens it, once."""
        return f"{self.address}/enter/{self._word}"

    def open_once(self, word: str) -> bool:
        """Whether this is the word of the link, for the first time."""
        if self.is_open or not _same(word, self._word):
            return False
        self.is_open = True
        return True

    def give_cookie(self, answer: Response) -> None:
        """What the browser that came first shows from now on; it forgets it when it is closed."""
        answer.set_cookie(_COOKIE, self._cookie, path=self.room, httponly=True, samesite="strict")

    def check_host(self, request: Request) -> None:
        """Refuse a request that was meant for another name: it may have been made to point here."""
        named = request.headers.getlist("host")
        require(named == [self.address.partition("://")[2]], 421, "own", "wrong_host")

    def check(self, request: Request) -> None:
        """Refuse whoever does not bring the cookie, and a form that another site has sent."""
        self.check_host(request)
        pairs = (
            pair.strip().partition("=")
            for line in request.headers.getlist("cookie")
            for pair in line.split(";")
        )
        known = any(name == _COOKIE and _same(value, self._cookie) for name, _, value in pairs)
        require(known, 403, "own", "closed")
        if request.method != "GET":
            # Our referrer policy makes browsers send "null", and say in another header whose form it is.
            require(
                request.headers.get("origin", "null") in {self.address, "null"}, 403, "own", "elsewhere"
            )
            check_origin(request)

    def check_mark(self, mark: str) -> None:
        """Refuse a form that did not come from a page of ours."""
        require(_same(mark, self.mark), 403, "own", "elsewhere")


def _same(one: str, other: str) -> bool:
    """Without telling by its duration how much of it is right."""
    return hmac.compare_digest(one.encode(), other.encode())
