"""A small stand-in for OpenReview's API 2 on a free port of this machine.

It takes a login, note edits and questions for notes, holds every request and every answer of its own to the
published fields (`openreview_fields.py`), and keeps every byte it was sent. It was written by hand, from
what is published: nobody has compared it with the live service.
"""

import json
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from contracts import openreview_fields as published
from contracts.http_receiver import HttpReceiver, says

__all__ = ["OpenReviewServer", "Person"]

VENUE = "Venue.org/2026/Conference"


@dataclass(frozen=True)
class Person:
    """Somebody with a login, a profile and the anonymous names they may sign with."""

    password: str
    profile: str
    signatures: tuple[str, ...] = ()


class Wrong(Exception):
    """An error as OpenReview tells it."""

    def __init__(self, status, name, message, **details):
        super().__init__(message)
        self.status = status
        self.told = {"name": name, "message": message, "status": status, "details": details}


@dataclass
class OpenReviewServer(HttpReceiver):
    """`instead` maps "METHOD /path" to what is done in place of answering: a function of the connection's
    file. `lost` names those that are done, and whose answer is then lost."""

    people: dict[str, Person]
    invitations: dict[str, set[str]]  # with the fields that a note may have
    forums: set[str]
    second_factor: set[str] = field(default_factory=set)
    instead: dict = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def __post_init__(self):
        super().__init__()
        self.notes, self.edits, self.broken = [], [], []
        self.clock_ms = lambda: time.time_ns() // 1_000_000
        self.url, self._lock = f"http://127.0.0.1:{self.port}", threading.Lock()

    def stumble(self):
        """A request could not be read."""
        self.broken.append("a request could not be read")

    def asked(self, start=""):
        """The requests whose first line begins so."""
        return [each for each in self.received if each.line.startswith(start)]

    def respond(self, received, answer, file):
        """Do what is asked, unless something else is to happen, and tell of it."""
        way = received.line.rpartition(" ")[0].partition("?")[0]
        if way in self.instead:
            self.instead[way](file)
            return
        status, told = self._do(received)
        if way not in self.lost:
            file.write(self._say(way, status, told))

    def _do(self, asked):
        """What is asked, in turn: the status and what is told."""
        method, target, _ = asked.line.split(" ")
        url = urlsplit(target)
        ways = {"POST /login": self._login, "POST /notes/edits": self._post, "GET /notes": self._find}
        try:
            with self._lock:
                way = ways.get(f"{method} {url.path}", self._nothing)
                return 200, way(asked, parse_qs(url.query, keep_blank_values=True))
        except Wrong as wrong:
            return wrong.status, wrong.told

    def _say(self, way, status, told):
        tables = {"POST /login": published.LOGIN_ANSWER, "POST /notes/edits": published.NOTE_EDIT_ANSWER}
        table = tables.get(way, published.NOTES_ANSWER) if status == 200 else published.ERROR
        if wrong := published.wrong_with(told, table):
            self.broken.append(f"{way}: {wrong}")
        kind = "Content-Type: application/json; charset=utf-8"
        return says(status, "Said", kind, "Connection: close", body=json.dumps(told).encode())

    def _nothing(self, asked, query):
        raise Wrong(404, "NotFoundError", "The url does not exist")

    def _login(self, asked, query):
        told = _checked(asked, published.LOGIN, ("id", "password"))
        person = self.people.get(told["id"])
        if person is None or person.password != told["password"]:
            raise Wrong(400, "Error", "Invalid username or password")
        if told["id"] in self.second_factor:
            return {"mfaPending": True, "mfaPendingToken": "later", "mfaMethods": ["totp"]}
        profile = {"id": person.profile, "fullname": person.profile.strip("~1").replace("_", " ")}
        return {"token": f"token-of-{told['id']}", "user": {"id": told["id"], "profile": profile}}

    def _who(self, asked):
        token = (asked.headers["Authorization"] or "").removeprefix("Bearer token-of-")
        if not asked.headers["Authorization"]:
            raise Wrong(403, "ChallengeRequiredError", "Please complete the challenge", url="/challenge")
        if token not in self.people:
            raise Wrong(401, "TokenExpiredError", "Token has expired. Please log in again.")
        return self.people[token]

    def _post(self, asked, query):
        person = self._who(asked)
        edit = _checked(asked, published.NOTE_EDIT, ("invitation", "signatures", "note"))
        note, invitation = edit["note"], edit["invitation"]
        if invitation not in self.invitations:
            raise Wrong(404, "NotFoundError", f"The Invitation {invitation} was not found")
        for signature in {*edit["signatures"], *note.get("signatures", [])} - set(person.signatures):
            raise Wrong(
                403, "ForbiddenError", f"{person.profile} cannot sign as {signature}", user=signature
            )
        for name, each in note.get("content", {}).items():
            if name not in self.invitations[invitation]:
                shown = each["value"]
                raise Wrong(
                    400, "AdditionalPropertiesError", f"The property {name} ({shown}) is not allowed"
                )
        if note.get("forum") not in self.forums or note.get("replyto") not in self._there():
            raise Wrong(400, "InvalidFieldError", "The forum or the note replied to does not exist")
        return self._taken(edit, person)

    def _there(self):
        return {*self.forums, *(note["id"] for note in self.notes)}

    def _taken(self, edit, person):
        now = max([self.clock_ms(), *(note["tcdate"] + 1 for note in self.notes)])
        dates = {"cdate": now, "mdate": now, "tcdate": now, "tmdate": now}
        stored = {**dates, **edit["note"], "id": f"note{len(self.notes):06}", "tcdate": now, "tmdate": now}
        stored |= {"invitations": [edit["invitation"]], "domain": VENUE, "version": 2}
        stored = {"readers": ["everyone"], "writers": [VENUE, *edit["signatures"]], **stored}
        self.notes.append(stored)
        taken = {**edit, **dates, "id": f"edit{len(self.edits):06}", "domain": VENUE, "note": stored}
        self.edits.append({**taken, "tauthor": person.profile})
        return taken

    def _find(self, asked, query):
        self._who(asked)
        if unknown := set(query) - published.QUERY:
            raise Wrong(400, "AdditionalPropertiesError", f"property {min(unknown)} must NOT be present")
        found = [note for note in self.notes if _meets(note, query)]
        order, _, way = query.get("sort", ["id"])[0].partition(":")
        found.sort(key=lambda note: note[order], reverse=way == "desc")
        if after := query.get("after"):
            found = [note for note in found if note["id"] > after[0]]
        offset, limit = int(query.get("offset", ["0"])[0]), min(int(query.get("limit", ["1000"])[0]), 1000)
        return {"count": len(found), "notes": found[offset : offset + limit]}


def _checked(asked, table, needed):
    if asked.headers["Content-Type"] != "application/json":
        raise Wrong(415, "Error", "the body must be application/json")
    try:
        told = json.loads(asked.body)
    except ValueError:
        raise Wrong(400, "SyntaxError", "the body is no JSON") from None
    if wrong := published.wrong_with(told, table, needed):
        raise Wrong(400, "ValidationError", wrong)
    return told


def _meets(note, query):
    asked = {name: values[0] for name, values in query.items()}
    wanted = {name: asked[name] for name in ("id", "forum", "replyto", "domain") if name in asked}
    return (
        all(note.get(name) == value for name, value in wanted.items())
        and asked.get("invitation", note["invitations"][0]) in note["invitations"]
        and asked.get("signature", note["signatures"][0]) in note["signatures"]
        and note["tcdate"] >= int(asked.get("mintcdate", 0))
    )
