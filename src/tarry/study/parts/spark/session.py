"""How Spark is reached, and whether it can do the work: each thing that is missing is one sentence."""

import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput, NotPossible
from tarry.study.parts.spark.workers import code_mark, known_version

__all__ = [
    "check_server",
    "check_version",
    "check_workers",
    "judge_workers",
    "need_spark",
    "spark_session",
    "spoken",
    "version_of",
]

_OLDEST = (3, 5)
_PACKAGES = ("pyspark", "pyarrow", "pandas")
_PROBES = 8  # small tasks that look at the workers
_PORT = 15002  # where a server of Spark Connect listens if its address does not say
_ANSWER_S = 10
_ADDRESS = re.compile(r"sc://(?P<host>\[[0-9a-fA-F:]+\]|[^:/;\s]+)(?::(?P<port>[0-9]{1,5}))?(?:/.*)?")
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_INSTALL = "pip install '.[spark]' in a checkout of tarry"
_PACK = "give them the same Python with the spark extra, such as a packed environment (docs/scale.md)"


def need_spark() -> None:
    """Refuse where the packages of the spark extra are missing.

    >>> from unittest.mock import patch
    >>> with patch("tarry.study.parts.spark.session.find_spec", return_value=None):
    ...     need_spark()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the engine spark needs the spark extra: pip install '.[spark]' ...
    """
    if any(find_spec(package) is None for package in _PACKAGES):
        raise NotPossible(f"the engine spark needs the spark extra: {_INSTALL}")


@contextmanager
def spark_session(
    master: str | None = None, remote: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """A session whose workers can run tarry. One that is there already is used, and left as it was.

    `master` is a master of Spark's (`local[*]`, `yarn`, `k8s://...`), `remote` the address of a server that
    speaks Spark Connect. Without either it is what spark-submit says, and else this computer.

    >>> with spark_session("yarn", "sc://cluster") as session:
    ...     pass
    Traceback (most recent call last):
    tarry.core.errors.BadInput: --spark-master and --spark-remote name two ways to Spark: give one of them
    """
    if master and remote:
        raise BadInput("--spark-master and --spark-remote name two ways to Spark", "give one of them")
    need_spark()
    running = _running() if not (master or remote) else None
    session = running or (_connected(remote) if remote else _started(master, settings or {}))
    try:
        check_version(session)
        check_workers(session)
        yield session
    finally:
        if running is None:
            session.stop()


def _running() -> Any | None:
    return import_module("pyspark.sql").SparkSession.getActiveSession()


@contextmanager
def spoken(problem: str, fix: str) -> Iterator[None]:
    """A context in which what Spark has to say becomes one sentence; the rest is in its logs.

    >>> with spoken("Spark cannot read table:events", "check its name"):
    ...     pass
    """
    try:
        yield
    except _trouble() as error:
        raise NotPossible(f"{problem} ({type(error).__name__}): {fix}") from error


# --- Spark Connect ----------------------------------------------------------------------------------


def check_server(remote: str) -> None:
    """Refuse an address at which nobody answers: the client itself would try for minutes.

    >>> check_server("http://cluster:15002")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of a Spark Connect server must begin with sc://: give one like \
sc://cluster:15002
    """
    address = _ADDRESS.fullmatch(remote)
    if address is None:
        raise BadInput(
            "the address of a Spark Connect server must begin with sc://",
            "give one like sc://cluster:15002",
        )
    # What follows the port may be a token, and is not shown.
    host, port = address["host"].strip("[]"), int(address["port"] or _PORT)
    try:
        socket.create_connection((host, port), timeout=_ANSWER_S).close()
    except (OSError, OverflowError):
        raise NotPossible(
            f"no Spark Connect server answers at {host}, port {port}: check its address, or start it"
        ) from None


def _connected(remote: str) -> Any:
    check_server(remote)
    try:
        return _builder().remote(remote).getOrCreate()
    except ImportError:
        raise NotPossible(
            "--spark-remote needs the client of Spark: pip install 'pyspark[connect]'"
        ) from None
    except _trouble() as error:
        raise NotPossible(
            f"the server refuses a Spark session ({type(error).__name__}): check its address and token"
        ) from error


# --- a master ---------------------------------------------------------------------------------------


def _started(master: str | None, settings: Mapping[str, str]) -> Any:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # by spark-submit, which has said where
    if not submitted:
        _check_java()
    builder = _builder()
    if master or not submitted:
        master = master or "local[*]"
        builder = builder.master(master)
        settings = {**_LOCAL, **settings} if master.startswith("local") else settings
        if master.startswith("local"):
            _stay_here()
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except _trouble() as error:
        raise NotPossible(
            f"Spark does not start with the master {master or 'of spark-submit'} ({type(error).__name__}): "
            "check the master, and that java -version says 17 or newer"
        ) from error


def _stay_here() -> None:
    """Workers on this computer run this Python, and nobody else can reach them."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _check_java() -> None:
    """Spark's own complaint is a page long."""
    if find_spec("pyspark.java_gateway") is None:
        raise NotPossible(f"pyspark-client only speaks with a server: give --spark-remote, or {_INSTALL}")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    if shutil.which(java) is None:
        where = f"in JAVA_HOME ({home})" if home else "here"
        raise NotPossible(
            f"Spark needs Java 17 or newer, and there is none {where}: install openjdk-17-jre-headless, "
            "or set JAVA_HOME"
        )


def _builder() -> Any:
    return import_module("pyspark.sql").SparkSession.builder.appName("tarry")


def _trouble() -> tuple[type[Exception], ...]:
    """What Spark and its bridge to Java raise; not all of it is installed everywhere."""
    homes = (("pyspark", "pyspark.errors", "PySparkException"), ("py4j", "py4j.protocol", "Py4JError"))
    return tuple(getattr(import_module(home), name) for package, home, name in homes if find_spec(package))


# --- what is at the other end -----------------------------------------------------------------------


def version_of(text: str) -> tuple[int, int]:
    """The first two numbers of a version.

    >>> version_of("3.5.6-amzn-0")
    (3, 5)
    """
    numbers = re.findall(r"[0-9]+", text)
    return (int(numbers[0]), int(numbers[1])) if len(numbers) > 1 else (0, 0)


def check_version(session: Any) -> None:
    """Refuse a Spark that lacks what the work needs.

    >>> from types import SimpleNamespace
    >>> check_version(SimpleNamespace(version="3.4.1"))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the engine spark needs Spark 3.5 or newer, and this is 3.4.1: use a ...
    """
    if version_of(session.version) < _OLDEST:
        raise NotPossible(
            f"the engine spark needs Spark 3.5 or newer, and this is {session.version}: use a newer one"
        )


def check_workers(session: Any) -> None:
    """Run a small task on the workers: they must have Python, what tarry needs, and the same tarry.

    >>> class Workers:  # that answer what they would
    ...     range = mapInArrow = lambda self, *words: self
    ...
    ...     def collect(self):
    ...         return [{"facts": json.dumps({"missing": "tarry"})}]
    >>> check_workers(Workers())
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the workers of Spark have no tarry: give them the same Python with ...
    """
    probes = session.range(0, _PROBES, 1, _PROBES)
    try:
        rows = probes.mapInArrow(_probe(), "facts string").collect()
    except _trouble() as error:
        raise NotPossible(
            f"the workers of Spark do not run Python with pyarrow and pandas: {_PACK}"
        ) from error
    judge_workers([json.loads(row["facts"]) for row in rows])


def judge_workers(facts: Iterable[Mapping[str, str]]) -> None:
    """Refuse workers that lack a package, or have other code.

    >>> judge_workers([{"missing": "polars"}])
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: the workers of Spark have no polars: give them the same Python with ...
    """
    for fact in facts:
        if "missing" in fact:
            raise NotPossible(f"the workers of Spark have no {fact['missing']}: {_PACK}")
        if fact["mark"] != code_mark():
            raise NotPossible(
                f"the workers of Spark have other code of tarry ({fact['version']}) than this computer "
                f"({known_version()}): install the same version on both"
            )


def _probe() -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function that workers without tarry can run too: it is sent as it is, and not by its name."""

    def probe(batches: Iterable[Any]) -> Iterator[Any]:
        import json  # noqa: PLC0415 - whatever stands outside is not sent
        from importlib import import_module  # noqa: PLC0415

        import pyarrow as pa  # noqa: PLC0415 - needs the spark extra

        try:
            import_module("numba")
            own = import_module("tarry.study.parts.spark.workers")
            facts = {"mark": own.code_mark(), "version": own.known_version()}
        except ImportError as error:
            facts = {"missing": (error.name or "tarry").partition(".")[0]}
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"facts": [json.dumps(facts)]})

    return probe
