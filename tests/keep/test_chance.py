"""What is made ahead: never twice, never for two, and nothing that is not asked for."""

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from contracts.keeping import lively_policy, stiff_policy
from contracts.scripted_entropy import Script
from tarry.core.entropy import Seeded
from tarry.core.policy import Policy
from tarry.core.release import draw_pair
from tarry.keep.chance import Chance
from tarry.keep.keys import Secret

LIVELY = lively_policy()

FORK = """
import json, os
from tarry.core.policy import Policy
from tarry.keep.chance import Chance

policy = Policy(epsilon="1", gap="1h", window="5m")
chance = Chance()

def take():
    waits = [chance.draws(policy, "paper 3") for _ in range(30)]
    return [chance.receipt().text for _ in range(30)], [[each.unbatched, each.batched] for each in waits]

for _ in range(9):
    take()  # now many lie ready
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.write(writing, json.dumps(take()).encode())
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps([take(), json.loads(os.read(reading, 1 << 16))]))
"""


def test_nobody_gets_a_receipt_that_another_has():
    """Threads that share it take each one once, and each is the secret of its own post."""
    chance = Chance()

    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: chance.receipt(), range(2000)))

    assert len({each.text for each in taken}) == len({each.post for each in taken}) == 2000
    assert all(each == Secret.of(each.text) for each in taken)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
def test_what_lies_ready_does_not_survive_a_fork():
    """A child has receipts and delays of its own: a chance below 1e-90 that thirty delays agree."""
    run = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)

    (receipts, draws), (their_receipts, their_draws) = json.loads(run.stdout)
    assert not set(receipts) & set(their_receipts)
    assert draws != their_draws


def test_every_gap_has_draws_of_its_own():
    """However the targets take turns, each draws from the laws of its own gap."""
    policy = stiff_policy(target_gaps={"far": "100s"})
    chance = Chance()

    drawn = Counter((target, chance.draws(policy, target).batched) for target in ["far", "near"] * 100)

    assert drawn == {("far", 103): 100, ("near", 11): 100}


def test_two_policies_do_not_share_draws():
    """A policy that came later, with other laws, draws from these."""
    chance = Chance()
    for gap in range(8, 60):
        policy = stiff_policy(gap=f"{gap}s")
        assert {chance.draws(policy, "paper 3").batched for _ in range(3)} == {gap + 3}


def test_an_entropy_of_ones_own_is_asked_when_a_post_comes():
    """One draw for one post, in their order: nothing is drawn that nobody has asked for."""
    source, twin = Seeded(7).stream("ann", "p1", time=1), Seeded(7).stream("ann", "p1", time=1)
    chance = Chance(source)

    drawn = [chance.draws(LIVELY, "paper 3") for _ in range(20)]

    assert drawn == [draw_pair(LIVELY, "paper 3", None, twin) for _ in range(20)]
    assert source.position == twin.position


def test_one_post_costs_one_draw():
    """A shell command hands in one post: it makes one receipt and one pair of draws."""
    chance = Chance()
    chance.draws(Policy(epsilon="1", gap="11m"), "paper 3")
    chance.receipt()

    assert [stock.ready for stock in (chance._receipts, *chance._draws.values())] == [[], []]


def test_the_source_is_asked_for_no_more_than_it_has():
    """Where the entropy ends, so do the draws: there is no stand-in."""
    with pytest.raises(IndexError):
        Chance(Script([])).draws(LIVELY, "paper 3")
