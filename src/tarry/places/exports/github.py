"""What GitHub answers about reviews, comments, issues and pull requests, and its public events."""

import re
from collections.abc import Iterator

from tarry.readers.events import Event, Stream
from tarry.readers.exports import Fields, event_of, is_bot_name, json_stream_of, read_fields
from tarry.readers.sources import Paths

__all__ = ["read_github"]

_NOTES = (
    (
        "a line comment carries the time it was written, also one that waited in a pending review:"
        " delaying the submission of the review does not hide it"
    ),
    "times have a resolution of one second",
)
_ERROR = "an error that GitHub answered"
_INCOMPLETE = "the export is incomplete: in place of some of it GitHub answered an error"
_CUT_OFF = "the export is incomplete: GitHub says that a search took too long and was cut off"
# Where a thing belongs; the last two are the addresses of the thing itself.
_PLACES = ("pull_request_url", "issue_url", "html_url", "url")
_PLACE = re.compile(
    r"https?://[^/]+/(?:.*/)?(?:repos/)?([^/]+/[^/]+)/(?:pulls?|issues)/([0-9]+)(?:[/#?].*)?"
)


def read_github(path: Paths) -> Stream:
    """Read reviews, comments, issues and pull requests of GitHub's REST API, or events of its timeline.

    The file holds one array, several one after the other (as `gh api --paginate` prints) or an object a
    line, packed or not, in any mixture. The target is `owner/repository#number`, the track
    `owner/repository`. If GitHub says among them that something is missing, the stream has a note about it
    in the end.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reviews.json"
    ...     _ = path.write_text(
    ...         '[{"user": {"login": "ann", "type": "User"}, "submitted_at": "2024-05-01T10:00:00Z", '
    ...         '"pull_request_url": "https://api.github.com/repos/o/r/pulls/12"}]'
    ...     )
    ...     list(read_github(path))
    [Event(actor='ann', target='o/r#12', time=1714557600000000, track='o/r', is_bot=False)]
    """
    notes = list(_NOTES)

    def convert(item: Fields) -> Iterator[Event | str]:
        for event in _events(item):
            if event == _ERROR and _INCOMPLETE not in notes:
                notes.append(_INCOMPLETE)
            yield event
        if item.get("incomplete_results") is True and _CUT_OFF not in notes:
            notes.append(_CUT_OFF)

    return json_stream_of(path, "the GitHub export", convert, notes=notes)


def _events(item: Fields) -> Iterator[Event | str]:
    is_search = isinstance(item.get("items"), list) and "total_count" in item
    for each in item["items"] if is_search else [item]:
        yield _event(each) if isinstance(each, dict) else "not a JSON object"


def _event(item: Fields) -> Event | str:
    is_public_event = "actor" in item and "repo" in item
    user = item.get("actor") if is_public_event else item.get("user")
    if not is_public_event and "user" not in item:
        is_error = isinstance(item.get("message"), str) and "documentation_url" in item
        return _ERROR if is_error else "no review, comment, issue, pull request or event"
    login = read_fields(user, "login")
    if user is None or login == "ghost":  # whom GitHub shows for all deleted ones
        return "the user is deleted"
    if not isinstance(login, str) or not login:
        return "the user has no login"
    place = _public_place(item) if is_public_event else _place(item)
    if place is None:
        return "it has neither a repository nor a number"
    # A review has a time of its own, which it lacks as long as it is pending.
    time = item.get("submitted_at", item.get("created_at"))
    is_bot = read_fields(user, "type") == "Bot" or is_bot_name(login)
    event = event_of(login, place[0], time, place[1], is_bot=is_bot)
    is_pending = isinstance(event, str) and item.get("state") == "PENDING"
    return "a pending review, which has no time yet" if is_pending else event


def _place(item: Fields) -> tuple[str, str] | None:
    """The target and its repository, by the addresses that an object of the REST API has."""
    places = (_PLACE.fullmatch(str(item.get(name))) for name in _PLACES)
    place = next(filter(None, places), None)
    return (f"{place[1]}#{place[2]}", place[1]) if place else None


def _public_place(item: Fields) -> tuple[str, str] | None:
    """The target and its repository, as an event of the public timeline tells them."""
    repository, payload = read_fields(item, "repo", "name"), item.get("payload")
    if not isinstance(repository, str) or not repository:
        return None
    numbers = (
        read_fields(payload, "issue", "number"),
        read_fields(payload, "pull_request", "number"),
        read_fields(payload, "number"),
    )
    number = next((number for number in numbers if isinstance(number, int)), None)
    return (repository if number is None else f"{repository}#{number}"), repository
