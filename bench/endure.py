"""Two servers and four workers on one PostgreSQL, held under load while some are killed again and again.

    python bench/endure.py                     # ten minutes at seven tenths of what the machine takes
    python bench/endure.py --seconds 60 --share 0.5

First the most that these six processes take is measured, with requests that follow each other on all
connections. Then posts come at a share of that, each at its own moment; a third of them in pairs of one
account. Every second or so one process is killed without warning and another takes its place: any but one
server and one worker, whose memory is watched. Whoever gets no answer sends the same request again, to
either server. In the end every post that was acknowledged must be in the feed once, at one of the moments
that its author was told or, where nobody was there to close a tick, after it; and nothing may have been
seen before its moment. The command ends with 1 if any of this fails.
"""

import argparse
import asyncio
import json
import random
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from _measure import Table

from acceptance.gateway_process import (
    POLICY,
    Ask,
    ask_http,
    config_at,
    found_gateway,
    free_ports,
    processes,
)
from contracts.postgres_server import PostgresServer
from tarry.gateway.catalog import add_token, read_catalog
from tarry.gateway.database import open_database

SERVERS, WORKERS, THREADS = 2, 4, 2
CONNECTIONS, TOKENS = 32, 64
FEED = "/v1/spaces/talk/feed"
Process = tuple[str, int, int]  # what it does, with which number, and its id
#: The feed is read, and clocks are compared, by a process that competes for the same processors.
SLACK_S = float(POLICY.tick) / 2


@dataclass
class Told:
    """What the author of a post knows."""

    earliest: str
    latest: str
    in_pair: bool


@dataclass
class Run:
    """What the programs outside have seen."""

    ports: list[int]
    tokens: list[str]
    told: dict[str, Told] = field(default_factory=dict)  # by content
    seen: dict[str, tuple[str, float]] = field(default_factory=dict)  # a content's moment, and when seen
    wrong: list[str] = field(default_factory=list)
    lost_answers: int = 0
    number: int = 0
    behind_s: float = 0.0  # how far the load fell behind its own pace
    held: dict[str, list[int]] = field(default_factory=dict)  # bytes of those that nobody kills
    figures: dict[str, str] = field(default_factory=dict)


# --- the load ---------------------------------------------------------------------------------------------


async def post_all(run: Run, seconds: float, rate: float | None) -> float:
    """Posts for so long, at a rate or one after the other; how many posts a second were acknowledged."""
    before, begin = len(run.told), time.monotonic()
    await asyncio.gather(*(post(run, lane, begin, seconds, rate) for lane in range(CONNECTIONS)))
    return (len(run.told) - before) / (time.monotonic() - begin)


async def post(run: Run, lane: int, begin: float, seconds: float, rate: float | None) -> None:
    dice, line, turn = random.Random(lane), None, 0
    pace = 0.0 if rate is None else CONNECTIONS * 4 / 3 / rate  # four posts in three requests
    while (due := begin + (turn + lane / CONNECTIONS) * pace) < begin + seconds:
        if rate is None and time.monotonic() > begin + seconds:
            break
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if rate is not None:
            run.behind_s = max(run.behind_s, time.monotonic() - due)
        line = await hand_in(run, dice, line, pair=turn % 3 == 0)
        turn += 1
    if line is not None:
        line[1].close()


async def hand_in(run: Run, dice: random.Random, line: tuple | None, *, pair: bool) -> tuple | None:
    """One request, until it is answered; the connection, for the next one."""
    run.number += 1
    number = run.number
    names = [f"{number}.{side}" for side in range(1 + pair)]
    posts = [{"actor": f"a{number}", "target": name, "content": name} for name in names]
    path, body = ("batches", {"posts": posts}) if pair else ("posts", posts[0])
    text = json.dumps(body).encode()
    head = (
        f"POST /v1/spaces/talk/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {run.tokens[number % TOKENS]}\r\nIdempotency-Key: {number}\r\n"
        f"Content-Length: {len(text)}\r\n\r\n"
    ).encode()
    while True:
        try:
            line = line or await asyncio.open_connection("127.0.0.1", dice.choice(run.ports))
            line[1].write(head + text)
            status, answer = await asyncio.wait_for(answered(line[0]), 30)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            status, answer = 0, b""
        if status == 202:
            told = json.loads(answer)
            for name, receipt in zip(names, told["receipts"] if pair else [told], strict=True):
                run.told[name] = Told(receipt["earliest_at"], receipt["latest_at"], pair)
            return line
        if status not in (0, 503):
            run.wrong.append(f"answer {status}: {answer[:200]!r}")
            return line
        run.lost_answers += 1
        if line is not None:
            line[1].close()
            line = None
        await asyncio.sleep(0.05)


async def answered(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split()[0])
    return int(head.split()[1]), await reader.readexactly(length)


def watch(run: Run, done: threading.Event) -> None:
    """Reads the feed as it grows."""
    after = turn = 0
    while True:
        is_last = done.is_set()
        turn += 1
        answer = ask_http(run.ports[turn % SERVERS], "GET", f"{FEED}?after={after}&limit=500")
        now = time.time()
        items = answer[1]["items"] if answer is not None and answer[0] == 200 else []
        for item in items:
            after += 1
            if item["position"] != after:
                run.wrong.append(f"position {item['position']} after {after - 1}")
            if item["content"] in run.seen:
                run.wrong.append(f"{item['content']} left twice")
            if moment(item["at"]) > now + SLACK_S:
                run.wrong.append(f"{item['content']} was seen before its moment")
            run.seen[item["content"]] = item["at"], now
        if is_last and answer is not None and not items:
            return
        if len(items) < 500:
            time.sleep(0.1)


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


# --- the kills, and what must hold ------------------------------------------------------------------------


def kill_until(run: Run, done: threading.Event, ask: Ask, alive: list[Process], every_s: float) -> None:
    """Any but the first server and the first worker, each replaced at once."""
    dice, kills, elders = random.Random(21), 0, [alive[0], alive[SERVERS]]
    while not done.wait(dice.uniform(0, 2 * every_s)):
        what, number, victim = each = dice.choice([each for each in alive if each not in elders])
        alive.remove(each)
        assert ask("kill", victim) == -9
        alive.append((what, number, ask(what, number)))
        kills += 1
    run.figures["kills"] = str(kills)


def memory(process: int) -> int:
    """Bytes that a process holds."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def check(run: Run) -> None:
    """Everything that was acknowledged has left once, and at no other moment than was told."""
    if missing := run.told.keys() - run.seen.keys():
        run.wrong.append(f"{len(missing)} posts are lost, such as {min(missing)}")
    for name, (at, _) in run.seen.items():
        if (told := run.told.get(name)) is None:
            run.wrong.append(f"{name} has left, and nobody was told")
        elif moment(at) < moment(told.latest if told.in_pair else told.earliest):
            run.wrong.append(f"{name} left at {at}, before {told.earliest}")


@contextmanager
def gateway():
    """A folder and a durable PostgreSQL with a gateway, and tokens enough for any rate."""
    server = PostgresServer(durable=True)
    try:
        server.start()
        with tempfile.TemporaryDirectory() as name:
            folder, where = Path(name), server.new_database()
            found_gateway(folder, where)
            store = open_database(config_at(folder, where))
            with store.transaction("closing") as transaction:
                made = [
                    add_token(transaction, read_catalog(transaction), f"t{n}", ["submit"])
                    for n in range(TOKENS)
                ]
            store.close()
            yield folder, where, [secret for _, secret in made]
    finally:
        server.remove()


def endure(seconds: float, share: float, warm_s: float, kill_every_s: float) -> bool:
    with gateway() as (folder, where, tokens), processes(folder, where) as ask:
        run, done, ended = Run(free_ports(SERVERS), tokens), threading.Event(), threading.Event()
        alive = [("serve", port, ask("serve", port)) for port in run.ports]
        alive += [("work", THREADS, ask("work", THREADS)) for _ in range(WORKERS)]
        elders = {"a server": alive[0][2], "a worker": alive[SERVERS][2]}
        watcher = threading.Thread(target=watch, args=(run, ended))
        watcher.start()
        most = asyncio.run(post_all(run, warm_s, None))
        run.held = {name: [memory(process)] for name, process in elders.items()}
        killer = threading.Thread(target=kill_until, args=(run, done, ask, alive, kill_every_s))
        sampler = threading.Thread(target=sample, args=(run, done, elders, seconds / 10))
        for thread in (killer, sampler):
            thread.start()
        first = len(run.told)
        taken = asyncio.run(post_all(run, seconds, share * most))
        waiting = len(run.told) - len(run.seen)
        done.set()
        for thread in (killer, sampler):
            thread.join()
        wait_for_the_rest(run)
        ended.set()
        watcher.join()
        assert [ask("end", process) for *_, process in alive] == [0] * len(alive)
    check(run)
    late = [seen - moment(at) for at, seen in list(run.seen.values())[first:]]
    run.figures |= {
        "posts a second, at most": f"{most:.0f}",
        "held at": f"{share * most:.0f}",
        "taken": f"{taken:.0f}",
        "behind its pace, s, at most": f"{run.behind_s:.1f}",
        "answers lost, or 503": str(run.lost_answers),
        "posts acknowledged": str(len(run.told)),
        "posts in the feed": str(len(run.seen)),
        "waiting as the load ended": str(waiting),
        "seen late, s: median, 99 %": f"{median(late):.2f}, {quantiles(late, n=100)[98]:.2f}",
        **{f"MB of {name}": " ".join(f"{size / 1e6:.0f}" for size in run.held[name]) for name in run.held},
        "wrong": "; ".join(run.wrong[:5]) or "nothing",
    }
    Table(f"{seconds:.0f} s under load", ["", ""], list(run.figures.items())).show()
    return not run.wrong


def sample(run: Run, done: threading.Event, elders: dict[str, int], every_s: float) -> None:
    while not done.wait(every_s):
        for name, process in elders.items():
            run.held[name].append(memory(process))


def wait_for_the_rest(run: Run) -> None:
    """Until all has left, or nothing has for half a minute after the last was due."""
    due = max(moment(each.latest) for each in run.told.values())
    last, since = -1, time.time()
    while len(run.seen) < len(run.told) and time.time() < max(due, since) + 30:
        if len(run.seen) != last:
            last, since = len(run.seen), time.time()
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--share", type=float, default=0.7, help="of what the machine takes at most")
    given = parser.parse_args()
    seconds, warm_s, kill_every_s = (3, 1, 0.5) if given.tiny else (given.seconds, 20, 1)
    if not endure(seconds, given.share, warm_s, kill_every_s):
        sys.exit(1)


if __name__ == "__main__":
    main()
