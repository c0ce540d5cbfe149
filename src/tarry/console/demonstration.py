"""A demonstration: a made-up evening of posts that have appeared already, each after a random delay."""

from collections.abc import Sequence
from fractions import Fraction

from tarry.console.board import name_on
from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.plan_release import plan_release
from tarry.gateway.feed import FeedOutlet
from tarry.gateway.gateway import Gateway
from tarry.keep.posts import Release

__all__ = ["EVENING", "fill_with_an_evening"]


#: Who says what where, in the order in which they sat down to write. Acts of one person come in batches.
EVENING: tuple[tuple[str, str, str], ...] = (
    ("mira", "Paper 12: counting birds by ear", "The method is sound, and the data is a joy to read."),
    ("mira", "Paper 31: a cheaper tide gauge", "I could not find how the gauge was calibrated in winter."),
    ("odd", "Paper 12: counting birds by ear", "Section 3 needs a control without microphones."),
    ("tom", "Paper 7: sleep and chess", "Forty players are few. Is there a reason not to ask the league?"),
    ("tom", "Paper 31: a cheaper tide gauge", "Winter is in the appendix, page 19. It could come earlier."),
    ("tom", "Paper 12: counting birds by ear", "A control was done in the pilot; they should say so."),
    ("ines", "Paper 7: sleep and chess", "The effect halves without the three strongest players."),
    ("ines", "Paper 44: maps for the blind", "This is the best paper in my pile. Accept."),
    ("odd", "Paper 44: maps for the blind", "I would like to touch one before I say more."),
    ("odd", "Paper 7: sleep and chess", "Then the title promises too much."),
    ("mira", "Paper 44: maps for the blind", "There is a sample in the office, third drawer."),
    ("lev", "Paper 31: a cheaper tide gauge", "Cheaper by how much? The table mixes currencies."),
    ("lev", "Paper 12: counting birds by ear", "Fine with me, after the control is mentioned."),
    ("ines", "Paper 31: a cheaper tide gauge", "Euros throughout, says the author's reply. Good enough."),
)
_MINUTES = (0, 2, 9, 15, 17, 18, 26, 28, 39, 41, 52, 63, 64, 75)
_BACK_S = 3 * 3600


def fill_with_an_evening(gateway: Gateway, space: str, *, seed: int = 1) -> int:
    """Write a made-up evening to a feed that is empty, delayed by the space's policy; the number of posts.

    Nobody ever sent these posts: they are drawn, and written straight to the feed.

    >>> from tarry.gateway.testing import small_gateway
    >>> fill_with_an_evening(small_gateway(), "talk")
    14
    """
    with gateway.store.transaction("closing") as transaction:
        last = transaction.one("last_position", space=space)
        if last is not None and last["position"]:
            return 0
        start_s = gateway.vault.now(transaction) // 1_000_000 - _BACK_S
        policy = gateway.catalog.space(space).version.policy
        history = History(
            actor=[actor for actor, _, _ in EVENING],
            target=[target for _, target, _ in EVENING],
            time=[start_s + 60 * minutes for minutes in _MINUTES],
            unit=Fraction(1),
        )
        ticks = [int(tick) for tick in plan_release(policy, history, Seeded(seed)).release]
        FeedOutlet(space).record(transaction, _released(gateway, space, ticks, policy.tick))
    return len(EVENING)


def _released(gateway: Gateway, space: str, ticks: Sequence[int], tick: Fraction) -> list[Release]:
    """In the order of release; posts of one tick by their text, so that nothing tells who wrote first."""
    order = sorted(range(len(EVENING)), key=lambda n: (ticks[n], EVENING[n][2]))
    return [
        Release(
            id=gateway.keys.public_id(-1 - n),
            target=target,
            content=text.encode(),
            options={"by": name_on(gateway.keys, actor, space, target)},
            at=ticks[n] * tick,
        )
        for n, (actor, target, text) in ((n, EVENING[n]) for n in order)
    ]
