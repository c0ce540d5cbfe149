"""The keeper beside what people use for delayed work instead: hand in, dispatch, lateness, in one run.

    pip install huey procrastinate apscheduler sqlalchemy
    python bench/keep_peers.py

A peer that is not installed is named and left out. Each gets a fresh store with durable writes, one
worker, and the same small job. Rates are multiples of tarry's on the same kind of store.
"""

import argparse
import asyncio
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles

import keep as ours
from tarry.keep.gate import Gate
from tarry.keep.postgres import PostgresStore
from tarry.keep.releaser import Releaser
from tarry.keep.sqlite import SqliteStore

TICK = 0.05


@dataclass
class Contestant:
    """How one of them does each of the three; each gives seconds, or the lateness of every job."""

    hand_in: Callable[[int], float]
    dispatch: Callable[[int], float]
    lateness: Callable[[int], list[float]]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def wait_for(done: list, count: int, patience: float = 120.0) -> None:
    end = time.monotonic() + patience
    while len(done) < count:
        assert time.monotonic() < end, f"{len(done)} of {count} jobs have run"
        time.sleep(0.01)


def tarry(new_store: Callable[[], object]) -> Contestant:
    numbers = [0]

    def hand_in(count: int) -> float:
        gate = Gate(ours.vault(new_store()), ours.POLICY)
        handed_in = ours.posts(count, numbers)
        return timed(lambda: [gate.admit(post) for post in handed_in])

    def dispatch(count: int) -> float:
        vault = ours.vault(new_store())
        ours.fill(vault.store, count, 1)
        return timed(Releaser(vault).release)

    def lateness(count: int) -> list[float]:
        return ours.kept_lateness(ours.vault(new_store(), ours.QUICK), count, TICK)

    return Contestant(hand_in, dispatch, lateness)


def huey(folder: Path) -> Contestant:
    from huey import SqliteHuey  # noqa: PLC0415 - a peer

    app = SqliteHuey(filename=str(folder / "huey.db"), fsync=True)
    late: list[float] = []

    @app.task()
    def job(due: float, content: str) -> None:  # noqa: ARG001 - a payload of the same size
        late.append(time.time() - due)

    text = ours.CONTENT.decode()

    def consume(count: int) -> None:
        consumer = app.create_consumer(workers=1, periodic=False, initial_delay=0.01, max_delay=0.05)
        consumer.start()
        wait_for(late, count)
        consumer.stop()

    def dispatch(count: int) -> float:
        late.clear()
        for _ in range(count):
            job(0.0, text)
        return timed(lambda: consume(count))

    def lateness(count: int) -> list[float]:
        late.clear()
        first = time.time() + 1
        for n in range(count):
            due = first + n * TICK
            job.schedule((due, text), eta=datetime.fromtimestamp(due, tz=UTC))
        consume(count)
        return list(late)

    def hand_in(count: int) -> float:
        seconds = timed(lambda: [job.schedule((0.0, text), delay=86_400) for _ in range(count)])
        app.storage.flush_schedule()
        return seconds

    return Contestant(hand_in, dispatch, lateness)


def apscheduler(dsn: str) -> Contestant:
    from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore  # noqa: PLC0415 - a peer
    from apscheduler.schedulers.background import BackgroundScheduler  # noqa: PLC0415 - a peer

    url = dsn.replace("postgresql://", "postgresql+psycopg://")

    def scheduler(*, paused: bool) -> object:
        made = BackgroundScheduler(jobstores={"default": SQLAlchemyJobStore(url=url)}, timezone=UTC)
        made.start(paused=paused)
        made.remove_all_jobs()
        return made

    def add(made: object, due: float) -> None:
        when = datetime.fromtimestamp(due, tz=UTC)
        made.add_job(_note, "date", run_date=when, args=(due, ours.CONTENT), misfire_grace_time=None)

    def hand_in(count: int) -> float:
        made = scheduler(paused=True)
        seconds = timed(lambda: [add(made, time.time() + 86_400) for _ in range(count)])
        made.remove_all_jobs()
        made.shutdown(wait=False)
        return seconds

    def dispatch(count: int) -> float:
        made = scheduler(paused=True)
        LATE.clear()
        for _ in range(count):
            add(made, time.time())

        def go() -> None:
            made.resume()
            wait_for(LATE, count)

        seconds = timed(go)
        made.shutdown()
        return seconds

    def lateness(count: int) -> list[float]:
        made = scheduler(paused=False)
        LATE.clear()
        first = time.time() + 2
        for n in range(count):
            add(made, first + n * TICK)
        wait_for(LATE, count)
        made.shutdown()
        return list(LATE)

    return Contestant(hand_in, dispatch, lateness)


LATE: list[float] = []


def _note(due: float, _content: bytes) -> None:
    LATE.append(time.time() - due)


def procrastinate(dsn: str) -> Contestant:
    import procrastinate as peer  # noqa: PLC0415 - a peer

    app = peer.App(connector=peer.PsycopgConnector(conninfo=dsn))
    late: list[float] = []

    @app.task(name="job")
    def job(due: float, content: str) -> None:  # noqa: ARG001 - a payload of the same size
        late.append(time.time() - due)

    text = ours.CONTENT.decode()
    with peer.App(connector=peer.SyncPsycopgConnector(conninfo=dsn)).open() as maker:
        maker.schema_manager.apply_schema()

    def defer(dues: list[float], now: float) -> None:
        with peer.App(connector=peer.SyncPsycopgConnector(conninfo=dsn)).open() as sync:
            for due in dues:
                at = datetime.fromtimestamp(due, tz=UTC) if due > now else None
                sync.configure_task("job", schedule_at=at).defer(due=due, content=text)

    def work(count: int) -> None:
        async def run() -> None:
            async with app.open_async():
                worker = asyncio.create_task(
                    app.run_worker_async(
                        concurrency=1, fetch_job_polling_interval=0.05, install_signal_handlers=False
                    )
                )
                while len(late) < count:  # noqa: ASYNC110 - the worker shares this loop
                    await asyncio.sleep(0.01)
                worker.cancel()
                await asyncio.wait([worker])

        asyncio.run(run())

    def dispatch(count: int) -> float:
        late.clear()
        defer([0.0] * count, 1.0)
        return timed(lambda: work(count))

    def lateness(count: int) -> list[float]:
        late.clear()
        first = time.time() + 3
        defer([first + n * TICK for n in range(count)], 0.0)
        work(count)
        return list(late)

    def hand_in(count: int) -> float:
        dues = [time.time() + 86_400 + n for n in range(count)]
        return timed(lambda: defer(dues, 0.0))

    return Contestant(hand_in, dispatch, lateness)


def show(contestants: dict[str, Contestant], *, tiny: bool) -> None:
    count, ticks, rounds = (10, 8, 1) if tiny else (500, 100, 3)
    times: dict[str, dict[str, list[float]]] = {
        name: {"in": [], "out": [], "late": []} for name in contestants
    }
    for _ in range(rounds):
        for name, each in contestants.items():
            times[name]["in"].append(each.hand_in(count))
            times[name]["out"].append(each.dispatch(count))
            times[name]["late"] += each.lateness(ticks)
    base = times[next(iter(times))]
    print(f"{'':<24}{'hand in':>10}{'dispatch':>10}{'late, median':>16}{'99 %':>12}{'early':>8}")
    for name, found in times.items():
        speeds = [median(base[what]) / median(found[what]) for what in ("in", "out")]
        late = sorted(1e3 * seconds for seconds in found["late"])
        middle, far, early = median(late), quantiles(late, n=100)[98], sum(one < 0 for one in late)
        print(f"{name:<24}{speeds[0]:>10.2f}{speeds[1]:>10.2f}{middle:>13.1f} ms{far:>9.1f} ms{early:>8}")
    print()


def installed(name: str) -> bool:
    there = importlib.util.find_spec(name) is not None
    if not there:
        print(f"!!! {name} is not installed and is left out", file=sys.stderr)
    return there


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="prove that it runs; the figures mean nothing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        names = iter(range(100))
        contestants = {"tarry, SQLite": tarry(lambda: SqliteStore(f"{folder}/{next(names)}.sqlite"))}
        if installed("huey"):
            contestants["huey, SQLite"] = huey(Path(folder))
        show(contestants, tiny=arguments.tiny)
    server = ours.PostgresServer(durable=True)
    try:
        server.start()
        contestants = {"tarry, PostgreSQL": tarry(lambda: PostgresStore(server.new_database()))}
        if installed("procrastinate"):
            contestants["Procrastinate"] = procrastinate(server.new_database())
        if installed("apscheduler") and installed("sqlalchemy"):
            contestants["APScheduler, PostgreSQL"] = apscheduler(server.new_database())
        show(contestants, tiny=arguments.tiny)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
