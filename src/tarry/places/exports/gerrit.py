"""What Gerrit tells of changes and their reviews: over ssh (`gerrit query`) and over its REST API.

One act shows in several places: a vote is an approval and a message, an upload a patch set and a message.
What one account did to one change in one second therefore counts once.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import unquote

from tarry.core.errors import BadInput
from tarry.readers.events import Event, Stream
from tarry.readers.exports import Fields, as_object, event_of, is_bot_name, json_stream_of, read_fields
from tarry.readers.faults import clip
from tarry.readers.moments import counted_us, moment_us
from tarry.readers.sources import Paths

__all__ = ["read_gerrit"]

_PREFIX = ")]}'"  # before every answer of the REST API
_NOTES = (
    "a draft comment is dated to its publication; one not yet published carries the time it was written",
    "what one account did to one change within a second counts as one act",
)
_ACCOUNT = ("_account_id", "username", "email", "name")  # which of them there are depends on the server
_SERVER = "Gerrit Code Review"  # its own messages, in what `gerrit query` prints
_NO_NAME = "comments of a change that is not told: name it with --change project~number"
_MORE = "the server has more changes than this export: go on with --start"
_query_us = partial(counted_us, unit="s")
_rest_us = partial(moment_us, bare_is_utc=True)


class _Act(NamedTuple):
    """Somebody who did something, not yet checked."""

    account: Any
    time: Any  # as it is written
    tag: Any = None  # what the server calls a message that a program wrote


def read_gerrit(path: Paths, *, change: str | None = None) -> Stream:
    r"""Read lines of `gerrit query --format=JSON --comments --all-approvals`, or answers of the REST API.

    Of the REST API these are changes, best asked for with `o=MESSAGES`, and comments by path. An answer
    that has only comments does not say of which change: `change` then names it (`project~number`).
    The target is `project~number`, the track the project. If the last answer says that there is more on the
    server, the stream has a note about it in the end.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "changes.json"
    ...     _ = path.write_text(
    ...         '{"project": "tools/demo", "number": 7, "comments": [{"timestamp": 1714557600, '
    ...         '"reviewer": {"username": "ann"}}]}\n{"type": "stats", "rowCount": 1}\n'
    ...     )
    ...     list(read_gerrit(path))
    [Event(actor='ann', target='tools/demo~7', time=1714557600000000, track='tools/demo', is_bot=False)]
    """
    named, notes = None if change is None else _checked(change), list(_NOTES)

    def convert(answer: Fields) -> Iterable[Event | str]:
        notes[len(_NOTES) :] = [_MORE] if _has_more(answer, before=len(notes) > len(_NOTES)) else []
        return _events(answer, named)

    return json_stream_of(path, "the Gerrit export", convert, notes=notes, prefix=_PREFIX)


def _checked(change: str) -> str:
    """A change as addresses and people write it; its number alone would put it into no project."""
    if not re.fullmatch(r".+~[0-9]+", change):
        raise BadInput(
            f"--change must be project~number, not {clip(change)!r}", "write it as tools/demo~4247"
        )
    return unquote(change)


def _has_more(answer: Fields, *, before: bool) -> bool:
    """Whether the server has more, as far as is known: what follows an answer that said so goes on."""
    if answer.get("type") == "stats":
        return answer.get("moreChanges") is True
    return answer.get("_more_changes") is True if "project" in answer else before


def _events(answer: Fields, change: str | None) -> Iterable[Event | str]:
    project, number = answer.get("project"), answer.get("_number", answer.get("number"))
    if isinstance(project, str) and isinstance(number, int | str):
        target = f"{project}~{number}"
        if "_number" in answer:
            return _distinct(_of_rest(answer), target, project, _rest_us)
        return _distinct(_of_query(answer), target, project, _query_us)
    if not answer or (answer.get("type") == "stats" and "rowCount" in answer):
        return ()
    if change is not None and _is_comments(answer):
        return _distinct(_of_comments(answer), change, change.rpartition("~")[0], _rest_us)
    if answer.get("type") == "error":
        return ("an error that Gerrit answered",)
    return (_NO_NAME if _is_comments(answer) else "no change: it has neither a project nor a number",)


def _distinct(
    acts: Iterable[_Act], target: str, track: str, read: Callable[[Any], int]
) -> Iterator[Event | str]:
    """The acts on one change in the order of time, and the reasons why some are none."""
    events: dict[tuple[str, int], Event] = {}
    for act in acts:
        actor = next((str(act.account[key]) for key in _ACCOUNT if read_fields(act.account, key)), "")
        event = event_of(actor, target, act.time, track, is_bot=_is_bot(act), read=read)
        if isinstance(event, str):
            yield event if actor else "the account has no number, name or address"
            continue
        key = actor, event.time // 1_000_000
        before = events.get(key, event)
        first, is_bot = min(before.time, event.time), before.is_bot or event.is_bot
        events[key] = event._replace(time=first, is_bot=is_bot)
    yield from sorted(events.values(), key=lambda event: event.time)


def _is_bot(act: _Act) -> bool:
    """Gerrit's own tags are of what people do in its pages; those of other programs are theirs."""
    tags = read_fields(act.account, "tags")
    names = (read_fields(act.account, key) for key in _ACCOUNT[1:])
    tag = act.tag if isinstance(act.tag, str) else ""
    return (
        read_fields(act.account, "name") == _SERVER
        or (isinstance(tags, list) and "SERVICE_USER" in tags)
        or (tag.startswith("autogenerated:") and not tag.startswith("autogenerated:gerrit:"))
        or is_bot_name(*(name for name in names if isinstance(name, str)))
    )


def _of_query(answer: Fields) -> Iterator[_Act]:
    """A line of `gerrit query`: accounts in full, times in seconds. Line comments have no time there."""
    yield from _made(answer, "owner", "createdOn")
    for message in _list(answer.get("comments")):
        yield _Act(message.get("reviewer"), message.get("timestamp"))
    for patch_set in (*_list(answer.get("patchSets")), *_list([answer.get("currentPatchSet")])):
        yield from _made(patch_set, "uploader", "createdOn")
        for approval in _list(patch_set.get("approvals")):
            yield _Act(approval.get("by"), approval.get("grantedOn"))


def _of_rest(answer: Fields) -> Iterator[_Act]:
    """A change of the REST API: how much of it there is depends on what was asked for."""
    yield from _made(answer, "owner", "created")
    for message in _list(answer.get("messages")):
        if "author" in message:  # others were written by the server
            yield _Act(message["author"], message.get("date"), message.get("tag"))
    for revision in map(as_object, as_object(answer.get("revisions")).values()):
        yield from _made(revision, "uploader", "created")
    for label in map(as_object, as_object(answer.get("labels")).values()):
        for vote in _list(label.get("all")):
            if vote.get("value") and "date" in vote:
                yield _Act(vote, vote["date"])
    if _is_comments(answer.get("comments")):
        yield from _of_comments(answer["comments"])


def _made(thing: Fields, who: str, when: str) -> list[_Act]:
    """That somebody made a thing, if it says who."""
    return [_Act(thing[who], thing.get(when))] if who in thing else []


def _of_comments(answer: Fields) -> Iterator[_Act]:
    for comments in answer.values():
        for comment in _list(comments):
            yield _Act(comment.get("author"), comment.get("updated"), comment.get("tag"))


def _is_comments(answer: object) -> bool:
    """Whether these are lists of comments by the path of their file."""
    if not isinstance(answer, dict) or not all(isinstance(value, list) for value in answer.values()):
        return False
    return all("updated" in comment for comments in answer.values() for comment in _list(comments))


def _list(answer: object) -> list[Fields]:
    return [value for value in answer if isinstance(value, dict)] if isinstance(answer, list) else []
