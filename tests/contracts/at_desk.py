"""An operator at the desk of a gateway in this process, under a clock moved by hand."""

import re
from html import unescape

from starlette.testclient import TestClient

from tarry.console.site import create_site
from tarry.core.policy import Policy
from tarry.gateway.config import Config
from tarry.gateway.limits import Limits
from tarry.gateway.testing import new_token, small_gateway
from tarry.keep.closing import close_ticks
from tarry.keep.releaser import Releaser

__all__ = ["OURS", "POLICY", "AtDesk"]

POLICY = Policy(epsilon="1", gap="8s", window="3s")
#: What a browser says of a form that one of our own pages sends.
OURS = {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}


class AtDesk:
    """A site, and a browser that does what it is told."""

    def __init__(self, *, policy=POLICY, is_https=False, **others) -> None:
        self.gateway = small_gateway(policy, **{"spaces": ("talk", "wiki"), **others})
        self.clock = self.gateway.clock
        self.site = create_site(
            self.gateway,
            limits=Limits(rate_per_s=1e6, burst=10**6),
            config=Config(https=is_https),
        )
        self.http = TestClient(
            self.site, f"http{'s' * is_https}://localhost", follow_redirects=False, headers=OURS
        )
        self.sender = new_token(self.gateway, "submit")

    # --- signing in -------------------------------------------------------------------------------------

    def sign_in(self, *scopes, spaces=()) -> str:
        """Sign in with a new token for these scopes; the token."""
        token = new_token(self.gateway, *(scopes or ("operate",)), spaces=spaces)
        answer = self.try_token(token)
        assert (answer.status_code, answer.headers["location"]) == (303, "/desk")
        return token

    def try_token(self, token: str, **more):
        """Send the form of the sign-in page."""
        return self.http.post("/desk/sign-in", data={"token": token, **more})

    # --- the desk -----------------------------------------------------------------------------------------

    def read(self, path: str = "/desk") -> str:
        """The page."""
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    def words(self, path: str = "/desk") -> str:
        """What it says, without its markup."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.read(path))).split())

    @property
    def csrf(self) -> str:
        """As in the forms of the page."""
        return re.search(r'name="csrf" value="([0-9a-f]{64})"', self.read())[1]

    def act(self, act: str, **fields):
        """Send one of the forms."""
        return self.http.post("/desk", data={"csrf": self.csrf, "act": act, **fields})

    def done(self, act: str, **fields) -> str:
        """What the page says after a form that did what it should."""
        answer = self.act(act, **fields)
        assert answer.status_code == 303, answer.text
        page = self.read(answer.headers["location"])
        return unescape(re.search(r'role="status">([^<]*)<', page)[1])

    # --- others -------------------------------------------------------------------------------------------

    def post(self, actor="ann", target="p1", space="talk", **more):
        """Somebody hands a post in."""
        answer = self.http.post(
            f"/v1/spaces/{space}/posts",
            json={"actor": actor, "target": target, "content": "I agree.", **more},
            headers={"Authorization": f"Bearer {self.sender}", "Content-Type": "application/json"},
        )
        assert answer.status_code == 202, answer.text
        return answer.json()

    def ask_api(self, token: str, path: str, method: str = "GET"):
        """What the API answers to a token."""
        return self.http.request(method, path, headers={"Authorization": f"Bearer {token}"})

    def pass_ticks(self, count: int, seconds: float = 1) -> None:
        """Ticks go by; each closes, and what is due leaves."""
        releaser = Releaser(self.gateway.vault)
        for _ in range(count):
            self.clock.sleep(seconds)
            with self.gateway.store.transaction("closing") as transaction:
                close_ticks(transaction, self.gateway.keys, self.clock)
            releaser.sweep()
            releaser.release()
