"""Each thing that Spark needs and is not there is one sentence."""

import json
import socket
import sys
from contextlib import closing
from types import ModuleType, SimpleNamespace

import pytest

from tarry.core.errors import BadInput, NotPossible
from tarry.study.parts.spark import session
from tarry.study.parts.spark.session import (
    check_server,
    check_version,
    check_workers,
    judge_workers,
    need_spark,
    spark_session,
)
from tarry.study.parts.spark.workers import code_mark


@pytest.fixture
def installed(monkeypatch):
    """Says which packages there are, wherever these tests run."""

    def only(*packages):
        monkeypatch.setattr(session, "find_spec", lambda name: name if name in packages else None)

    return only


def test_the_extra_is_named(installed):
    """One package of it that is missing is enough."""
    installed("pyspark", "pyarrow")
    with pytest.raises(NotPossible, match=r"needs the spark extra: pip install '\.\[spark\]'"):
        need_spark()


@pytest.mark.parametrize(
    ("packages", "home", "sentence"),
    [
        (["pyspark", "pyspark.java_gateway"], None, "there is none here: install openjdk-17-jre-headless"),
        (["pyspark", "pyspark.java_gateway"], "/nowhere", r"there is none in JAVA_HOME \(/nowhere\)"),
        (["pyspark"], None, "pyspark-client only speaks with a server: give --spark-remote"),
    ],
)
def test_a_master_needs_java_and_the_whole_of_pyspark(installed, monkeypatch, packages, home, sentence):
    """Before Spark's own start script complains."""
    installed(*packages)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False) if home is None else monkeypatch.setenv(
        "JAVA_HOME", home
    )
    with pytest.raises(NotPossible, match=sentence):
        session._started("local[2]", {})


def test_two_ways_to_spark_are_refused():
    """A master and a server."""
    with pytest.raises(BadInput, match="give one of them"), spark_session("yarn", "sc://cluster"):
        pass


def test_nobody_answers():
    """A port that was free a moment ago; what follows it may be a token, and is not shown."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(
            NotPossible, match=f"no Spark Connect server answers at 127.0.0.1, port {port}:"
        ) as no:
            check_server(f"sc://127.0.0.1:{port}/;token=hush")

    assert "hush" not in str(no.value)


@pytest.mark.parametrize("address", ["http://a:1", "sc://", "sc://a:b", "cluster:15002"])
def test_an_address_of_another_form_is_refused(address):
    """Before anybody is asked."""
    with pytest.raises(BadInput, match="must begin with sc://"):
        check_server(address)


@pytest.mark.parametrize(
    ("version", "old"), [("3.4.4", True), ("2.4", True), ("3.5.0", False), ("4.3.0", False)]
)
def test_an_old_spark_is_refused(version, old):
    """What runs needs 3.5."""
    if not old:
        check_version(SimpleNamespace(version=version))
        return
    with pytest.raises(NotPossible, match=rf"needs Spark 3\.5 or newer, and this is {version}"):
        check_version(SimpleNamespace(version=version))


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (
            {"missing": "tarry"},
            r"the workers of Spark have no tarry: give them the same Python with the spark extra",
        ),
        ({"missing": "numba"}, "the workers of Spark have no numba"),
        ({"mark": "0123", "version": "0.0.9"}, r"other code of tarry \(0\.0\.9\) than this computer"),
    ],
)
def test_workers_must_have_the_same_tarry(fact, sentence):
    """Any of them that has not is enough."""
    with pytest.raises(NotPossible, match=sentence):
        judge_workers([{"mark": code_mark(), "version": "1"}, fact])


def test_the_probe_says_what_a_worker_lacks(monkeypatch):
    """It is sent as it is: where tarry is missing it runs all the same."""
    arrow = ModuleType("pyarrow")
    arrow.RecordBatch = SimpleNamespace(from_pydict=lambda columns: columns)
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    [here] = session._probe()([None])
    monkeypatch.setitem(sys.modules, "tarry.study.parts.spark.workers", None)
    [lacking] = session._probe()([None])

    assert json.loads(here["facts"][0])["mark"] == code_mark()
    assert json.loads(lacking["facts"][0]) == {"missing": "tarry"}


def test_workers_that_run_no_python_are_one_sentence(monkeypatch):
    """Whatever Spark has to say of it."""
    monkeypatch.setattr(session, "_trouble", lambda: (ZeroDivisionError,))

    class Workers:
        range = mapInArrow = lambda self, *words: self  # noqa: N815 - Spark's name

        def collect(self):
            return 1 / 0

    with pytest.raises(NotPossible, match="do not run Python with pyarrow and pandas"):
        check_workers(Workers())
