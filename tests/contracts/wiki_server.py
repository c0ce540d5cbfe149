"""A small wiki on this machine that behaves like MediaWiki's api.php for what the outlet asks of it.

It was written by hand from the documentation, and compared with a real MediaWiki. It is stricter than one:
a field that is missing, unknown or out of order is an error. Everything that it was sent is kept.
"""

import hashlib
import json
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from contracts.http_receiver import HttpReceiver, says

__all__ = ["PASSWORD", "Revision", "WikiServer", "error", "told"]

PASSWORD = "0123456789abcdef" * 2
_FIRST = ["action", "format", "formatversion"]
_FIELDS = {
    "token": [[*_FIRST, "meta", "type"]],
    "login": [[*_FIRST, "lgname", "lgpassword", "lgtoken"]],
    "look": [
        [
            *(*_FIRST, "assert", "meta", "prop", "titles", "rvprop", "rvuser", "rvlimit"),
            *("list", "ucprop", "ucuser", "uclimit", *more),
        ]
        for more in ([], ["continue", "rvcontinue"])
    ],
    "log": [[*_FIRST, "assert", "list", "leprop", "letype", "letitle", "lelimit"]],
    "edit": [
        [*_FIRST, "assert", "title", *section, "text", "summary", minor, *base, "watchlist", "md5", "token"]
        for section in ([], ["section", "sectiontitle"])
        for minor in ("minor", "notminor")
        for base in (["createonly", "starttimestamp"], ["nocreate", "baserevid"])
    ],
}


@dataclass(frozen=True)
class Revision:
    """One change of a page, and every byte of the visit that made it."""

    id: int
    user: str
    comment: str
    text: str
    minor: bool = False
    visit: tuple = field(default=(), compare=False)


def told(answer, *headers):
    """An answer of a wiki."""
    body = json.dumps(answer, ensure_ascii=False).encode()
    return says(200, "OK", "Content-Type: application/json; charset=utf-8", *headers, body=body)


def error(code, info="Some words."):
    """An error of a wiki, which is an answer like any other."""
    return told({"error": {"code": code, "info": info, "docref": "See the manual."}})


class WikiServer:
    """`trouble` is what it answers at a step instead: at "token", "login", "look", "log" or "edit"."""

    def __init__(self):
        self.pages, self.redirects, self.deleted = {}, set(), {}
        self.trouble, self.most_at_once, self.wrong = {}, 500, []
        self.meanwhile = lambda: None  # happens when an edit has come in, before it is looked at
        self.hangs_up_after_edit = False
        self._number, self._visits, self._user, self._began = 100, 0, None, 0
        self.receiver = HttpReceiver()
        self.receiver.answer = self._answer
        self.at = f"http://127.0.0.1:{self.receiver.port}/w/api.php"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Listen no more."""
        self.receiver.stop()

    def sent(self, begin=0):
        """Every byte of each request; the port of this server is no part of it."""
        here, anywhere = f"127.0.0.1:{self.receiver.port}".encode(), b"127.0.0.1:80"
        return [(each.head.replace(here, anywhere), each.body) for each in self.receiver.received[begin:]]

    def steps(self):
        """What was asked for, one after the other."""
        return [_step(dict(parse_qsl(each.body.decode()))) for each in self.receiver.received]

    def forms(self, step):
        """The forms of one kind that were sent."""
        sent = [dict(parse_qsl(each.body.decode(), True)) for each in self.receiver.received]
        return [form for form in sent if _step(form) == step]

    def write(self, title, text, user="Somebody", comment="", *, minor=False):
        """Somebody changes a page, here or over the API."""
        self._number += 1
        visit = tuple(self.sent(self._began)) if user != "Somebody" else ()
        self.pages.setdefault(title, []).append(Revision(self._number, user, comment, text, minor, visit))
        return self._number

    def delete(self, title, at="2030-01-01T00:00:00Z"):
        """Nobody sees the page and its revisions any more."""
        del self.pages[title]
        self.deleted[title] = at

    def move(self, title, to):
        """The revisions go along."""
        self.pages[to] = self.pages.pop(title)

    def made(self):
        """The changes that came over the API, with the title each has now."""
        changes = [(title, each) for title, page in self.pages.items() for each in page if each.visit]
        return sorted(changes, key=lambda change: change[1].id)

    def _answer(self, file, _stopping):
        request = self.receiver.received[-1]
        form = dict(pairs := parse_qsl(request.body.decode(), True))
        step = _step(form)
        if step == "token":
            self._began, self._user = len(self.receiver.received) - 1, None
        if [name for name, _ in pairs] not in _FIELDS[step] or "api.php HTTP" not in request.line:
            self.wrong.append((step, list(form)))
        if step == "edit":
            self.meanwhile()
        answer = self.trouble.get(step) or getattr(self, f"_{step}")(form, request.headers)
        if not (step == "edit" and self.hangs_up_after_edit):
            file.write(answer)

    def _token(self, form, _headers):
        self._visits += 1
        cookie = f"Set-Cookie: wiki_session=before{self._visits}; path=/; HttpOnly"
        old = "Set-Cookie: wiki_old=1; path=/"
        token = {"logintoken": f"login{self._visits}+\\"}
        return told({"batchcomplete": True, "query": {"tokens": token}}, cookie, old)

    def _login(self, form, headers):
        if headers["Cookie"] != f"wiki_session=before{self._visits}; wiki_old=1":
            return told({"login": {"result": "Failed", "reason": "There is no session."}})
        if form["lgtoken"] != f"login{self._visits}+\\":
            return told({"login": {"result": "WrongToken"}})
        name, _, bot = form["lgname"].partition("@")
        if (bot, form["lgpassword"]) != ("tarry", PASSWORD):
            return told({"login": {"result": "Failed", "reason": f"Incorrect password of {name}."}})
        self._user = name
        cookies = [f"Set-Cookie: wiki_session=in{self._visits}", "Set-Cookie: wiki_old=deleted; Max-Age=0"]
        return told({"login": {"result": "Success", "lguserid": 7, "lgusername": name}}, *cookies)

    def _is_in(self, headers):
        return self._user and headers["Cookie"] == f"wiki_session=in{self._visits}"

    def _look(self, form, headers):
        if not self._is_in(headers):
            return error("assertuserfailed")
        title, name = form["titles"].replace("_", " "), form["rvuser"]
        page = {"ns": 0, "title": title}
        revisions = self.pages.get(title, [])
        mine = [_told_revision(each) for each in reversed(revisions) if each.user == name]
        begin, most = int(form.get("rvcontinue", 0)), min(int(form["rvlimit"]), self.most_at_once)
        if not revisions:
            page["missing"] = True
        elif "rvcontinue" not in form:  # later answers do not repeat it
            page |= {"pageid": 1, "lastrevid": revisions[-1].id, "length": 1}
            page |= {"redirect": True} if title in self.redirects else {}
        if mine[begin : begin + most]:
            page["revisions"] = mine[begin : begin + most]
        others = [each for page in self.pages.values() for each in page if each.user == name]
        others.sort(key=lambda each: -each.id)
        answer = {
            "query": {"pages": [page], "usercontribs": [_told_revision(each) for each in others[:most]]}
        }
        if "rvcontinue" not in form:
            answer["query"]["tokens"] = {"csrftoken": f"edit{self._visits}+\\"}
        if len(mine) > begin + most:
            answer["continue"] = {"rvcontinue": str(begin + most), "continue": "||info|tokens"}
        return told(answer)

    def _log(self, form, headers):
        if not self._is_in(headers):
            return error("assertuserfailed")
        deleted = self.deleted.get(form["letitle"].replace("_", " "))
        return told({"query": {"logevents": [{"timestamp": deleted}] if deleted else []}})

    def _edit(self, form, headers):
        if not self._is_in(headers):
            return error("assertuserfailed")
        if form["token"] != f"edit{self._visits}+\\":
            return error("badtoken")
        if hashlib.md5(form["text"].encode(), usedforsecurity=False).hexdigest() != form["md5"]:
            return error("badmd5")
        title, summary = form["title"].replace("_", " "), form["summary"][:500].strip()
        page = self.pages.get(title, [])
        if refused := self._objection(form, title, page, summary):
            return error(refused)
        text = form["text"].rstrip().replace("\r\n", "\n")
        if form.get("section") == "new":
            text = f"{page[-1].text}\n\n== {form['sectiontitle']} ==\n\n{text}"
        if page and page[-1].text == text:
            return told({"edit": {"result": "Success", "nochange": True}})
        number = self.write(title, text, self._user, summary, minor="minor" in form)
        return told({"edit": {"result": "Success", "newrevid": number, "title": title}})

    def _objection(self, form, title, page, summary):
        if "createonly" in form and page:
            return "articleexists"
        if "nocreate" in form and not page:
            return "missingtitle"
        if "createonly" in form and self.deleted.get(title, "") > form["starttimestamp"]:
            return "pagedeleted"
        if "baserevid" in form and int(form["baserevid"]) != page[-1].id:
            again = (page[-1].user, page[-1].comment) == (self._user, summary)
            return "editconflict" if form.get("section") != "new" or again else None
        return None


def _step(form):
    if form["action"] == "query":
        return "token" if form.get("type") == "login" else "log" if "letitle" in form else "look"
    return form["action"]


def _told_revision(each):
    return {"revid": each.id, "user": each.user, "comment": each.comment}
