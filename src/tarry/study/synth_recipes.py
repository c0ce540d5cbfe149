"""Recipes of made-up histories: how many people act on how much, and in what manner."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tarry.core.errors import BadInput

__all__ = ["RECIPES", "Recipe", "check_whole"]

_MOST = 100_000_000  # a larger table than this fits no single machine anyway
_DAY = 86_400_000_000  # microseconds


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Refuse what is no whole number, or one out of range.

    >>> check_whole("the seed", 1.5, 0, 9)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the seed must be a whole number from 0 to 9, not 1.5
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadInput(f"{name} must be a whole number from {low} to {high}, not {value!r}")


def _check_number(name: str, value: object, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise BadInput(f"{name} must be a number from {least} to {most}, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a made-up history is like. The default is a month of a small wiki.

    People act in sessions: one act, or several with short gaps between them. A session of several
    acts either stays on one target or is a burst over several. Bots act steadily at all hours.

    >>> Recipe(events=100, bots=0).days
    30
    >>> Recipe(days=0)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: days must be a whole number from 1 to 3660, not 0
    """

    events: int = 20_000  # exactly so many, bots' included
    actors: int = 500  # people and bots together; all act if there are events enough
    targets: int = 300  # all are acted on if there are events enough
    days: int = 30  # the length of the history
    starts_at: int = 1_704_067_200_000_000  # microseconds since 1970 (a Monday, 00:00 UTC)
    resolution: int = 1_000_000  # microseconds: times are cut to multiples of it after `starts_at`
    bots: int = 2  # how many of the actors are bots
    bot_share: float = 0.2  # share of the events that the bots make, if there are any
    acts: float = 3.0  # mean number of acts in a session
    bursts: float = 0.4  # share of the sessions of two or more acts that move over several targets
    burst_gap: float = 60.0  # mean seconds between two acts of a session
    actor_skew: float = 1.1  # how unequally busy people are: the exponent of a Zipf law, 0 for equal
    target_skew: float = 0.9  # how unequally popular targets are, likewise
    circle: int = 0  # how many targets one person keeps to, 0 for all
    zones: float = 3.0  # how far people's time zones spread around UTC: standard deviation in hours
    rush: float = 0.0  # how many times the usual number of sessions the deadline at the end adds

    def __post_init__(self) -> None:
        for name, low, high in (
            ("events", 1, _MOST),
            ("actors", 1, _MOST),
            ("targets", 1, _MOST),
            ("days", 1, 3_660),
            ("starts_at", 0, 7_258_118_400_000_000),
            ("resolution", 1, _DAY),
            ("bots", 0, _MOST),
            ("circle", 0, 100),
        ):
            check_whole(name, getattr(self, name), low, high)
        for name, least, most in (
            ("bot_share", 0, 1),
            ("acts", 1, 1_000),
            ("bursts", 0, 1),
            ("burst_gap", 0, 3_600),
            ("actor_skew", 0, 5),
            ("target_skew", 0, 5),
            ("zones", 0, 12),
            ("rush", 0, 1_000),
        ):
            _check_number(name, getattr(self, name), least, most)
        if self.bots >= self.actors:
            raise BadInput(
                f"bots must leave at least one person among {self.actors} actors, not {self.bots}",
                "give more actors or fewer bots",
            )

    @property
    def people(self) -> int:
        """How many of the actors are no bots.

        >>> Recipe(actors=5, bots=2).people
        3
        """
        return self.actors - self.bots

    @property
    def span(self) -> int:
        """The length of the history in microseconds.

        >>> Recipe(days=1).span
        86400000000
        """
        return self.days * _DAY


#: Recipes by name. Sizes and habits are near those of real, public histories of the kind.
RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        # Threads of a forum: a quarter of a year, few bursts over several threads.
        "forum": Recipe(
            events=5_000, actors=400, targets=600, days=90, bots=0, acts=1.6, bursts=0.2, burst_gap=150.0
        ),
        "wiki": Recipe(),
        # Reviewers of a conference, each with a few papers, most of them late.
        "review": Recipe(
            events=6_000,
            actors=400,
            targets=250,
            days=28,
            bots=0,
            acts=2.5,
            bursts=0.7,
            burst_gap=120.0,
            actor_skew=0.3,
            target_skew=0.2,
            circle=5,
            zones=5.0,
            rush=12.0,
        ),
        # The size of a month of the English Wikipedia.
        "wikipedia": Recipe(
            events=3_500_000,
            actors=326_000,
            targets=1_000_000,
            bots=20,
            bot_share=0.1,
            acts=2.5,
            bursts=0.3,
            actor_skew=1.0,
            zones=5.0,
        ),
    }
)
