"""Group commit: what comes in together is made durable together, within bounds."""

import asyncio
from contextlib import closing
from queue import SimpleQueue

import pytest

from tarry.gateway.gateway import Submission
from tarry.gateway.group_commit import GroupCommit
from tarry.gateway.testing import small_gateway
from tarry.keep.posts import Post


def batch(name: str, count: int) -> Submission:
    """A request with a key and so many posts of as many people."""
    posts = [Post(actor=f"{name} {n}", target="t", outlet="", content=b"x") for n in range(count)]
    return Submission(space="talk", posts=posts, key=name, sender=b"a token", body=b"a body")


def admit_all(gateway, requests) -> list[int]:
    """Hand all of these in at once; how many posts each transaction had."""
    sizes, admit = [], gateway.admit

    def counted(group):
        sizes.append(sum(len(request.posts) for request in group))
        return admit(group)

    async def together() -> None:
        with closing(GroupCommit(gateway)) as admissions:
            await asyncio.gather(*map(admissions.admit, requests))

    gateway.admit = counted
    asyncio.run(together())
    return sizes


@pytest.mark.parametrize(("requests", "posts", "most"), [(300, 1, 128), (40, 100, 599), (3, 1000, 1000)])
def test_what_comes_together_is_admitted_in_groups_of_bounded_size(requests, posts, most):
    """No tick closes while one is written, and a database server has room for so many locks."""
    sizes = admit_all(small_gateway(), [batch(f"{n}", posts) for n in range(requests)])

    assert sum(sizes) == requests * posts
    assert max(sizes) <= most
    assert len(sizes) < requests or posts == 1000


def test_a_thread_does_not_wait_for_what_another_one_has_taken(monkeypatch):
    """Between a look at the queue and a grasp into it, another thread may have been quicker."""

    class Snatched(SimpleQueue):
        def empty(self) -> bool:
            return False  # so it looked a moment ago

    monkeypatch.setattr("tarry.gateway.group_commit.SimpleQueue", Snatched)

    async def alone() -> list:
        with closing(GroupCommit(small_gateway(), threads=2)) as admissions:
            return await asyncio.wait_for(admissions.admit(batch("a", 1)), timeout=5)

    assert len(asyncio.run(alone())) == 1


def test_what_has_come_in_is_admitted_before_the_end():
    """Also what came in the very turn of the loop in which the door is closed."""

    async def cut_short() -> list:
        admissions = GroupCommit(small_gateway())
        asked = asyncio.ensure_future(admissions.admit(batch("a", 2)))
        await asyncio.sleep(0)  # it has been asked, and not yet handed over
        admissions.close()
        return await asyncio.wait_for(asked, timeout=5)

    assert len(asyncio.run(cut_short())) == 2
