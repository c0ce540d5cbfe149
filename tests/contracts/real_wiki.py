"""A real MediaWiki of the tests' own: PHP's server, SQLite, a folder.

prepared = prepare_wiki(folder)          # once: a wiki with accounts, not running
with Wiki(prepared, another_folder) as wiki: ...
"""

import http.client
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from contracts.real_server import RealServer, find_part, free_port

__all__ = ["NYMS", "PASSWORD", "Wiki", "prepare_wiki"]

#: Pseudonyms with an account each; none is a bot, as nobody's pseudonym is.
NYMS = ("Nym", "Alter")
#: The bot password of each, under the name "tarry".
PASSWORD = "0123456789abcdef0123456789abcdef"  # noqa: S105 - of a wiki that lives for seconds
_ADMIN_PASSWORD = "admin-Passw0rd-of-a-test"  # noqa: S105 - likewise
_GRANTS = "basic,editpage,createeditmovepage"
_PATIENCE_S = 30.0
_WORKERS = 4
_SETTINGS = """
$wgServer = 'http://127.0.0.1:' . ( $_SERVER['SERVER_PORT'] ?? '0' );
$wgSQLiteDataDir = __DIR__ . '/data';
$wgUploadDirectory = $wgTmpDirectory = $wgCacheDirectory = __DIR__ . '/scratch';
$wgMainCacheType = CACHE_DB;
$wgJobRunRate = 0;
$wgEnableEmail = false;
$wgRateLimits = [];
$wgPasswordAttemptThrottle = [];
$wgPasswordConfig['pbkdf2']['cost'] = '10';
if ( file_exists( __DIR__ . '/more.php' ) ) {
	require __DIR__ . '/more.php';
}
"""


def prepare_wiki(folder: Path) -> Path:
    """Install a wiki with its accounts; the folder, to be copied."""
    for name in ("data", "scratch"):
        (folder / name).mkdir(parents=True)
    _maintain(
        *(folder, "install", "--dbtype", "sqlite", "--dbpath", folder / "data", "--dbname", "wiki"),
        *("--server", "http://127.0.0.1", "--scriptpath", "", "--confpath", folder, "--lang", "en"),
        *("--pass", _ADMIN_PASSWORD, "A wiki", "Admin"),
    )
    with (folder / "LocalSettings.php").open("a", encoding="utf-8") as settings:
        settings.write(_SETTINGS)
    for nym in NYMS:
        _maintain(folder, "createAndPromote", nym, f"the-Passw0rd-of-{nym}")
        _maintain(folder, "createBotPassword", "--appid", "tarry", "--grants", _GRANTS, nym, PASSWORD)
    return folder


def _maintain(folder: Path, script: str, *arguments: object) -> None:
    path = _program() / "maintenance" / f"{script}.php"
    done = subprocess.run(
        ["php", str(path), *map(str, arguments)],
        env=_environment(folder) if script != "install" else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}: {done.stdout}{done.stderr}"


def _program() -> Path:
    if shutil.which("php") is None:
        pytest.skip("NO REAL MEDIAWIKI: it runs on php, which is not here (as root, scripts/test gets it)")
    return find_part("mediawiki") / "usr/share/mediawiki"


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "MW_CONFIG_FILE": str(folder / "LocalSettings.php")}


class Wiki(RealServer):
    """A wiki of one test. `stop` and `start` are an outage: same port, same pages."""

    def __init__(self, prepared: Path, folder: Path) -> None:
        shutil.copytree(prepared, folder)
        self.folder, port = folder, free_port()
        self._admin: Visit | None = None
        super().__init__(
            ["php", "-d", "display_errors=0", "-S", f"127.0.0.1:{port}", "-t", _program()],
            port=port,
            log=folder / "log",
            answers=self._is_up,
            environment={**_environment(folder), "PHP_CLI_SERVER_WORKERS": str(_WORKERS)},
        )

    @property
    def api(self) -> str:
        """Where programs speak with it."""
        return self.address(self.port)

    @staticmethod
    def address(port: int) -> str:
        """The same by another port that leads here."""
        return f"http://127.0.0.1:{port}/api.php"

    def configure(self, php: str) -> None:
        """Set something else from the next request on."""
        (self.folder / "more.php").write_text(f"<?php\n{php}\n", encoding="utf-8")

    def visit(self) -> "Visit":
        """Somebody who is not logged in."""
        return Visit(self.port)

    def edit(self, title: str, text: str, **more: object) -> dict[str, Any]:
        """Somebody else edits a page: what the wiki answers."""
        return self.as_admin(action="edit", title=title, text=text, **more)["edit"]

    def as_admin(self, **parameters: object) -> dict[str, Any]:
        """The wiki's administrator asks for something: what it answers."""
        if self._admin is None:
            self._admin = self.visit()
            self._admin.log_in("Admin", _ADMIN_PASSWORD)
        told = self._admin.ask(token=self._admin.token("csrf"), **parameters)
        assert "error" not in told, told
        return told

    def history(self, title: str) -> list[dict[str, Any]]:
        """The revisions of a page, oldest first; none if there is no such page."""
        told = self.visit().ask(
            action="query",
            prop="revisions",
            titles=title,
            rvprop="ids|timestamp|user|comment|tags|content",
            rvslots="main",
            rvlimit="max",
            rvdir="newer",
        )
        (page,) = told["query"]["pages"]
        return page.get("revisions", [])

    def text(self, title: str) -> str:
        """What a page says now."""
        return self.history(title)[-1]["slots"]["main"]["content"]

    def dump(self, path: Path) -> Path:
        """All revisions without their texts, as the wiki's own program writes them."""
        _maintain(self.folder, "dumpBackup", "--full", "--stub", "--quiet", f"--output=file:{path}")
        return path

    def _is_up(self) -> bool:
        try:
            return "query" in self.visit().ask(action="query", meta="siteinfo")
        except OSError:
            return False


class Visit:
    """A few calls with the cookies between them."""

    def __init__(self, port: int) -> None:
        self._port, self._cookies = port, dict[str, str]()

    def ask(self, **parameters: object) -> dict[str, Any]:
        """One call of the API: what it answers."""
        body = urlencode({"format": "json", "formatversion": "2", **parameters})
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE_S)
        try:
            connection.request("POST", "/api.php", body, headers)
            answer = connection.getresponse()
            for cookie in answer.msg.get_all("Set-Cookie", []):
                name, _, value = cookie.partition(";")[0].partition("=")
                self._cookies[name] = value
            return json.loads(answer.read())
        finally:
            connection.close()

    def token(self, kind: str) -> str:
        """What a wiki wants to hear with a request that changes something."""
        told = self.ask(action="query", meta="tokens", type=kind)
        return told["query"]["tokens"][f"{kind}token"]

    def log_in(self, name: str, password: str) -> None:
        """Be somebody."""
        told = self.ask(action="login", lgname=name, lgpassword=password, lgtoken=self.token("login"))
        assert told["login"]["result"] == "Success", told
