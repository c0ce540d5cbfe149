"""Audits with a child process that does as it is told, and an operator who uploads to them."""

import re
import time
from html import unescape

from starlette.testclient import TestClient

from tarry.console.audit.jobs import Audits
from tarry.console.audit.process import ChildLimits
from tarry.console.site import create_site
from tarry.gateway.config import Config
from tarry.gateway.testing import new_token, small_gateway

__all__ = ["ANSWER", "LOOK", "OURS", "AtAudit", "child_program", "plain", "until"]

#: What a browser says of a form that one of our own pages sends.
OURS = {"Sec-Fetch-Site": "same-origin"}
LOOK = {
    "columns": [{"name": name, "kind": "text"} for name in ("user", "<page>", "at")],
    "guess": {"actor": "user", "target": None, "time": None},
}
ANSWER = {
    **dict.fromkeys(("events", "actors", "targets", "first", "last", "window", "batched", "linked"), "7"),
    "now": [],
    "notes": [],
    "unreadable": 0,
    "unreadable_rows": [],
    "advice": None,
    "no_advice": "too few events",
    "compared": None,
    "not_compared": "",
}
_CHILD = """
import json, os, sys, time
task = json.loads(sys.stdin.readline())
folder = os.getcwd()
told = {look!r} if task["do"] == "look" else {answer!r}
if task["do"] != "look":
    print(json.dumps({{"stage": "advising", "done": 1, "all": 4}}), flush=True)
    until = time.monotonic() + 120  # whoever waits for it may be gone
    while not os.path.exists({go!r}) and time.monotonic() < until:
        time.sleep(0.01)
{more}
    os.unlink(task["path"])
    for name in ("report.html", "figures.json", "policy.toml"):
        open(name, "w").write(name)
print("a library prints", flush=True)
print(json.dumps({{"answer": told}}), flush=True)
"""


def child_program(folder, monkeypatch, *, more="", look=LOOK, answer=ANSWER):
    """A program that looks at once, and runs when the file `go` is there; its name, and that file."""
    go = folder / "go"
    more = "".join(f"    {line}\n" for line in more.splitlines())
    text = _CHILD.format(look=look, answer=answer, go=str(go), more=more)
    (folder / "obedient_child.py").write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return "obedient_child", go


def until(happens, seconds=30):
    """Wait by condition."""
    deadline = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
    return found


class AtAudit:
    """A site, and a browser that does what it is told."""

    def __init__(self, program=None, **settings) -> None:
        self.gateway = small_gateway(spaces=("talk", "wiki"))
        self.site = create_site(self.gateway, config=Config(**settings))
        if program is not None:
            limits = ChildLimits(
                seconds=self.site.state.config.audit_seconds,
                memory_bytes=self.site.state.config.audit_memory_bytes,
            )
            self.site.state.audits = Audits(limits, program=program)
        self.audits = self.site.state.audits
        self.http = self.browser()

    def browser(self, *scopes) -> TestClient:
        """Somebody who has signed in."""
        client = TestClient(self.site, "http://localhost", follow_redirects=False, headers=OURS)
        token = new_token(self.gateway, *(scopes or ("operate",)))
        assert client.post("/desk/sign-in", data={"token": token}).status_code == 303
        return client

    def close(self) -> None:
        """End what is under way."""
        self.audits.close()
        self.site.state.service.close()

    def read(self, path="/audit") -> str:
        """A page."""
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    def words(self, path="/audit") -> str:
        """What it says, without its markup."""
        return plain(self.read(path))

    @property
    def csrf(self) -> str:
        """As in the forms of the page."""
        return re.search(r'name="csrf" value="([0-9a-f]{64})"', self.read())[1]

    def upload(self, content=b"user,page,at\n1,2,3\n", name="votes.csv", **more):
        """Send the form with a file."""
        fields = {"data": {"csrf": self.csrf}, "files": {"history": (name, content)}, **more}
        return self.http.post("/audit", **fields)

    def uploaded(self, *arguments) -> str:
        """The address of an audit whose columns can be chosen."""
        answer = self.upload(*arguments)
        assert answer.status_code == 303, answer.text
        place = answer.headers["location"]
        until(lambda: self.state(place) not in {"looking", "coming"})
        return place

    def state(self, place) -> str:
        """How far an audit is."""
        return self.http.get(f"{place}/state").json()["state"]

    def run(self, place, **changed):
        """Send the form with the choices."""
        fields = {"actor": "user", "target": "<page>", "time": "at", **changed}
        return self.http.post(f"{place}/run", data={"csrf": self.csrf, **fields})


def plain(page: str) -> str:
    """The words of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
