"""A running gateway as a black box: real posts, on a real clock, and what its feed shows of them.

Every repetition of a story is played by accounts and targets of its own, in a space of its own. Acts of
one moment go in one batch request: they get the same tick, whatever tick it is. A later act is handed in so
many ticks later. Nobody tells a client the server's clock, so a request may arrive a tick off: stories keep
a tick inside the promised reach, and a request that was answered in another tick than it was sent in is
left out, whatever is released.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import count
from math import ceil
from typing import Any

import numpy as np

from tarry.core.errors import BadInput
from tarry.core.lanes import IntArray
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.net.address import read_address
from tarry.net.http_call import Response, call, one_line
from tarry.study.attest import Attestation, attest_played
from tarry.study.attest.interfaces import Story, StoryPair
from tarry.study.attest.neighbours import Given, Promised, Scenes

__all__ = ["RunningSpace", "attest_space", "playable", "rounds_of"]

_FIRST = 300  # samples to choose with: what is far beyond its promise is seen after some hundreds
_ROUNDS = (4, 2)  # each waits for the slowest post
_PATIENCE_S = 10.0  # after the longest delay: what is not there by then counts as late
_TIMEOUT_S = 20.0
_BATCH = 50  # posts of one request
_PAGE = 500
_MOST_READ = 4 << 20
_BEGIN = 0.08  # of a tick: where sending begins in it

Progress = Callable[[int, int], None]


@dataclass
class _Played:
    """One repetition of a story."""

    which: int  # of the stories asked for
    story: Story
    tick: int  # of its first act, by the client's clock
    number: int  # by which its accounts and targets are nobody else's
    releases: dict[int, int] = field(default_factory=dict)  # by act
    spoiled: bool = False  # not sent as it should have been


@dataclass(frozen=True)
class _Act:
    """What is still to be handed in: acts of one moment."""

    played: _Played
    acts: tuple[int, ...]


class RunningSpace:
    """A space of a gateway, and a token that may post to it.

    >>> RunningSpace("http://127.0.0.1:9", "tarry_token", "lab").name
    'lab at 127.0.0.1:9'
    """

    def __init__(self, url: str, token: str, space: str, *, posts_per_s: float = 180) -> None:
        self._address, self._token, self._space = read_address(url), token, space
        self.posts_per_s, self.left_out = posts_per_s, 0  # repetitions, so far
        self._run, self._number = secrets.token_hex(8), count()
        self._known: dict[str, tuple[_Played, int]] = {}  # by the content of a post

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self._space} at {self._address.server}"

    @cached_property
    def policy(self) -> Policy:
        """The policy that the space says it follows."""
        return read_policy(self._request("GET", "policy")["policy"])

    @property
    def waits_s(self) -> float:
        """How long the slowest post takes, in seconds."""
        mechanism = self.policy.mechanism()
        return float((mechanism.pair.span[1] + mechanism.hold + 2) * self.policy.tick)

    def play(
        self, stories: Sequence[tuple[Story, int]], progress: Callable[[], None] | None = None
    ) -> list[IntArray]:
        """Every story so many times, in an order of chance; what could not be sent in time is left out."""
        todo = [(which, story) for which, (story, times) in enumerate(stories) for _ in range(times)]
        order = np.random.default_rng(secrets.randbits(64)).permutation(len(todo))
        played: list[_Played] = []
        due: dict[int, list[_Act]] = {}
        after = self._request("GET", "feed?limit=1")["next"]
        rest = iter([todo[place] for place in order.tolist()])
        tick, more = self._tick() + 1, True
        while more or due:
            self._sleep_until(tick - 1 + _BEGIN)
            for missed in [moment for moment in due if moment < tick]:
                for act in due.pop(missed):
                    act.played.spoiled = True
            sending = [act for act in due.pop(tick, []) if not act.played.spoiled]
            more = self._begin(rest, tick, played, due, sending)
            self._send(sending, tick)
            after = self._read(after)
            if progress is not None:
                progress()
            tick = max(tick, self._tick()) + 1
        self._wait_for(played, after)
        self.left_out += sum(one.spoiled for one in played)
        late = ceil(self.waits_s / float(self.policy.tick)) + max(
            (act.at for story, _ in stories for act in story.acts), default=0
        )
        return [_rows(played, which, story, late) for which, (story, _) in enumerate(stories)]

    def _begin(
        self,
        rest: Iterator[tuple[int, Story]],
        tick: int,
        played: list[_Played],
        due: dict[int, list[_Act]],
        sending: list[_Act],
    ) -> bool:
        """As many new repetitions as a tick may take; whether there are more."""
        quota = max(2.0, self.posts_per_s * float(self.policy.tick))
        posts = sum(len(act.acts) for act in sending)
        while posts < quota:
            if (job := next(rest, None)) is None:
                return False
            one = _Played(*job, tick=tick, number=next(self._number))
            played.append(one)
            first = min(act.at for act in one.story.acts)
            for moment in sorted({act.at for act in one.story.acts}):
                acts = tuple(i for i, act in enumerate(one.story.acts) if act.at == moment)
                if moment == first:
                    sending.append(_Act(one, acts))
                    posts += len(acts)
                else:
                    due.setdefault(tick + moment - first, []).append(_Act(one, acts))
        return True

    # --- over HTTP --------------------------------------------------------------------------------

    def _send(self, sending: Sequence[_Act], tick: int) -> None:
        """Hand posts in; a request that straddles a tick, or is refused as too much, spoils its own."""
        for part in _requests(sending):
            posts = [post for act in part for post in self._posts(act)]
            answer = self._call("POST", "batches", json.dumps({"posts": posts}).encode())
            if answer.status not in (202, 429, 503):
                raise self._refusal(answer)
            if answer.status != 202 or self._tick() != tick:
                for act in part:
                    act.played.spoiled = True

    def _posts(self, act: _Act) -> Iterator[dict[str, object]]:
        story = act.played.story
        for i in act.acts:
            key = f"{self._run}-{next(self._number)}"
            self._known[key] = act.played, i
            yield {
                "actor": f"{self._run}-{act.played.number}-{story.acts[i].actor}",
                "target": f"{self._run}-{act.played.number}-{story.acts[i].target}",
                "content": key,
                "more_to_come": story.acts[i].declared,
            }

    def _read(self, after: int) -> int:
        """What the feed shows beyond a position; the position to go on from."""
        while items := (page := self._request("GET", f"feed?after={after}&limit={_PAGE}"))["items"]:
            after = page["next"]
            for item in items:
                if (known := self._known.pop(str(item.get("content")), None)) is not None:
                    played, act = known
                    at = datetime.fromisoformat(item["at"]).timestamp()
                    played.releases[act] = round(at / float(self.policy.tick)) - played.tick
            if len(items) < _PAGE:
                break
        return after

    def _wait_for(self, played: Sequence[_Played], after: int) -> None:
        """Until all is there, or nothing more should come."""
        end = time.monotonic() + self.waits_s + _PATIENCE_S
        good = [one for one in played if not one.spoiled]
        while time.monotonic() < end and any(len(one.releases) < len(one.story.acts) for one in good):
            time.sleep(min(0.5, float(self.policy.tick)))
            after = self._read(after)
        self._known.clear()

    def _request(self, method: str, what: str) -> dict[str, Any]:
        answer = self._call(method, what)
        if answer.status != 200 or (fields := answer.fields) is None:
            raise self._refusal(answer)
        return fields

    def _call(self, method: str, what: str, body: bytes = b"") -> Response:
        path = f"{self._address.path.rstrip('/')}/v1/spaces/{self._space}/{what}"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if body:
            headers["Idempotency-Key"] = secrets.token_hex(16)
        return call(
            replace(self._address, path=path),
            headers,
            body,
            timeout_s=_TIMEOUT_S,
            method=method,
            who=f"the gateway at {self._address.server}",
            most=_MOST_READ,
        )

    def _refusal(self, answer: Response) -> BadInput:
        said = one_line(str((answer.fields or {}).get("detail", "")))
        return BadInput(
            f"the gateway at {self._address.server} answered {answer}{f' ({said})' if said else ''}",
            f"check the address, the token, and that there is a space {self._space!r}",
        )

    # --- the clock --------------------------------------------------------------------------------

    def _tick(self) -> int:
        """The tick that an act would get now, by this machine's clock."""
        return ceil(time.time() / float(self.policy.tick))

    def _sleep_until(self, ticks: float) -> None:
        time.sleep(max(0.0, ticks * float(self.policy.tick) - time.time()))


def attest_space(
    space: RunningSpace, *, seconds: float, level: float = 0.05, progress: Progress | None = None
) -> Attestation:
    """Attest a running space for about so long, with as many posts as its operator allows.

    >>> attest_space(RunningSpace("http://127.0.0.1:9", "tarry_token", "lab"), seconds=60)
    Traceback (most recent call last):
    tarry.net.http_call.NoAnswer: the gateway at 127.0.0.1:9 cannot be reached: Connection refused
    """
    pairs = playable(Promised.of_policy(space.policy))
    begun, acts = time.monotonic(), max(len(pair.true.acts) for pair in pairs.pairs())
    samples = 0
    for rounds in _ROUNDS:
        samples = int((seconds - rounds * space.waits_s) * space.posts_per_s / acts)
        if len(rounds_of(max(1, samples))) == rounds:
            break
    if samples < 2 * _FIRST:
        raise BadInput(
            f"{seconds:g} seconds are too few: each of {_ROUNDS[-1]} rounds waits {space.waits_s:.0f} s",
            "use --seconds, or a space with the same law and a shorter gap and window",
        )

    def tell() -> None:
        if progress is not None:
            progress(min(int(time.monotonic() - begun), int(seconds)), int(seconds))

    attestation = attest_played(
        lambda stories: space.play(stories, tell),
        pairs,
        name=space.name,
        samples=samples,
        level=level,
        rounds=rounds_of(samples),
    )
    return replace(attestation, left_out=space.left_out)


def rounds_of(samples: int) -> tuple[float, ...]:
    """The parts of so many samples: a small look, and two large ones, each as large as all before it.

    >>> rounds_of(30_000), rounds_of(1_000)
    ((0.01, 0.01, 0.23, 0.75), (0.3, 0.7))
    """
    first = _FIRST / samples
    return (first, first, 1 / 4 - 2 * first, 3 / 4) if first < 1 / 16 else (first, 1 - first)


def playable(promised: Promised) -> Given:
    """The few pairs that a client can play: together or apart, now or a tick less than the reach later.

    >>> from fractions import Fraction
    >>> pairs = playable(Promised(share=Fraction(1), reach=26, window=10)).pairs()
    >>> [(pair.kind, pair.other.acts[1].at) for pair in pairs]
    [('a pair', 0), ('a pair', 25), ('a pair', 12)]
    """
    scenes = Scenes(promised=replace(promised, reach=promised.reach - 1), busy=0)
    by_moment: dict[int, StoryPair] = {}
    for pair in scenes.pairs():
        if _is_plain(pair):
            by_moment.setdefault(pair.other.acts[1].at, pair)
    moments = (0, promised.reach - 1, (promised.reach - 1) // 2)
    return Given(stories=tuple(by_moment[later] for later in moments if later in by_moment))


def _is_plain(pair: StoryPair) -> bool:
    """Whether the second of two acts of one moment is somebody else's, and perhaps later."""
    true, other = pair.true, pair.other
    return (
        len(true.acts) == 2
        and len({act.at for act in true.acts}) == 1
        and not (true.restarts or true.reposts)
        and other.acts[1].actor != true.acts[1].actor
        and other.acts[0][:3] == true.acts[0][:3]
    )


def _requests(sending: Sequence[_Act]) -> Iterator[list[_Act]]:
    """Parts of at most so many posts; acts of one moment of a story stay together."""
    part: list[_Act] = []
    posts = 0
    for act in sending:
        if part and posts + len(act.acts) > _BATCH:
            yield part
            part, posts = [], 0
        part.append(act)
        posts += len(act.acts)
    if part:
        yield part


def _rows(played: Sequence[_Played], which: int, story: Story, late: int) -> IntArray:
    """The releases of one story's repetitions; what has not appeared in time is late."""
    rows = [
        [one.releases.get(i, late) for i in range(len(story.acts))]
        for one in played
        if one.which == which and not one.spoiled
    ]
    if not rows:
        raise BadInput("no repetition of a story could be sent in time", "use fewer posts with --rate")
    return np.array(rows, dtype=np.int64)
