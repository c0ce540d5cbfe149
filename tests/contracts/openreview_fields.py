"""The fields that OpenReview publishes for API 2, as far as a login and notes need them.

Taken as facts from the OpenAPI page in OpenReview's documentation (docs/.gitbook/assets/api.yml). What is
not on that page but is sent by its own client stands apart and says so.
"""

__all__ = [
    "ERROR",
    "LOGIN",
    "LOGIN_ANSWER",
    "NOTE",
    "NOTES_ANSWER",
    "NOTE_EDIT",
    "NOTE_EDIT_ANSWER",
    "QUERY",
]
__all__ += ["wrong_with"]


def text(value):
    return isinstance(value, str) and len(value) >= 1


def texts(value):
    return isinstance(value, list) and all(map(text, value))


def whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def date(value):
    return whole(value) and 0 <= value <= 9_999_999_999_999


def anything(value):
    return True


def content(value):
    """Each field is an object with a value, and perhaps with readers of its own."""
    return isinstance(value, dict) and all(
        isinstance(each, dict) and "value" in each and set(each) <= {"value", "readers"}
        for each in value.values()
    )


def some_of(table):
    return lambda value: isinstance(value, dict) and not wrong_with(value, table)


def list_of(table):
    return lambda value: isinstance(value, list) and not any(wrong_with(each, table) for each in value)


def wrong_with(told, table, needed=()):
    """The first thing that is wrong with an object, or nothing: no further properties are allowed."""
    if not isinstance(told, dict):
        return "it is no object"
    for name, value in told.items():
        if name not in table:
            return f"property {name} must NOT be present"
        if not table[name](value):
            return f"property {name} is not of its type"
    missing = [name for name in needed if name not in told]
    return f"property {missing[0]} must be present" if missing else ""


_DATES = dict.fromkeys(["cdate", "ddate", "mdate"], date)
_TRUE_DATES = dict.fromkeys(["tcdate", "tmdate"], date)
_GROUPS = dict.fromkeys(["readers", "nonreaders", "writers", "signatures"], texts)
_NOTE = {"id": text, "forum": text, "replyto": text, "license": text, "content": content}
_NOTE |= {**_DATES, "pdate": date, "odate": date, **_GROUPS}

LOGIN = {
    "id": text,
    "password": text,
    "expiresIn": lambda value: value is None or (whole(value) and value > 0),
}
_PROFILE = {"id": text, "fullname": text, "emails": texts, "preferredEmail": text, "usernames": texts}
_USER = {"id": text, "profile": some_of(_PROFILE)}
LOGIN_ANSWER = {
    "token": text,
    "user": some_of(_USER),
    # Not on the page; the client asks for them.
    "mfaPending": lambda value: value is True,
    "mfaPendingToken": text,
    "mfaMethods": texts,
    "preferredMethod": text,
}

#: What may be posted: the true dates are not among it.
NOTE_POST = _NOTE
NOTE_EDIT = {
    "id": text,
    "invitation": text,
    "tauthor": text,
    "content": anything,
    **_DATES,
    **_GROUPS,
    "replacement": lambda value: isinstance(value, bool),
    "note": some_of(NOTE_POST),
}

NOTE = {**_NOTE, **_TRUE_DATES, "invitations": texts, "number": whole, "domain": text}
NOTE |= {"version": lambda value: value in {1, 2}, "details": anything}
NOTE_EDIT_ANSWER = {**NOTE_EDIT, **_TRUE_DATES, "domain": text, "details": anything, "note": some_of(NOTE)}
NOTES_ANSWER = {"count": whole, "notes": list_of(NOTE), "fromCache": lambda value: isinstance(value, bool)}
ERROR = {"name": text, "message": text, "status": whole, "details": anything}

QUERY = {
    *(
        "id",
        "ids",
        "invitation",
        "invitations",
        "forum",
        "replyto",
        "number",
        "trash",
        "paperhash",
        "tauthor",
    ),
    *("writer", "signature", "transitiveMembers", "signatures", "original", "select", "details", "invitee"),
    *("mintcdate", "mintmdate", "duedate", "sort", "limit", "offset", "after", "cache", "domain"),
    "count",  # not on the page; the client sends it when it asks for all notes
}
