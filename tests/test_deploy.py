"""What `deploy/` ships: units that systemd takes, a container without hosts, commands that exist."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import psycopg
import pytest

from contracts.at_audit import until
from contracts.container import faults_of, read_steps
from tarry.cli.main import COMMANDS
from tarry.gateway.config import read_config

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
PAGE = DEPLOY.parent / "docs" / "production.md"
UNITS = sorted(DEPLOY.glob("*.service"))


def analyse(*words):
    environment = {**os.environ, "SYSTEMD_LOG_LEVEL": "notice", "LC_ALL": "C"}
    return subprocess.run(
        ["systemd-analyze", *map(str, words)], capture_output=True, text=True, check=False, env=environment
    )


@pytest.fixture
def unit(request, tmp_path):
    """A unit whose program and user this machine has."""
    text = re.sub(r"/opt/tarry/bin/tarry", shutil.which("true"), request.param.read_text())
    path = tmp_path / request.param.name.replace("@", "@1")
    path.write_text(re.sub(r"^(User|Group)=tarry$", r"\1=root", text, flags=re.MULTILINE))
    return path


def test_there_are_two_units():
    assert [path.name for path in UNITS] == ["tarry-serve.service", "tarry-worker@.service"]


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, indirect=True, ids=lambda path: path.name)
def test_systemd_takes_the_unit(unit):
    ran = analyse("verify", "--man=no", unit)

    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.needs("systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, indirect=True, ids=lambda path: path.name)
def test_the_unit_may_do_little(unit):
    ran = analyse("security", "--offline=true", unit)
    level = re.search(r"Overall exposure level for .*: ([0-9.]+)", ran.stdout)

    assert level is not None, ran.stderr
    assert float(level[1]) < 2


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
@pytest.mark.parametrize(
    "line",
    ["NoNewPrivileges=yes", "ProtectSystem=strict", "PrivateTmp=yes", "StateDirectory=tarry", "UMask=0077"],
)
def test_the_unit_is_hardened(path, line):
    assert line in path.read_text().splitlines()


def test_both_units_differ_in_what_they_run_and_in_what_an_audit_needs():
    """Its process compiles while it runs (memory that is written, then executed) and limits itself."""

    def rest(path):
        lines = path.read_text().splitlines()
        return {line for line in lines if not line.startswith(("ExecStart", "Descr", "#"))}

    serve, worker = map(rest, UNITS)
    assert serve - worker == {"SystemCallFilter=~@privileged"}
    assert worker - serve == {"SystemCallFilter=~@privileged @resources", "MemoryDenyWriteExecute=yes"}


def test_the_example_settings_are_settings():
    path = DEPLOY / "gateway.toml"

    assert read_config({}, str(path)).database == tomllib.loads(path.read_text())["database"]


def test_the_key_is_not_beside_the_database():
    config, text = read_config({}, str(DEPLOY / "gateway.toml")), PAGE.read_text()
    state = Path("/var/lib/tarry")

    assert (state / config.database).parent == state
    assert (state / config.key_file).parent != state
    assert f"install -m 640 -o root -g tarry /dev/null {config.key_file}\n" in text
    assert "install -m 640 -o root -g tarry deploy/gateway.toml " in text
    assert f" TARRY_KEY_FILE={config.key_file}\n" in (DEPLOY / "Containerfile").read_text()


def test_the_steps_make_all_that_they_use():
    """A policy before its space, a space before its token, all before the service."""
    on_the_machine, in_a_container = PAGE.read_text().split("\n## In a container\n")
    for steps, service in ((on_the_machine, "enable --now"), (in_a_container, "8420:8420")):
        places = [steps.index(step) for step in ("talk.toml\n", "space add", "token add", service)]
        assert places == sorted(places)


def test_the_container_takes_the_hashed_lock_runs_as_nobody_special_and_names_no_host():
    text = (DEPLOY / "Containerfile").read_text()

    assert "--require-hashes --no-deps -r locks/gateway.txt" in text
    assert re.search(r"^USER tarry$", text, re.MULTILINE)
    assert "://" not in text
    assert all("/" not in image for image in re.findall(r"^FROM (\S+)", text, re.MULTILINE))
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert all((DEPLOY.parent / name).exists() for line in copied for name in line.split())


def test_a_linter_finds_nothing_in_the_container_file():
    """Nor would it be silent: each fault of a bad one is named."""
    bad = [("FROM", "python:latest"), ("RUN", "curl x | sh"), ("COPY", ". ."), ("CMD", "tarry serve")]

    assert list(faults_of(read_steps(DEPLOY / "Containerfile"))) == []
    assert len(list(faults_of(bad))) == 5


def test_the_role_and_the_database_of_the_page_are_enough(postgres_server):
    """PostgreSQL takes the page's own statements, and a gateway begins as that role in that database."""
    statements = re.findall(r'psql -c "([^"]+)"', PAGE.read_text())
    assert len(statements) == 2
    with psycopg.connect(postgres_server.dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
    try:
        with psycopg.connect(postgres_server.dsn, user="tarry", dbname="tarry") as connection:
            connection.execute("CREATE TABLE made (by text)")
    finally:
        with psycopg.connect(postgres_server.dsn, autocommit=True) as connection:
            connection.execute("DROP DATABASE tarry")
            connection.execute("DROP ROLE tarry")


def test_the_container_is_built_from_one_exact_version_or_a_digest():
    text, page = (DEPLOY / "Containerfile").read_text(), PAGE.read_text()
    (base,) = re.findall(r"^ARG BASE=(\S+)$", text, re.MULTILINE)

    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", base)
    assert re.findall(r"^FROM (\S+)", text, re.MULTILINE) == ["${BASE}", "${BASE}"]
    assert page.count(base) == 2
    assert '--build-arg BASE="' in page


def test_postgresql_takes_what_it_must_not_write_down(postgres_server):
    """A real server has every setting and takes its value; left alone it logs checkpoints."""
    lines = (DEPLOY / "postgresql.conf").read_text().splitlines()
    wanted = dict(line.split(" = ") for line in lines if line[:1] not in {"", "#"})

    def logs_checkpoints():
        with psycopg.connect(postgres_server.dsn) as connection:
            return connection.execute("SHOW log_checkpoints").fetchone()[0]

    assert logs_checkpoints() == "on"
    with psycopg.connect(postgres_server.dsn, autocommit=True) as connection:
        try:
            for name, value in wanted.items():
                connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            connection.execute("SELECT pg_reload_conf()")
            until(lambda: logs_checkpoints() == "off")
        finally:
            connection.execute("ALTER SYSTEM RESET ALL")
            connection.execute("SELECT pg_reload_conf()")
    until(lambda: logs_checkpoints() == "on")


def test_every_command_that_is_named_exists():
    text = "\n".join(path.read_text() for path in (*UNITS, PAGE))

    named = set(re.findall(r"/bin/tarry (\w+)", text))
    assert named == {"serve", "worker", "space", "token", "plan", "doctor", "backup"}
    assert named <= set(COMMANDS)
