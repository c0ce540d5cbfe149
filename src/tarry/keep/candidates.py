"""A post on its way in: what can be done before the transaction that stamps and stores it.

Checks, hashes, draws and encryption happen here, so that tick closing and other admissions wait as briefly
as possible.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from tarry.core.entropy import Entropy
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.release import Draws, draw_pair
from tarry.keep.clock import moment
from tarry.keep.keys import new_receipt, post_key, receipt_hash
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Post
from tarry.keep.vault import Vault

__all__ = ["Adoption", "Candidate", "Terms", "check_delivery", "check_period", "check_post", "prepare"]

_MOST_CONTENT = 16 << 20
_MOST_NAME = 4096


#: Whose posts are delayed: everyone's, those of accounts that did not opt out, or of those that opted in.
Adoption = Literal["everyone", "opt-out", "opt-in"]


class Terms(NamedTuple):
    """What a post is admitted under, beside what its author says.

    >>> Terms(Policy(epsilon="1", gap="11m")).period
    ''
    """

    policy: Policy
    period: str = ""  # what the ledger counts this under
    first_tick: int = 0  # nothing is admitted under these terms before it
    adoption: Adoption = "everyone"  # whose posts are delayed; the others' still count for labels
    is_open: bool = True  # False: nothing new is admitted under these terms for now


class Candidate(NamedTuple):
    """A post on its way in: checked, hashed, drawn and sealed.

    >>> Candidate._fields[:2]
    ('post', 'terms')
    """

    post: Post
    terms: Terms
    id: int
    secret: str
    receipt: bytes
    actor: bytes
    pseudonym: bytes
    sealed: bytes  # the pseudonym as it is stored while the post waits
    draws: Draws[int]
    content: bytes
    options: bytes
    body: bytes | None  # hash of a request that may come again


def prepare(
    vault: Vault,
    terms: Terms,
    entropy: Entropy,
    post: Post,
    *,
    secret: str | None = None,
    body: bytes | None = None,
) -> Candidate:
    """Do all that can be done before the transaction.

    A request that may come again brings the `secret` of its receipt, always the same, and a hash of its
    `body`.

    >>> from tarry.core.entropy import Secure
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> post = Post(actor="ann", target="paper 3", outlet="list", content=b"I agree.")
    >>> prepare(memory_vault(policy), Terms(policy), Secure(), post).options
    b'{}'
    """
    check_post(vault, post)
    secret = secret or new_receipt()
    hashed = receipt_hash(secret)
    number = post_key(hashed)
    options = json.dumps(dict(post.options), sort_keys=True).encode() if post.options else b"{}"
    # No name of a target has a NUL in it: two places and targets never read alike.
    target = f"{post.space}\0{post.target}" if post.space else post.target
    pseudonym = vault.keys.pseudonym(post.actor, target)
    return Candidate(
        post,
        terms,
        number,
        secret,
        hashed,
        vault.keys.actor(post.actor),
        pseudonym,
        vault.settings.sharing.seal_pseudonym(secret, pseudonym),
        draw_pair(terms.policy, post.target, post.track, entropy),
        vault.seal.shut(number, "content", post.content),
        vault.seal.shut(number, "options", options),
        body,
    )


def check_post(vault: Vault, post: Post) -> None:
    """Refuse a post that could never be delivered, or told from another.

    >>> from tarry.testing import memory_vault
    >>> post = Post(actor="", target="paper 3", outlet="list", content=b"I agree.")
    >>> check_post(memory_vault(Policy(epsilon="1", gap="11m")), post)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: actor must have 1 to 4096 characters, not 0
    """
    if (outlet := vault.outlets.get(post.outlet)) is None:
        raise BadInput(f"unknown outlet {post.outlet!r}", f"use {', '.join(vault.outlets) or 'none'}")
    for what, name in (("actor", post.actor), ("target", post.target)):
        if not 0 < len(name) <= _MOST_NAME:
            raise BadInput(f"{what} must have 1 to {_MOST_NAME} characters, not {len(name)}")
        if "\0" in name:
            raise BadInput(f"{what} must not contain a NUL character", "leave it out")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{what} must be Unicode text", "leave out what is not") from None
    check_delivery(outlet, post.options, post.content)


def check_delivery(outlet: Outlet, options: Mapping[str, Any], content: bytes) -> None:
    """Refuse what is too large to be kept, or what its outlet could never deliver.

    >>> from tarry.testing import ListOutlet
    >>> check_delivery(ListOutlet(), {}, b"I agree.")
    """
    if len(content) > _MOST_CONTENT:
        raise BadInput(f"content must have at most 16 MiB, not {len(content)} bytes")
    outlet.check(options)
    outlet.check_content(options, content)


def check_period(policy: Policy, tick: int) -> None:
    """Refuse what comes when the policy does not hold: outside its period it protects nobody.

    >>> check_period(Policy(epsilon="1", gap="11m", starts_at=60), tick=9)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the policy holds from 1970-01-01T00:01:00Z on: wait until then
    """
    if policy.starts_at is policy.ends_at is policy.deadline_at is None:
        return
    at = tick * policy.tick
    if policy.starts_at is not None and at < policy.starts_at:
        raise BadInput(f"the policy holds from {moment(policy.starts_at)} on", "wait until then")
    for name, end in (("until", policy.ends_at), ("deadline", policy.deadline_at)):
        if end is not None and at > end:
            raise BadInput(f"the {name} of the policy, {moment(end)}, has passed", "renew the policy")
