"""The statements of a store, read from `.sql` files and asked for by name.

A room that keeps tables of its own beside the keeper's (the gateway does) brings a folder `sql` like the
keeper's. The numbers of its migrations begin at a thousand of its own.
"""

import re
from functools import cache
from importlib.resources import files

__all__ = ["KEEPER", "PARAMETER", "migrations", "queries"]

#: The rooms whose tables a store holds: the keeper's alone.
KEEPER = ("tarry.keep",)

#: How a statement names a parameter; a cast has two colons.
PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def queries(dialect: str, rooms: tuple[str, ...] = KEEPER) -> dict[str, str]:
    """Every statement by its name; a dialect's own ones go before the common ones.

    >>> queries("sqlite")["follows"].startswith("SELECT EXISTS")
    True
    """
    found: dict[str, str] = {}
    for room in rooms:
        found |= _read(room, "queries.sql") | _read(room, f"{dialect}.sql")
    return found


@cache
def migrations(dialect: str, rooms: tuple[str, ...] = KEEPER) -> dict[int, str]:
    """The numbered scripts that build a store, each applied once and never changed.

    >>> list(migrations("sqlite"))[0]
    1
    """
    folders = [files(room).joinpath("sql", "migrations") for room in rooms]
    scripts = [path for folder in folders for path in folder.iterdir()]
    named = {path.name: path for path in scripts if path.name.endswith(f".{dialect}.sql")}
    return {int(name[:4]): named[name].read_text(encoding="utf-8") for name in sorted(named)}


def _read(room: str, name: str) -> dict[str, str]:
    file = files(room).joinpath("sql", name)
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    parts = _NAME.split(text)
    return {name: _statement(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _statement(body: str) -> str:
    """Without the lines that explain it: they would be sent each time."""
    return "\n".join(line for line in body.splitlines() if not line.startswith("--")).strip()
