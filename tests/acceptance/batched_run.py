"""Two batched posts on their way through a gateway to a real server, first in peace and then in trouble.

A server and a worker of a gateway run as processes of their own. What they say to the target goes over a
line that notes when it was said. The worst moment is made: the target has done what it was asked, and the
worker is killed before it knows. Then the target goes away, another worker tries in vain, and the target
comes back.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from acceptance.gateway_process import POLICY, Ask, ask_http, found_gateway, free_ports, processes, wait_for
from contracts.held_line import HeldLine
from contracts.real_server import RealServer

__all__ = ["Run", "Sent", "running_gateway"]

ACTOR = "ann-with-two-pseudonyms"
LEASE_S = 3
#: How late a busy machine may be.
MARGIN_S = 8.0


@dataclass(frozen=True)
class Sent:
    """A post that was handed in, as its author knows it."""

    body: Mapping[str, Any]
    receipt: str
    latest: float  # seconds since 1970: batched posts leave at the later of their two moments


@dataclass
class Run:
    """A gateway with one space, seen from outside."""

    ask: Ask
    where: str  # its database
    port: int
    token: str
    line: HeldLine
    workers: list[int] = field(default_factory=list)
    exact: int = 0  # how many have left at the very tick that was drawn

    def hand_in(self, posts: Sequence[Mapping[str, Any]]) -> list[Sent]:
        """Hand posts of one person in together."""
        batch = {"posts": [{"actor": ACTOR, **post} for post in posts]}
        headers = {"authorization": f"Bearer {self.token}"}
        answer = ask_http(self.port, "POST", "/v1/spaces/out/batches", batch, **headers)
        assert answer is not None
        assert answer[0] == 202, answer
        receipts = answer[1]["receipts"]
        return [
            Sent(post, told["receipt"], moment(told["latest_at"]))
            for post, told in zip(posts, receipts, strict=True)
        ]

    def status(self, sent: Sent) -> dict[str, Any]:
        """What the author of a post may know of it."""
        answer = ask_http(self.port, "GET", "/v1/receipt", tarry_receipt=sent.receipt)
        assert answer is not None
        assert answer[0] == 200, answer
        return answer[1]

    def parked(self) -> list[dict[str, Any]]:
        """What waits for a person."""
        headers = {"authorization": f"Bearer {self.token}"}
        return ask_http(self.port, "GET", "/v1/spaces/out/parked", **headers)[1]["parked"]

    def was_tried_in_vain(self) -> bool:
        """Whether a second try of something has failed, as the store says: a third is to come, or came.

        The problem does not tell: of what may have left already none is kept.
        """
        waits = "attempts > 1 AND claim IS NULL AND until IS NOT NULL"
        return self.look(f"SELECT count(*) FROM posts WHERE attempts > 2 OR {waits}") > 0  # noqa: S608 - ours

    def look(self, question: str) -> int:
        """A number that the store knows, as another process asks for it."""
        with closing(sqlite3.connect(f"file:{self.where}?mode=ro", uri=True)) as store:
            return store.execute(question).fetchone()[0]

    def wait_until_released(self, posts: Sequence[Sent]) -> None:
        """Until all have left, at the ticks that were drawn for them.

        Where a busy machine has missed a whole tick, what fell due leaves at the one of recovery.
        """
        wait_for(
            lambda: all(self.status(sent)["state"] == "released" for sent in posts),
            f"all have left; parked: {self.parked()}",
        )
        late = [moment(self.status(sent)["release_at"]) - sent.latest for sent in posts]
        assert all(0 <= each <= MARGIN_S for each in late), f"not what was drawn: {late}"
        self.exact += late.count(0)

    def suffer(self, posts: Sequence[Mapping[str, Any]], words: bytes, target: RealServer) -> list[Sent]:
        """Hand posts in; kill the worker that was not told what became of one; take the target away."""
        with self.line.holding(words) as held:
            sent = self.hand_in(posts)
            assert held.wait(60), "nothing was sent"
            victim = self.workers.pop()
            self.workers.append(self.ask("work", 2))  # first: no tick is missed
            assert self.ask("kill", victim) == -9
            target.stop()  # before anything can be answered
        wait_for(self.was_tried_in_vain, "it is tried in vain")
        assert {self.status(each)["state"] for each in sent} == {"waiting"}, "nobody can know yet"
        target.start()
        self.wait_until_released(sent)
        return sent

    def check_moments(self, sent: Sent, words: bytes, *, prompt: bool) -> None:
        """Nothing of a post was said before its tick; in peace it was said soon after."""
        first = min(asked.at for asked in self.line.with_words(words))
        assert first >= sent.latest, "it was early"
        assert not self.line.with_words(ACTOR.encode()), "the target was told who it is"
        assert not prompt or first <= sent.latest + float(POLICY.tick) + MARGIN_S, "it was late"


@contextmanager
def running_gateway(folder: Path, line: HeldLine, outlet: dict[str, Any]) -> Iterator[Run]:
    """A gateway with the space "out" and one worker; at the end all its processes end in good order."""
    where = str(folder / "gateway.db")
    token = found_gateway(folder, where, out=outlet)
    (port,) = free_ports(1)
    with processes(folder, where, lease_s=LEASE_S) as ask:
        server = ask("serve", port)
        run = Run(ask, where, port, token, line, [ask("work", 2)])
        yield run
        assert [ask("end", process) for process in (server, *run.workers)] == [0] * (1 + len(run.workers))


def moment(text: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()
