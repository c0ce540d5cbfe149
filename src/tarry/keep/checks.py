"""What may be admitted: refused at the door, while somebody reads why."""

from collections.abc import Mapping
from typing import Any

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Post
from tarry.keep.vault import Vault

__all__ = ["check_delivery", "check_period", "check_post"]

_MOST_CONTENT = 16 << 20
_MOST_NAME = 4096


def check_post(vault: Vault, post: Post) -> None:
    """Refuse a post that could never be delivered, or told from another.

    >>> from tarry.testing import memory_vault
    >>> post = Post(actor="", target="paper 3", outlet="list", content=b"I agree.")
    >>> check_post(memory_vault(Policy(epsilon="1", gap="11m")), post)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the actor of a post has 1 to 4096 characters and no NUL, found 0 characters
    """
    if (outlet := vault.outlets.get(post.outlet)) is None:
        known = ", ".join(vault.outlets) or "none"
        raise BadInput("an outlet", f"is one of {known}", found=repr(post.outlet))
    for what, name in (("actor", post.actor), ("target", post.target)):
        if not 0 < len(name) <= _MOST_NAME or "\0" in name:
            rule = f"has 1 to {_MOST_NAME} characters and no NUL"
            raise BadInput(f"the {what} of a post", rule, found=f"{len(name)} characters")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise BadInput(f"the {what} of a post", "is Unicode text", found="something else") from None
    check_delivery(outlet, post.options, post.content)


def check_delivery(outlet: Outlet, options: Mapping[str, Any], content: bytes) -> None:
    """Refuse what is too large to be kept, or what its outlet could never deliver.

    >>> from tarry.testing import ListOutlet
    >>> check_delivery(ListOutlet(), {}, b"I agree.")
    """
    if len(content) > _MOST_CONTENT:
        raise BadInput("the content of a post", "is at most 16 MiB", found=f"{len(content)} bytes")
    outlet.check(options)
    outlet.check_content(options, content)


def check_period(policy: Policy, tick: int) -> None:
    """Refuse what comes when the policy does not hold: outside its period it protects nobody.

    >>> check_period(Policy(epsilon="1", gap="11m", starts_at=60), tick=9)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the from of the policy has come, found a moment before it: wait for it
    """
    if policy.starts_at is policy.ends_at is policy.deadline_at is None:
        return
    at = tick * policy.tick
    if policy.starts_at is not None and at < policy.starts_at:
        raise _outside("from", "has come", "before it", "wait for it")
    for name, end in (("until", policy.ends_at), ("deadline", policy.deadline_at)):
        if end is not None and at > end:
            raise _outside(name, "has not passed", "after it", "renew the policy")


def _outside(name: str, rule: str, found: str, fix: str) -> BadInput:
    return BadInput(f"the {name} of the policy", rule, found=f"a moment {found}", fix=fix)
