"""What a push is as a post: the same from the command and from the form on one's own page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.acts import options_in
from tarry.keep.gate import Gate
from tarry.keep.home import Home
from tarry.keep.posts import shown_id
from tarry.keep.store import Row
from tarry.places.git.outlet import unpublished, waiting_push

__all__ = ["make_post", "push_post"]

_SAME_BRANCH = ("remote", "branch")


def make_post(_home: Home, gate: Gate, said: Mapping[str, str]) -> dict[str, Any]:
    """The post that a filled form stands for.

    >>> make_post(None, None, {"repository": "mine"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the repository must be an absolute path, not 'mine': begin it with a / or ~
    """
    folder = Path(said.get("repository", ""))
    if folder.parts[:1] == ("~",):
        folder = Path.home().joinpath(*folder.parts[1:])
    if not folder.is_absolute():
        raise BadInput(
            f"the repository must be an absolute path, not {str(folder)!r}", "begin it with a / or ~"
        )
    if not folder.is_dir():
        raise BadInput(f"there is no folder {str(folder)!r}", "check how it is written")
    options = waiting_push(
        folder, said.get("remote", "origin"), said.get("branch"), redate="redate" in said
    )
    return push_post(gate, options)


def push_post(
    gate: Gate, options: dict[str, Any], target: str | None = None, *, ordered: bool = True
) -> dict[str, Any]:
    """A push as it is handed in; `ordered` puts it behind the last one of its branch that waits.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> push = {"repository": "/r", "address": "git.example:r", "redate": True}
    >>> push_post(Gate(memory_vault(policy), policy), push)["target"]
    'git.example:r'
    """
    target = target or options["address"]
    waiting = _waiting_pushes(gate, options["repository"])
    if not options["redate"]:
        _check_not_redated(waiting, options)
    earlier = [push for push in waiting if all(push.options[key] == options[key] for key in _SAME_BRANCH)]
    _check_earlier(earlier, target, options.get("commit"))
    post = {"target": target, "outlet": "git", "content": b"", "options": options}
    return {**post, "depends_on": _last(earlier)} if ordered else post


class _Push(NamedTuple):
    row: Row
    options: Mapping[str, Any]

    @property
    def id(self) -> str:
        return shown_id(self.row["id"])[:8]


def _waiting_pushes(gate: Gate, repository: str) -> list[_Push]:
    pushes = (
        _Push(row, options_in(gate, row["id"]))
        for row, status in gate.posts()
        if row["outlet"] == "git" and status.state == "waiting"
    )
    return [push for push in pushes if push.options.get("repository") == repository]


def _check_not_redated(waiting: Sequence[_Push], options: Mapping[str, Any]) -> None:
    """A commit that will be dated anew must not be published with its own date as well."""
    repository = options["repository"]
    mine = set(unpublished(repository, options["commit"]))
    for push in waiting:
        if push.options["redate"] and mine.intersection(unpublished(repository, push.options["commit"])):
            raise NotPossible(
                f"the waiting push {push.id} gives commits of this one new dates and names: "
                f"give --redate here too, or withdraw {push.id}"
            )


def _check_earlier(earlier: Sequence[_Push], target: str, commit: str | None) -> None:
    for push in earlier:
        if push.options["commit"] == commit:
            raise NotPossible(
                f"this commit waits already, as push {push.id}: withdraw that one to push it in another way"
            )
        if push.row["target"] != target:
            raise BadInput(
                f"a push must have the target of those of its branch that wait, not {target!r}",
                "give that target, or withdraw the waiting push",
            )


def _last(earlier: Sequence[_Push]) -> int | None:
    """The last waiting push of the same branch: its commits must not leave before it does."""
    above = {push.row["parent"] for push in earlier}
    return next((push.row["id"] for push in earlier if push.row["id"] not in above), None)
