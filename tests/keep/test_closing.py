"""What is simulated is what runs: a stream of posts through a keeper leaves as `plan_release` says."""

import random

import pytest

from contracts.keeping import World, lively_policy, season_policy
from contracts.policies import SEASON_RULES
from tarry.core.entropy import Seeded
from tarry.core.history import History
from tarry.core.plan_release import plan_release
from tarry.core.policy import LABEL_RULES
from tarry.keep.gate import Gate
from tarry.keep.posts import Post
from tarry.testing import memory_store

SEED = 11


def stream_of_posts(count):
    """Who posts on what, after how many seconds, and whether more is to come."""
    chance = random.Random(5)
    for _ in range(count):
        yield (
            chance.choice(("ann", "bob", "cem")),
            chance.choice(("p1", "p2", "p3")),
            chance.choice((0.001, 0.3, 1.0, 2.5, 6.0)),
            chance.random() < 0.2,
        )


@pytest.mark.parametrize("personal", [False, True])
@pytest.mark.parametrize(
    "policy",
    [*map(lively_policy, LABEL_RULES), *map(season_policy, SEASON_RULES)],
    ids=[*LABEL_RULES, *(f"season, {rule}" for rule in SEASON_RULES)],
)
def test_a_keeper_releases_what_a_plan_releases(policy, personal):
    """With the draws of a plan a keeper gives the plan's labels and release ticks, post by post."""
    store = memory_store()
    world = World(lambda: store, policy, personal=personal)
    columns, receipts = {"actor": [], "target": [], "time": [], "declared": []}, []
    for actor, target, wait, more in stream_of_posts(150):
        for _ in range(10):  # slowly, so that no tick is missed
            world.clock.sleep(wait / 10)
            world.close()
            world.releaser.release()
        time = world.clock.wall
        draws = Seeded(SEED).stream(actor, target, time)
        post = Post(actor=actor, target=target, outlet="list", content=b"", more_to_come=more)
        receipts.append(Gate(world.vault, policy, draws).admit(post))
        for name, value in zip(columns, (actor, target, time, more), strict=True):
            columns[name].append(value)
    world.pass_ticks(120)

    plan = plan_release(policy, History(**columns, sequence=range(150)), Seeded(SEED))
    found = [world.gate.status(receipt.secret).release_at for receipt in receipts]
    assert found == plan.release.tolist()
    assert policy.labels == "none" or 0 < plan.batched.sum() < 150
