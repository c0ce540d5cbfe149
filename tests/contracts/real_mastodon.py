"""A real server that speaks Mastodon's API, of the tests' own: snac, on loopback, in a folder.

prepared = prepare_mastodon(folder)              # once: accounts with access tokens, not running
with Mastodon(prepared, another_folder) as server: ...

Its public name leads to nobody, and nobody follows its accounts: it sends nothing to other servers.
"""

import http.client
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from contracts.real_server import RealServer, find_part, free_port

__all__ = ["NYMS", "PACKAGE", "Mastodon", "prepare_mastodon", "write_accounts"]

#: The example plugin, which is not installed where the other tests run.
PACKAGE = Path(__file__).resolve().parents[2] / "examples" / "tarry-mastodon"
#: Pseudonyms with an account each.
NYMS = ("nym", "alter")
_NO_REDIRECT = "urn:ietf:wg:oauth:2.0:oob"  # the code is shown instead
_PATIENCE_S = 30.0
_TOKENS = "tokens.json"


def prepare_mastodon(folder: Path) -> Path:
    """Make a server with its accounts, and get a token for each as an app does; the folder to copy."""
    folder.mkdir(parents=True)
    data = folder / "data"
    _snac("init", data, answers=["127.0.0.1", "1", "127.0.0.1:9", "", ""])
    passwords = {
        nym: re.search(r"password is (\S+)", _snac("adduser", data, nym)).group(1)  # said only here
        for nym in NYMS
    }
    with Mastodon(None, folder) as server:
        tokens = {nym: _authorize(server, nym, password) for nym, password in passwords.items()}
        server.stop()
    (folder / _TOKENS).write_text(json.dumps(tokens), encoding="utf-8")
    return folder


def write_accounts(folder: Path, tokens: Mapping[str, str], *, at: str = "") -> Path:
    """An accounts file that only its owner reads, with these tokens."""
    path = folder / "accounts.toml"
    path.touch(mode=0o600)
    place = f'at = "{at}"\n' if at else ""
    tables = [f'[{nym}]\nlogin = "{nym}"\npassword = "{token}"\n{place}' for nym, token in tokens.items()]
    path.write_text("".join(tables), encoding="utf-8")
    return path


def _snac(command: str, *arguments: object, answers: list[str] | None = None) -> str:
    done = subprocess.run(
        [str(find_part("snac") / "snac"), command, *map(str, arguments)],
        input="".join(f"{answer}\n" for answer in answers or ()),
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE_S,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def _authorize(server: "Mastodon", login: str, password: str) -> str:
    """Register an app, log in on the page that it shows, and change the code for a token."""
    names = {"client_name": "tarry", "redirect_uris": _NO_REDIRECT, "scopes": "read write"}
    app = json.loads(server.ask("POST", "/api/v1/apps", names))
    form = {"login": login, "passwd": password, "cid": app["client_id"], "redir": _NO_REDIRECT, "state": ""}
    code = server.ask("POST", "/oauth/x-snac-login", form).decode()
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": _NO_REDIRECT}
    fields |= {"client_id": app["client_id"], "client_secret": app["client_secret"]}
    return json.loads(server.ask("POST", "/oauth/token", fields))["access_token"]


class Mastodon(RealServer):
    """A server of one test. `stop` and `start` are an outage: same port, same statuses, same tokens."""

    def __init__(self, prepared: Path | None, folder: Path) -> None:
        if prepared is not None:
            shutil.copytree(prepared, folder)
        tokens, port = folder / _TOKENS, free_port()
        # What it takes itself for: nobody listens there. Servers of one name share a part of their memory.
        self.name = f"127.1.{port // 256}.{port % 256}:9"
        self.tokens: dict[str, str] = json.loads(tokens.read_text()) if tokens.exists() else {}
        settings = folder / "data" / "server.json"
        known = json.loads(settings.read_text())
        known |= {"host": self.name, "port": port, "protocol": "http", "disable_email_notifications": True}
        settings.write_text(json.dumps(known), encoding="utf-8")
        super().__init__(
            [find_part("snac") / "snac", "httpd", folder / "data"],
            port=port,
            log=folder / "log",
            answers=self._is_up,
        )

    @property
    def url(self) -> str:
        """Where programs speak with it."""
        return self.address(self.port)

    @staticmethod
    def address(port: int) -> str:
        """The same by another port that leads here."""
        return f"http://127.0.0.1:{port}"

    def kill(self) -> None:
        """Pull the plug, and put away what it then leaves in shared memory."""
        left = [f"sem.job_{self._process.pid}", f"{self.name}_snac_state"]
        super().kill()
        for name in left:
            Path("/dev/shm", name).unlink(missing_ok=True)  # noqa: S108 - it has no choice

    def account(self, nym: str) -> str:
        """The id of an account."""
        return json.loads(self.ask("GET", "/api/v1/accounts/verify_credentials", nym=nym))["id"]

    def ask(self, method: str, path: str, form: dict[str, str] | None = None, *, nym: str = "") -> bytes:
        """One call, by an account if there is one: the answer, which must be good."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
        if nym:
            headers["Authorization"] = f"Bearer {self.tokens[nym]}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)
        try:
            connection.request(method, path, urlencode(form) if form else None, headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        assert answer.status == 200, f"{method} {path}: {answer.status} {body!r}"
        return body

    def post(self, nym: str, text: str, **fields: str) -> dict[str, Any]:
        """Somebody posts a status by other means: the status."""
        return json.loads(self.ask("POST", "/api/v1/statuses", {"status": text, **fields}, nym=nym))

    def statuses(self, nym: str) -> list[dict[str, Any]]:
        """The newest statuses of an account, oldest first; none that only followers see."""
        path = f"/api/v1/accounts/{self.account(nym)}/statuses?limit=100"
        return json.loads(self.ask("GET", path, nym=nym))[::-1]

    def texts(self, nym: str) -> list[str]:
        """What they say."""
        return [status["text"] for status in self.statuses(nym)]

    def _is_up(self) -> bool:
        try:
            return b"snac" in self.ask("GET", "/api/v1/instance")
        except (OSError, http.client.HTTPException):
            return False
