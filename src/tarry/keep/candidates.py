"""A post on its way in: what can be done before the transaction that stamps and stores it.

Checks, hashes, draws and encryption happen here, so that tick closing and other admissions wait as briefly
as possible.
"""

import json
from typing import Literal, NamedTuple

from tarry.core.entropy import Entropy
from tarry.core.policy import Policy
from tarry.core.release import Draws, draw_pair
from tarry.keep.account_clock import clock_of
from tarry.keep.checks import check_post
from tarry.keep.keys import new_receipt, post_key, receipt_hash, under_receipt
from tarry.keep.posts import Post
from tarry.keep.vault import Vault

__all__ = ["Adoption", "Candidate", "Terms", "prepare"]


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
    clock: bytes | None  # hash of the account whose clock it goes by, if it needs one


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
        # In one person's own store every post is the owner's, who withdraws without a receipt too.
        pseudonym if vault.settings.personal else under_receipt(secret, pseudonym),
        draw_pair(terms.policy, post.target, post.track, entropy),
        vault.seal.shut(number, "content", post.content),
        vault.seal.shut(number, "options", options),
        body,
        clock_of(vault, post.outlet, post.options),
    )
