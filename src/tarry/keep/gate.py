"""The gate: admit, and all that a receipt allows. Decisions, without a door of any kind.

A post is accepted in one transaction that stores its draws with it; from then on its label alone decides
when it leaves.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tarry.core.entropy import Entropy, Secure
from tarry.core.errors import TarryError
from tarry.core.policy import Policy
from tarry.keep.admission import accept
from tarry.keep.candidates import Candidate, Terms, prepare
from tarry.keep.errors import TooLate, Unavailable
from tarry.keep.posts import Post, Receipt
from tarry.keep.receipts import Receipts, by_key, last_state, payload_of
from tarry.keep.vault import Vault

if TYPE_CHECKING:
    from tarry.keep.store import Kind

__all__ = ["Gate"]


class Gate(Receipts):
    """The decisions of one store under one policy.

    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m", window="5m")
    >>> gate = Gate(memory_vault(policy), policy)
    >>> receipt = gate.admit(Post(actor="ann", target="paper 3", outlet="list", content=b"I agree."))
    >>> gate.withdraw(receipt.secret).state
    'withdrawn'
    """

    def __init__(self, vault: Vault, policy: Policy, entropy: Entropy | None = None) -> None:
        super().__init__(vault)
        vault.settings.check(policy)
        self.policy = policy
        self._terms = Terms(policy, "" if policy.starts_at is None else str(policy.starts_at))
        self._entropy = entropy or Secure()
        # In one person's own store an admission closes ticks too, which happens alone.
        self._admitting: Kind = "closing" if vault.settings.personal else "admitting"

    def admit(self, post: Post) -> Receipt:
        """Accept a post: when this returns, it is stored and will leave at its tick."""
        return self._admit([prepare(self.vault, self._terms, self._entropy, post)])[0]

    def admit_many(self, posts: Sequence[Post]) -> list[Receipt]:
        """Accept several posts at once, all or none of them."""
        return self._admit([prepare(self.vault, self._terms, self._entropy, post) for post in posts])

    def _admit(self, candidates: list[Candidate]) -> list[Receipt]:
        receipts: list[Receipt] = []
        try:
            with self.vault.store.transaction(self._admitting) as transaction:
                receipts = _or_raise(accept(transaction, self.vault, [candidates])[0])
        except Unavailable as trouble:
            if receipts and self._is_there(receipts[0], trouble):
                return receipts
            raise
        return receipts

    def _is_there(self, receipt: Receipt, trouble: Unavailable) -> bool:
        """Whether a post was accepted although the store could not say so any more."""
        try:
            return self.key_of(receipt.secret) is not None
        except Unavailable:
            raise Unavailable(f"{trouble}; the post may or may not have been accepted") from trouble

    def repeat_post(
        self, post: int, actor: str, *, track: str | None = None, more_to_come: bool = False
    ) -> Receipt:
        """Admit a parked post anew, by its key, as an act of this moment.

        It waits again like any other: leaving at once would show when its owner was at the keyboard. Its
        track, and whether more will come, are not stored, and are asked for again.
        """
        with self.vault.store.transaction("reading") as transaction:
            row = by_key(transaction, post)
            if row["state"] != "parked":
                raise TooLate(last_state(row))
            content = self.vault.seal.open(post, "content", payload_of(transaction, row)["content"])
            options = self._options(transaction, row)
        again = Post(
            actor=actor,
            target=row["target"],
            outlet=row["outlet"],
            content=content,
            options=options,
            track=track,
            more_to_come=more_to_come,
            depends_on=row["parent"],
        )
        candidate = prepare(self.vault, self._terms, self._entropy, again)
        with self.vault.store.transaction(self._admitting) as transaction:
            # Gone, not withdrawn: its own release is past, and the new act draws for itself.
            if not transaction.run("drop_parked", id=post):
                raise TooLate("not parked any more")
            receipt = _or_raise(accept(transaction, self.vault, [[candidate]])[0])[0]
            transaction.tell("adopt_children", id=post, heir=receipt.post)
            return receipt

    def batched_acts(self, actor: str) -> int:
        """How many batched acts the ledger has counted for an actor in this policy's period."""
        keys, period = self.vault.keys, self._terms.period
        with self.vault.store.transaction("reading") as transaction:
            row = transaction.one("account", account=keys.account(keys.actor(actor)), period=period)
        return 0 if row is None else int(row["batched"])


def _or_raise(answer: list[Receipt] | TarryError) -> list[Receipt]:
    if isinstance(answer, TarryError):
        raise answer
    return answer
