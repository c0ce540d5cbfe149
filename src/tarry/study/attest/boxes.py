"""Black boxes: a policy, somebody's habit, a rule whose chances are known, Python code, a command."""

import inspect
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tarry.core.entropy import Secure, Seeded
from tarry.core.errors import BadInput
from tarry.core.history import History
from tarry.core.lanes import IntArray, Lanes, SecureLanes, SeededLanes, event_keys
from tarry.core.plan_release import Labelled, label_history, plan_release
from tarry.core.plugins import load
from tarry.core.policy import Policy
from tarry.core.sampler import Chooser
from tarry.core.verify.rules import Block
from tarry.study.attest.interfaces import BlackBox, Story

if TYPE_CHECKING:  # needs the study extra
    from tarry.study.practice import Observer, Practice

__all__ = ["CommandBox", "PolicyBox", "PracticeBox", "RuleBox", "StoryRule", "code_box"]

_EVENTS = 1 << 20  # released at once
_PEOPLE = 1 << 20  # more than a story has
_TIMEOUT_S = 600


@dataclass(frozen=True)
class PolicyBox:
    """What `plan_release` does with a policy, in ticks. Restarts and reposts change nothing: it draws once.

    >>> from tarry.core.verify.streams import Act
    >>> story = Story(acts=(Act(0, 0, 0), Act(0, 0, 1)))
    >>> box = PolicyBox(Policy(epsilon="1", gap="300s", window="0s"))
    >>> releases = box.releases(story, 1000, Seeded(1))
    >>> releases.shape, bool(releases.min() >= 300)
    ((1000, 2), True)
    """

    policy: Policy

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.policy.law_name}, epsilon {float(self.policy.epsilon):g}"

    def releases(self, story: Story, samples: int, source: Seeded | Secure) -> IntArray:
        """Many copies of the people, released at once; labels are decided on one of them."""
        unit = self.policy.tick / story.moments
        once = label_history(self.policy, _history(story, 1, 0, unit))
        seen = np.empty((samples, len(story.acts)), dtype=np.int64)
        step = max(1, _EVENTS // len(story.acts))
        for first in range(0, samples, step):
            copies = min(step, samples - first)
            many = _history(story, copies, first, unit)
            labelled = Labelled(
                arrival=np.tile(once.arrival, copies), batched=np.tile(once.batched, copies)
            )
            plan = plan_release(self.policy, many, source, labelled)
            seen[first : first + copies] = plan.release.reshape(copies, -1)
        return seen


@dataclass(frozen=True, kw_only=True)
class PracticeBox:
    """A practice as one kind of observer sees it, in microseconds.

    >>> from tarry.core.verify.streams import Act
    >>> from tarry.study.baselines import baseline
    >>> from tarry.study.practice import observer
    >>> box = PracticeBox(practice=baseline("mix:1h"), observer=observer("notified"), unit=Fraction(1))
    >>> box.releases(Story(acts=(Act(5, 0, 0),)), 2, Seeded(1)).tolist()
    [[3600000000], [3600000000]]
    """

    practice: "Practice"
    observer: "Observer"
    unit: Fraction  # seconds, of a story's moments

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.practice.name}, {self.observer.name}"

    def releases(self, story: Story, samples: int, source: Seeded | Secure) -> IntArray:
        """Copies of the people at once where each event is shown by itself, else one after the other."""
        if isinstance(source, Secure):
            source = Seeded(source.randbelow(1 << 62))
        if not self.practice.draws:
            once = self._show(story, 1, 0, source)
            return np.broadcast_to(once, (samples, len(story.acts)))
        step = max(1, _EVENTS // len(story.acts)) if self.practice.alone else 1
        parts = [
            self._show(story, min(step, samples - first), first, source)
            for first in range(0, samples, step)
        ]
        return np.concatenate(parts)

    def _show(self, story: Story, copies: int, first: int, source: Seeded) -> IntArray:
        history = _history(story, copies, first, self.unit / story.moments)
        return self.observer.see(self.practice.show(history, source)).reshape(copies, -1)


class StoryRule(Protocol):
    """A rule whose chances are known: what is seen of a story, as independent blocks."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def blocks(self, story: Story) -> list[Block]:
        """Acts whose releases depend on each other, and their joint chances."""


@dataclass(frozen=True)
class RuleBox:
    """Draws from the chances of a rule: what `verify` decides exactly is here seen from outside.

    >>> class AtOnce:
    ...     name = "at once"
    ...
    ...     def blocks(self, story):
    ...         return [Block((i,), {(act.at,): Fraction(1)}) for i, act in enumerate(story.acts)]
    >>> from tarry.core.verify.streams import Act
    >>> RuleBox(AtOnce()).releases(Story(acts=(Act(5, 0, 0),)), 2, Seeded(1)).tolist()
    [[5], [5]]
    """

    rule: StoryRule
    _known: dict[Story, list[Any]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.rule.name

    def releases(self, story: Story, samples: int, source: Seeded | Secure) -> IntArray:
        """A choice among everything that can be seen, for each block."""
        lanes = _lanes(source, samples)
        seen = np.empty((samples, len(story.acts)), dtype=np.int64)
        if story not in self._known:
            self._known[story] = [
                (block.acts, np.array(list(block.seen)), Chooser.of_shares(list(block.seen.values())))
                for block in self.rule.blocks(story)
            ]
        for acts, outcomes, chooser in self._known[story]:
            seen[:, acts] = outcomes[chooser.draw_many(lanes)]
        return seen


@dataclass(frozen=True)
class CommandBox:
    """A program that reads one story as JSON and writes a line of releases for each repetition.

    Standard input has {"acts": ..., "reposts": ..., "restarts": ..., "samples": N, "seed": S}, and N lines
    such as [17, 42] are expected.

    >>> import sys
    >>> from tarry.core.verify.streams import Act
    >>> box = CommandBox((sys.executable, "-c", "for _ in range(2): print([5])"))
    >>> box.releases(Story(acts=(Act(5, 0, 0),)), 2, Seeded(1)).tolist()
    [[5], [5]]
    """

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.words[0]

    def releases(self, story: Story, samples: int, source: Seeded | Secure) -> IntArray:
        """One run of the program."""
        seed = source.offset if isinstance(source, Seeded) else source.randbelow(1 << 63)
        asked = json.dumps({**story.as_json(), "samples": samples, "seed": seed})
        try:
            ran = subprocess.run(
                self.words, input=asked, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
            )
            rows = [json.loads(line) for line in ran.stdout.splitlines() if line.strip()]
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise BadInput(
                f"the command {self.name!r} did not answer with a line of releases for each repetition "
                f"({type(error).__name__})",
                "let it read one JSON object and write one JSON list a line",
            ) from None
        return _checked(rows, story, samples, self.name)


@dataclass(frozen=True)
class _CodeBox:
    """Somebody's own black box, whose answers are checked."""

    name: str
    play: Callable[[Story, int, Seeded | Secure], Any]

    def releases(self, story: Story, samples: int, source: Seeded | Secure) -> IntArray:
        return _checked(self.play(story, samples, source), story, samples, self.name)


def code_box(name: str, *, allow_code: bool = False) -> BlackBox:
    """The black box of an installed package, or of code `module:name`, which runs only where it may.

    It is a function of story, samples and source, or a class with that function as its method `releases`.

    >>> code_box("fractions:Fraction", allow_code=True)
    Traceback (most recent call last):
    tarry.core.errors.BadInput: 'fractions:Fraction' is no black box: name a function of story, samples \
and source, or a class with such a method releases
    """
    code: Any = load("box", name, allow_code=allow_code)
    try:
        play = code().releases if isinstance(code, type) else code
        inspect.signature(play).bind("story", "samples", "source")
    except (AttributeError, TypeError, ValueError):
        fix = "name a function of story, samples and source, or a class with such a method releases"
        raise BadInput(f"{name!r} is no black box", fix) from None
    return _CodeBox(name, play)


def _history(story: Story, copies: int, first: int, unit: Fraction) -> History:
    """The acts of so many copies of the people, each copy's rows together."""
    at, actor, target, declared = (np.array(column) for column in zip(*story.acts, strict=True))
    copy = np.repeat(np.arange(first, first + copies), len(at))
    micro = unit * 1_000_000
    if micro.denominator == 1:  # what practices reckon in
        at, unit = at * int(micro), Fraction(1, 1_000_000)
    return History(
        actor=copy * _PEOPLE + np.tile(actor, copies),
        target=np.tile(target, copies),
        time=np.tile(at, copies),
        unit=unit,
        declared=np.tile(declared, copies),
        sequence=_admitted(at) if copies == 1 else None,
    )


def _admitted(times: IntArray) -> IntArray:
    """Acts of one tick are admitted in the order of the story."""
    admitted = np.empty(len(times), dtype=np.int64)
    admitted[np.argsort(times, kind="stable")] = np.arange(len(times))
    return admitted


def _lanes(source: Seeded | Secure, samples: int) -> Lanes:
    if isinstance(source, Secure):
        return SecureLanes(samples, source.read)
    same = np.zeros(samples, dtype=np.int64)
    return SeededLanes(source, event_keys(same, same, np.arange(samples), same))


def _checked(rows: Any, story: Story, samples: int, name: str) -> IntArray:
    """What somebody's code has answered, if it is a whole number for each act and repetition."""
    try:
        seen = np.asarray(rows)
    except ValueError:
        seen = np.empty(0)
    if seen.shape != (samples, len(story.acts)) or seen.dtype.kind not in "iu":
        raise BadInput(
            f"{name!r} must give {samples} rows of {len(story.acts)} whole numbers, not "
            f"{seen.dtype} of shape {seen.shape}"
        )
    return seen.astype(np.int64)
