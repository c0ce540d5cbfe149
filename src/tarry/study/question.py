"""The question of an audit: how to read a history, and which practices, observers and attacks to try."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tarry.core.errors import BadInput
from tarry.core.exact import Number, parse_duration
from tarry.core.policy import Policy
from tarry.study.attack import Attack, attack
from tarry.study.baselines import baseline
from tarry.study.limits import AdviceLimits
from tarry.study.practice import MICROSECONDS, Observer, Practice, observer
from tarry.study.replay import replay

__all__ = ["CUTOFFS", "EPSILONS", "Question"]

#: Cutoffs in seconds where none are asked for.
CUTOFFS = (10, 60, 300, 600, 1800, 3600, 7200)
#: The budgets of the policies that a recommendation tries.
EPSILONS: tuple[Number, ...] = ("0.5", "1", "2")
_ADVICE_DRAWS = 3  # one draw alone could be lucky


@dataclass(frozen=True, kw_only=True, init=False)
class Question:
    """What an audit looks at. Practices, observers, attacks and durations may be given as text.

    Without practices of one's own, doing nothing is measured, and a policy is recommended.

    >>> question = Question(practices=["nothing", "jitter:24h"], window="10m")
    >>> [practice.name for practice in question.practices], question.window, question.recommend
    (['nothing', 'jitter:1d'], 600000000, False)
    >>> Question(attacks=["likelihood"])
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the attack likelihood needs a policy, and an observer who is notified ...
    """

    practices: Sequence[Practice]  # what is replayed
    observers: Sequence[Observer]  # who watches
    attacks: Sequence[Attack]  # how they claim
    window: int  # microseconds: acts of one actor at most this far apart are truly batched
    cutoffs: Sequence[int]  # microseconds
    stretch: bool  # add cutoffs until they reach as far as a practice moves linked pairs apart
    seed: int  # of the simulated delays
    draws: int  # how often practices that draw are replayed
    different: (
        bool | None
    )  # measure how often different people act close together; None: where that is quick
    actor: str | None  # the columns of a file or frame; None: by their usual names
    target: str | None
    time: str | None
    time_unit: str | None  # s, ms, us, ns or iso; None: as it looks
    time_format: str | None  # of texts, as in strptime; None: ISO 8601
    time_zone: str | None  # of times that carry none; None: UTC
    track: str | None  # a public column that sets the gap, where a policy has gaps of tracks
    declared: str | None  # the column that says whether more was to come, where labels are declared
    without_bots: bool | None  # leave bots out; None: those that a column marks
    suspects: Sequence[str] | None  # claims are about acts of these actors alone; None: of everybody
    among: Sequence[str] | None  # claims are about acts on these targets alone
    busy_limit: int | None  # leave out actors with more events than this
    collapse: bool  # count events that share actor, target and time once
    recommend: bool  # learn policies on the first quarter, measure them on the rest, and recommend one
    epsilons: Sequence[Number]  # which budgets the recommendation tries
    limits: AdviceLimits  # what it must keep to
    before_after: bool  # attack the recommended policy as everything else, for charts before and after
    watch: bool  # also look for everybody's other name, over the whole time
    compared: Sequence[Practice]  # put beside the recommendation, on the part it was not learned on

    def __init__(
        self,
        *,
        practices: Sequence[Practice | Policy | str] | None = None,
        observers: Sequence[Observer | str] = ("notified",),
        attacks: Sequence[Attack | str] = ("cutoff",),
        window: int | str = "5m",
        cutoffs: Sequence[int | str] | None = None,
        stretch: bool | None = None,
        seed: int = 0,
        draws: int = 1,
        different: bool | None = None,
        actor: str | None = None,
        target: str | None = None,
        time: str | None = None,
        track: str | None = None,
        declared: str | None = None,
        time_unit: str | None = None,
        time_format: str | None = None,
        time_zone: str | None = None,
        without_bots: bool | None = None,
        suspects: Sequence[str] | None = None,
        among: Sequence[str] | None = None,
        busy_limit: int | None = None,
        collapse: bool = False,
        recommend: bool | None = None,
        epsilons: Sequence[Number] = EPSILONS,
        limits: AdviceLimits | None = None,
        before_after: bool = True,
        watch: bool = False,
        compared: Sequence[Practice | Policy | str] = (),
    ) -> None:
        values = {
            "practices": _practices(["nothing"] if practices is None else practices),
            "observers": tuple(observer(one) if isinstance(one, str) else one for one in observers),
            "attacks": tuple(attack(one) if isinstance(one, str) else one for one in attacks),
            "window": _microseconds(window, "the window"),
            "cutoffs": tuple(
                _microseconds(cutoff, "a cutoff")
                for cutoff in (
                    [second * MICROSECONDS for second in CUTOFFS] if cutoffs is None else cutoffs
                )
            ),
            "stretch": cutoffs is None if stretch is None else stretch,
            "seed": seed,
            "draws": draws,
            "different": different,
            "actor": actor,
            "target": target,
            "time": time,
            "time_unit": time_unit,
            "time_format": time_format,
            "time_zone": time_zone,
            "track": track,
            "declared": declared,
            "without_bots": without_bots,
            "suspects": None if suspects is None else tuple(suspects),
            "among": None if among is None else tuple(among),
            "busy_limit": busy_limit,
            "collapse": collapse,
            "recommend": practices is None if recommend is None else recommend,
            "epsilons": tuple(epsilons),
            "limits": AdviceLimits() if limits is None else limits,
            "before_after": before_after,
            "watch": watch,
            "compared": _practices(compared),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()

    @property
    def gap(self) -> Fraction:
        """Seconds: what delays without a gap are measured by. The first policy's gap, else the window."""
        policies = [practice.policy for practice in self.practices if practice.policy is not None]
        return policies[0].gap if policies else Fraction(self.window, MICROSECONDS)

    @property
    def advice_draws(self) -> int:
        """How often the policies that a recommendation tries are replayed."""
        return max(self.draws, _ADVICE_DRAWS)

    def _check(self) -> None:
        if self.draws < 1:
            raise BadInput(f"the number of draws must be at least 1, not {self.draws}")
        if not self.cutoffs:
            raise BadInput("no cutoffs given", "give at least one, such as 5m")
        for what, named in (
            ("practice", self.practices),
            ("observer", self.observers),
            ("attack", self.attacks),
        ):
            names = [one.name for one in named]
            if twice := [name for name in names if names.count(name) > 1]:
                raise BadInput(f"the {what} {twice[0]!r} is given twice", "give it once")
        seen = [(practice, watcher) for practice in self.practices for watcher in self.observers]
        for method in self.attacks:
            if seen and not any(method.applies_to(*pair) for pair in seen):
                needs = method.needs or "another practice or observer"
                raise BadInput(
                    f"the attack {method.name} needs {needs}", "give them, or leave the attack out"
                )


def _practices(practices: Sequence[Practice | Policy | str]) -> tuple[Practice, ...]:
    return tuple(
        baseline(one) if isinstance(one, str) else replay(one) if isinstance(one, Policy) else one
        for one in practices
    )


def _microseconds(length: int | str, what: str) -> int:
    return int(parse_duration(length, what) * MICROSECONDS) if isinstance(length, str) else length
