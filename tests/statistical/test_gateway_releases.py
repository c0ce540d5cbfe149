"""What goes through a running gateway appears when `plan_release` says, and with its distribution.

Thousands of posts over HTTP, by a clock moved by hand: lone ones and batches, by a few hundred people.
Error rate: the draws are seeded, so nothing flickers; `ALPHA` says how often a right gateway would have
been unlucky with its seed. The order inside a tick has no seed: there it is how often a right gateway
fails, at most (Hoeffding). Power: the same test rejects a gateway that is off by a tick, and one whose law
for a season has another order.
"""

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from math import log, sqrt

import numpy as np
import pytest
from scipy.stats import chi2

from contracts.aimed import Coins, Recorder
from contracts.asgi import call
from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.plan_release import label_history, plan_release
from tarry.core.policy import Policy
from tarry.core.release import draw_pair
from tarry.core.season import Season
from tarry.gateway.app import create_app
from tarry.gateway.limits import Limits
from tarry.gateway.testing import new_token, small_gateway
from tarry.keep.closing import close_ticks
from tarry.keep.releaser import Releaser
from tarry.testing import ManualClock

ALPHA = 1e-6
EXPECTED = 10  # cells of a chi-square test have at least so many expected posts
TICKS = 120  # in which posts arrive
NOWHERE = Limits(rate_per_s=1e9, burst=10**9)
MODES = ("held", "follower", "declared", "none", "season")
SEASON = Season(acts=40, epsilon=Fraction(80), delta=Fraction("0.01"))


def policy_of(labels: str, **more: object) -> Policy:
    """Small enough for every tick to be drawn often; "season" is the law for many pairs."""
    if labels == "season":
        season = {"law": "cosine", "blocks": 8, "order": "1", "season": SEASON}
        return Policy(**{"gap": "20s", "window": "5s", **season, **more})
    if labels == "none":
        more = {"law": "label-free", "window": "0s", "delta": "0.05", **more}
    return Policy(**{"epsilon": "2", "gap": "20s", "window": "5s", "labels": labels, **more})


@dataclass
class Traffic:
    """Who posts what, and when: rows of a history, in the requests that they come in."""

    requests: list[tuple[int, list[int]]] = field(default_factory=list)  # tick from the start, and rows
    actor: list[str] = field(default_factory=list)
    target: list[str] = field(default_factory=list)
    time: list[int] = field(default_factory=list)  # microseconds
    declared: list[bool] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)

    @property
    def history(self) -> History:
        """The same as the study knows it."""
        columns = {name: getattr(self, name) for name in ("actor", "target", "time", "declared", "parent")}
        return History(**columns, sequence=list(range(len(self.actor))))


@cache
def traffic(seed: int = 5) -> Traffic:
    """Months of a forum in a few minutes; a few posts refer to an earlier one of the same author."""
    chance, made, start = random.Random(seed), Traffic(), ManualClock().wall
    before: dict[tuple[str, str], int] = {}
    for tick in range(TICKS):
        for _ in range(chance.randrange(3, 11)):
            rows, who = [], f"person {chance.randrange(800)}"
            for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
                who = who if chance.random() < 0.8 else f"person {chance.randrange(800)}"
                page = f"page {chance.randrange(12)}"
                refers = chance.random() < 0.5 and (who, page) in before and before[who, page] not in rows
                rows.append(len(made.actor))
                made.actor.append(who)
                made.target.append(page)
                made.time.append(start + tick * 1_000_000)
                made.declared.append(chance.random() < 0.1)
                made.parent.append(before[who, page] if refers else -1)
                before[who, page] = rows[-1]
            made.requests.append((tick, rows))
    return made


def planned_draws(policy: Policy, made: Traffic, seed: int) -> Coins:
    """The draws that `plan_release` makes, event after event."""
    coins = Coins()
    for row, again in enumerate(made.history.occurrences.tolist()):
        names = made.actor[row], made.target[row], made.time[row]
        source = Recorder(Seeded(seed).stream(*names, again))
        draw_pair(policy, made.target[row], None, source)
        coins.answers.extend(source.answers)
    return coins


@dataclass
class Appeared:
    """When each row appeared, in ticks from the start, and where in the feed."""

    tick: np.ndarray
    position: np.ndarray


def through_the_gateway(policy: Policy, made: Traffic, entropy, *, refer: bool = True) -> Appeared:
    """Hand everything in over HTTP, and watch the feed at every tick until all has appeared."""
    return asyncio.run(_through(policy, made, entropy, refer=refer))


async def _through(policy: Policy, made: Traffic, entropy, *, refer: bool) -> Appeared:
    gateway = small_gateway(policy, entropy=entropy)
    app, token, releaser = create_app(gateway, limits=NOWHERE), new_token(gateway), Releaser(gateway.vault)
    found = Appeared(np.full(len(made.actor), -1), np.full(len(made.actor), -1))
    receipts: dict[int, str] = {}
    waiting, tick, after = deque(made.requests), 0, 0
    asked = partial(call, app, headers={"Authorization": f"Bearer {token}"})
    while waiting or (found.tick < 0).any():
        while waiting and waiting[0][0] == tick:
            await _post(asked, made, waiting.popleft()[1], receipts, refer=refer)
        gateway.clock.sleep(1)
        with gateway.store.transaction("closing") as transaction:
            close_ticks(transaction, gateway.keys, gateway.clock)
        releaser.release()
        after = await _look(asked, after, partial(_note, made, found, tick))
        tick += 1
        assert tick < 10 * TICKS
    await asyncio.to_thread(app.state.service.close)
    return found


async def _look(asked, after: int, note) -> int:
    """Read what the feed has after a position, page by page; where it ends."""
    while (page := (await asked("GET", f"/v1/spaces/talk/feed?after={after}")).json())["items"]:
        for item in page["items"]:
            note(item)
        after = page["next"]
    return after


def _note(made: Traffic, found: Appeared, tick: int, item: dict) -> None:
    row = item["content"]["row"]
    assert found.tick[row] == -1
    assert item["target"] == made.target[row]
    found.tick[row], found.position[row] = tick, item["position"]


async def _post(asked, made: Traffic, rows: list[int], receipts: dict[int, str], *, refer: bool) -> None:
    posts = []
    for row in rows:
        post = {"actor": made.actor[row], "target": made.target[row], "content": {"row": row}}
        post["more_to_come"] = made.declared[row]
        if refer and made.parent[row] >= 0:
            post["depends_on"] = receipts[made.parent[row]]
        posts.append(post)
    lone = len(posts) == 1
    where, body = ("posts", posts[0]) if lone else ("batches", {"posts": posts})
    answer = await asked("POST", f"/v1/spaces/talk/{where}", body=body)
    assert answer.status == 202, answer.content
    told = [answer.json()] if lone else answer.json()["receipts"]
    receipts.update(zip(rows, (each["receipt"] for each in told), strict=True))


@pytest.mark.parametrize("mode", [*MODES, "deadline"])
def test_every_release_is_the_planned_one(mode):
    """With the draws of `plan_release` each post appears at the very tick that it tells."""
    end = Fraction(ManualClock().wall, 1_000_000) + TICKS + 5
    policy = policy_of("held", deadline_at=end) if mode == "deadline" else policy_of(mode)
    made = traffic()
    planned = plan_release(policy, made.history, Seeded(7))
    first = made.time[0] // 1_000_000

    appeared = through_the_gateway(policy, made, planned_draws(policy, made, 7))

    assert len(made.actor) > 2000
    assert (appeared.tick == planned.release - first).all()
    assert mode == "none" or planned.batched.any()


def cells(law, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The law in cells of neighbouring ticks: where each begins, and how many posts are expected in it."""
    firsts, expected, mass = [0], [], 0.0
    for tick in range(law.maximum + 1):
        mass += float(law.mass(tick))
        if mass * count >= EXPECTED:
            firsts.append(tick + 1)
            expected.append(mass * count)
            mass = 0.0
    expected[-1] += count - sum(expected)
    return np.array(firsts[:-1]), np.array(expected)


def chance_of(delays: np.ndarray, law) -> float:
    """The chance of delays at least as uneven as these, if they had the law."""
    if delays.min() < law.minimum or delays.max() > law.maximum:
        return 0.0
    firsts, expected = cells(law, len(delays))
    found = np.bincount(np.searchsorted(firsts, delays, side="right") - 1, minlength=len(firsts))
    return float(chi2.sf(((found - expected) ** 2 / expected).sum(), len(firsts) - 1))


@cache
def seeded_run(labels: str, **more: str) -> Appeared:
    """Thousands of posts under one seed."""
    entropy = Seeded(8).stream("the gateway", labels, 0)
    return through_the_gateway(policy_of(labels, **more), traffic(6), entropy, refer=False)


def delays(labels: str, **more: str) -> tuple[np.ndarray, np.ndarray]:
    """Ticks from arrival to appearance, after the hold, and the labels that decide their law."""
    made, policy = traffic(6), policy_of(labels, **more)
    arrived = np.array(made.time) // 1_000_000 - made.time[0] // 1_000_000
    batched = label_history(policy, made.history).batched
    return seeded_run(labels, **more).tick - arrived - policy.hold_ticks, batched


def law_of(labels: str, *, batched: bool):
    """The exact law of these delays."""
    pair = policy_of(labels).mechanism().pair
    return pair.batched if batched else pair.unbatched


@pytest.mark.parametrize("labels", ["held", "follower", "season"])
def test_delays_have_the_exact_law_of_their_label(labels):
    """Between arrival and appearance lies a delay with the policy's own masses, batched or not."""
    found, label = delays(labels)

    assert min(label.sum(), (~label).sum()) > 500
    for batched in (True, False):
        assert chance_of(found[label == batched], law_of(labels, batched=batched)) > ALPHA


def test_delays_without_labels_have_one_law():
    """A label-free law is the same for whoever is busy elsewhere."""
    found, _ = delays("none")

    assert chance_of(found, law_of("none", batched=False)) > ALPHA


@pytest.mark.parametrize("batched", [True, False], ids=["batched", "lone"])
def test_a_law_that_is_off_by_a_tick_is_rejected(batched):
    """The same test rejects releases a tick late, a gap a tick too long, and the law of the other label."""
    found, label = delays("held")
    longer, other = delays("held", gap="21s")
    law = law_of("held", batched=batched)

    assert chance_of(found[label == batched] + 1, law) < ALPHA
    assert chance_of(longer[other == batched], law) < ALPHA
    assert chance_of(found[label != batched], law) < ALPHA


@pytest.mark.parametrize("batched", [True, False], ids=["batched", "lone"])
def test_a_season_law_of_another_order_is_rejected(batched):
    """The same test rejects the law of order 20 for that of 1, a longer gap, and the other label."""
    found, label = delays("season")
    flatter, _ = delays("season", order="20")
    longer, _ = delays("season", gap="24s")
    law = law_of("season", batched=batched)

    assert chance_of(flatter[label == batched], law) < ALPHA
    assert chance_of(longer[label == batched], law) < ALPHA
    assert chance_of(found[label != batched], law) < ALPHA


def test_the_order_inside_a_tick_is_not_the_order_of_arrival():
    """Of two posts that appear together, either came first: as often as a coin falls."""
    appeared = seeded_run("held")
    order = np.lexsort((np.arange(len(appeared.tick)), appeared.tick))
    one, two = order[: len(order) // 2 * 2].reshape(-1, 2).T
    together = appeared.tick[one] == appeared.tick[two]
    first = (appeared.position[one] < appeared.position[two])[together]

    assert len(first) > 800
    assert abs(first.mean() - 1 / 2) < sqrt(log(2 / ALPHA) / (2 * len(first)))
