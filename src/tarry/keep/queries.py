"""The statements of the keeper, read from `.sql` files and asked for by name."""

import re
from functools import cache
from importlib.resources import files

__all__ = ["migrations", "queries"]

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def queries(dialect: str) -> dict[str, str]:
    """Every statement by its name; a dialect's own ones go before the common ones.

    >>> queries("sqlite")["follows"].startswith("SELECT EXISTS")
    True
    """
    return {**_read("queries.sql"), **_read(f"{dialect}.sql")}


@cache
def migrations(dialect: str) -> dict[int, str]:
    """The numbered scripts that build a store, each applied once and never changed.

    >>> list(migrations("sqlite"))[0]
    1
    """
    folder = files("tarry.keep").joinpath("sql", "migrations")
    named = {path.name: path for path in folder.iterdir() if path.name.endswith(f".{dialect}.sql")}
    return {int(name[:4]): named[name].read_text(encoding="utf-8") for name in sorted(named)}


def _read(name: str) -> dict[str, str]:
    text = files("tarry.keep").joinpath("sql", name).read_text(encoding="utf-8")
    parts = _NAME.split(text)
    return {name: _statement(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _statement(body: str) -> str:
    """Without the lines that explain it: they would be sent each time."""
    return "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()
