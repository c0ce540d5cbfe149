"""The keeper beside what people use for delayed work instead: hand in, dispatch, lateness, in one run.

    python bench/keep_peers.py

A peer that is not installed is named and left out. Each gets a fresh store with durable writes, one
worker, and the same small job. Rates are multiples of tarry's on the same kind of store.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from _measure import Figure, Table, arguments, costs, installed, speeds

import keep as ours
from tarry.keep.gate import Gate
from tarry.keep.postgres import PostgresStore
from tarry.keep.releaser import Releaser
from tarry.keep.sqlite import SqliteStore

TICK = 0.05
WHAT = {"in": "Jobs handed in", "out": "Jobs run", "late": "How late a job runs (median)"}


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


def compare(kind: str, contestants: dict[str, Contestant], *, tiny: bool) -> list[Figure | Table]:
    """Hand in, dispatch and lateness of each; the first one is ours."""
    count, ticks, rounds = (10, 8, 1) if tiny else (500, 100, 3)
    times: dict[str, dict[str, list]] = {what: {name: [] for name in contestants} for what in WHAT}
    for _ in range(rounds):
        for name, each in contestants.items():
            times["in"][name].append(each.hand_in(count))
            times["out"][name].append(each.dispatch(count))
            times["late"][name].append(each.lateness(ticks))
    base = next(iter(contestants))
    counts = dict.fromkeys(contestants, count)
    late = times.pop("late")
    middles = {name: [median(one) for one in each] for name, each in late.items()}
    return [
        *(speeds(f"{WHAT[what]}, {kind}", times[what], base, counts, own=(base,)) for what in times),
        costs(f"{WHAT['late']}, {kind}", middles, base, own=(base,)),
        table_of_lateness(kind, late),
    ]


def table_of_lateness(kind: str, late: dict[str, list[list[float]]]) -> Table:
    """How many ran before their time, which no ratio tells."""
    rows = []
    for name, each in late.items():
        every = [one for times in each for one in times]
        rows.append([name, str(len(every)), str(sum(one < 0 for one in every))])
    table = Table(f"Jobs that ran early, {kind}", ["", "jobs", "early"], rows)
    table.show()
    return table


def on_sqlite(*, tiny: bool) -> list[Figure | Table]:
    with tempfile.TemporaryDirectory() as folder:
        names = iter(range(100))
        contestants = {"tarry, SQLite": tarry(lambda: SqliteStore(f"{folder}/{next(names)}.sqlite"))}
        if installed("huey"):
            contestants["huey, SQLite"] = huey(Path(folder))
        return compare("SQLite", contestants, tiny=tiny)


def on_postgres(*, tiny: bool) -> list[Figure | Table]:
    server = ours.PostgresServer(durable=True)
    try:
        server.start()
        contestants = {"tarry, PostgreSQL": tarry(lambda: PostgresStore(server.new_database()))}
        if installed("procrastinate"):
            contestants["Procrastinate"] = procrastinate(server.new_database())
        if installed("apscheduler") and installed("sqlalchemy"):
            contestants["APScheduler, PostgreSQL"] = apscheduler(server.new_database())
        return compare("PostgreSQL", contestants, tiny=tiny)
    finally:
        server.remove()


def main() -> None:
    tiny = arguments(__doc__).tiny
    on_sqlite(tiny=tiny)
    on_postgres(tiny=tiny)


if __name__ == "__main__":
    main()
