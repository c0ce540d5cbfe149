"""Baselines: the timing habits of other systems, replayed and attacked like our own policies."""

from collections.abc import Callable
from dataclasses import dataclass

from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.study.baselines.jitter import KloakJitter, UniformJitter
from tarry.study.baselines.mixes import PoissonMix, ThresholdMix, TimedMix
from tarry.study.baselines.plain import AllAtEnd, Nothing
from tarry.study.baselines.pool import CottrellPool
from tarry.study.baselines.stamps import Backdated, HotcrpNoon, Rounding
from tarry.study.practice import Practice

__all__ = ["BASELINES", "Recipe", "baseline", "stranded"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a baseline is made.

    >>> BASELINES["jitter"].make("24h").name
    'jitter:1d'
    """

    what: str  # one line for people
    make: Callable[[str], Practice]  # from the text after the colon
    usual: str = ""  # the parameter where none is given; "" where none is needed
    examples: tuple[str, ...]  # whole texts: every form a parameter takes


def _nothing(parameter: str) -> Nothing:
    if parameter:
        raise BadInput("the baseline nothing", "takes no parameter", found=repr(parameter))
    return Nothing()


#: What `baseline` makes, by name.
BASELINES: dict[str, Recipe] = {
    "nothing": Recipe(
        what="visible at once, with the true time",
        make=_nothing,
        examples=("nothing",),
    ),
    "hotcrp": Recipe(
        what="visible at once, printed as noon of the same day in the site's zone",
        make=HotcrpNoon.read,
        usual="UTC",
        examples=("hotcrp", "hotcrp:+02:00", "hotcrp:Europe/Berlin"),
    ),
    "rounding": Recipe(
        what="visible at once, printed rounded down to a unit",
        make=Rounding.read,
        usual="1d",
        examples=("rounding:1h", "rounding:1d"),
    ),
    "backdated": Recipe(
        what="visible at once, printed up to two days early (Nostr's NIP-59)",
        make=Backdated.read,
        usual="2d",
        examples=("backdated", "backdated:12h"),
    ),
    "mix": Recipe(
        what="all leave at the next whole interval",
        make=TimedMix.read,
        usual="1h",
        examples=("mix:1h",),
    ),
    "threshold": Recipe(
        what="all leave when so many wait",
        make=ThresholdMix.read,
        usual="100",
        examples=("threshold:100",),
    ),
    "pool": Recipe(
        what="each interval some leave by lot and a few stay (Cottrell's mix)",
        make=CottrellPool.read,
        usual="10m",
        examples=("pool", "pool:1h"),
    ),
    "poisson": Recipe(
        what="an exponential delay of this mean, or a sum over several hops (Loopix, JoinMarket)",
        make=PoissonMix.read,
        usual="1h",
        examples=("poisson:60m", "poisson:4s*3"),
    ),
    "jitter": Recipe(
        what="a uniform delay up to a bound, or between two",
        make=UniformJitter.read,
        usual="1d",
        examples=("jitter:24h", "jitter:5m-15m"),
    ),
    "kloak": Recipe(
        what="a uniform delay that keeps the order of all events",
        make=KloakJitter.read,
        usual="20ms",
        examples=("kloak", "kloak:100ms"),
    ),
    "end": Recipe(
        what="all at one moment: the last arrival, or one given",
        make=AllAtEnd.read,
        examples=("end", "end:2026-03-01", "end:2026-03-01T12:00:00+01:00"),
    ),
}


def baseline(text: str) -> Practice:
    """The practice of a name, or of a name and a parameter after a colon.

    The practice's own name is such a text again, in one spelling.

    >>> baseline("jitter:24h").name, baseline("pool:10m").name
    ('jitter:1d', 'pool')
    """
    name, colon, parameter = text.strip().partition(":")
    if (recipe := BASELINES.get(name)) is None:
        raise BadInput("a baseline", f"is one of {', '.join(BASELINES)}", found=repr(name))
    fix = f"write it like {' or '.join(recipe.examples)}"
    if colon and not parameter:
        raise BadInput(f"the baseline {name}", "has a parameter after its colon", found="none", fix=fix)
    try:
        return recipe.make(parameter or recipe.usual)
    except BadInput as error:
        raise BadInput(error.problem, fix) from None


def stranded(practice: Practice, history: History) -> int:
    """How many events a practice by itself would never have released.

    A replay shows them all the same, as the practice's docstring says: a report of its delays must
    say how many they are.

    >>> history = History(actor=[1] * 10, target=range(10), time=range(10))
    >>> stranded(baseline("threshold:4"), history), stranded(baseline("mix:1h"), history)
    (2, 0)
    """
    return practice.stranded(history) if isinstance(practice, ThresholdMix | CottrellPool) else 0
