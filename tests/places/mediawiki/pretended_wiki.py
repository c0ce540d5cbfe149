"""A small wiki that knows the part of the Action API that is read, and is strict about every parameter."""

import json
from dataclasses import dataclass, field

from net.loopback import Pretended, says

__all__ = ["PretendedWiki", "iso"]

ALWAYS = {"action": "query", "format": "json", "formatversion": "2", "maxlag": "5"}
ALLOWED = {
    "recentchanges": {"list", "rcprop", "rctype", "rclimit", "rcdir", "rcstart", "rcend", "rccontinue"},
    "categorymembers": {"list", "cmtitle", "cmprop", "cmtype", "cmlimit", "cmcontinue"},
    "revisions": {
        *("prop", "titles", "pageids"),
        *("rvprop", "rvlimit", "rvdir", "rvstart", "rvend", "rvcontinue"),
    },
}


def iso(second):
    """A second of the day on which this wiki lives."""
    return f"2024-05-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


@dataclass
class PretendedWiki(Pretended):
    """Edits as (second, title, user, flags); pages are known by their place among the titles, from 1."""

    edits: list
    members: dict = field(default_factory=dict)  # titles of each category
    spaces: dict = field(default_factory=dict)  # the namespace of a title, if it is not 0
    at_once: int = 3  # rows in one answer

    def tell(self, asked):
        """What it says to one request."""
        assert (asked.method, asked.path) == ("GET", "/api.php")
        assert asked.headers["user-agent"] == "tarry"
        question = dict(asked.query)
        for name, text in ALWAYS.items():
            assert question.pop(name) == text
        what = question.get("list") or question["prop"]
        known = ALLOWED[what] | {"continue"}
        assert question.keys() <= known, question.keys() - known
        tokens = [name for name in question if name.endswith("continue") and name != "continue"]
        assert ("continue" in question) == bool(tokens), "both or none are sent back"
        return says(getattr(self, f"_{what}")(question))

    @property
    def titles(self):
        """All pages, by their first edit."""
        return list(dict.fromkeys(edit[1] for edit in self.edits))

    def _piece(self, rows, question, prefix):
        """Some rows from where the last answer ended, and where the next one begins."""
        assert question[f"{prefix}limit"] == "max"
        place = int(question.get(f"{prefix}continue", "0").rpartition("|")[2])
        rest = rows[place:]
        more = {f"{prefix}continue": f"x|{place + self.at_once}", "continue": "-||"}
        ending = {"continue": more} if len(rest) > self.at_once else {"batchcomplete": True}
        return rest[: self.at_once], ending

    def _within(self, question, prefix):
        assert question[f"{prefix}dir"] == "newer"
        first, last = question.get(f"{prefix}start", ""), question.get(f"{prefix}end", "9")
        rows = sorted(self.edits, key=lambda edit: edit[0])
        return [edit for edit in rows if first <= iso(edit[0]) <= last]

    def _recentchanges(self, question):
        assert question["rcprop"] == "user|title|ids|timestamp|flags"
        assert question["rctype"] == "edit|new"
        rows, ending = self._piece(self._within(question, "rc"), question, "rc")
        told = [
            {"type": "edit", "ns": self.spaces.get(title, 0), "title": title, "bot": False, "minor": False}
            | self._edit(second, user, flags)
            for second, title, user, flags in rows
        ]
        return ending | {"query": {"recentchanges": told}}

    def _categorymembers(self, question):
        assert (question["cmprop"], question["cmtype"]) == ("ids", "page")
        titles = self.members.get(question["cmtitle"], [])
        rows, ending = self._piece(titles, question, "cm")
        return ending | {"query": {"categorymembers": [{"pageid": self._id(title)} for title in rows]}}

    def _revisions(self, question):
        assert question["rvprop"] == "ids|timestamp|user|flags"
        assert ("titles" in question) != ("pageids" in question)
        if "|" in json.dumps([question.get("titles"), question.get("pageids")]):
            return {"error": {"code": "rvmultpages", "info": "no"}}
        place = int(question["pageids"]) if "pageids" in question else self._id(question["titles"])
        if not 0 < place <= len(self.titles):
            return {"batchcomplete": True, "query": {"pages": [{"pageid": place, "missing": True}]}}
        title = self.titles[place - 1]
        edits = [edit for edit in self._within(question, "rv") if edit[1] == title]
        rows, ending = self._piece(edits, question, "rv")
        page = {"pageid": place, "ns": self.spaces.get(title, 0), "title": title}
        if rows:
            page["revisions"] = [self._edit(second, user, flags) for second, _, user, flags in rows]
        return ending | {"query": {"pages": [page]}}

    def _id(self, title):
        title = title[:1].upper() + title[1:].replace("_", " ")
        return self.titles.index(title) + 1 if title in self.titles else 999

    @staticmethod
    def _edit(second, user, flags):
        return {"user": user, "timestamp": iso(second), "revid": second} | flags
