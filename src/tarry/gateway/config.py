"""The settings of a gateway: from the environment, or from one TOML file; the environment goes first.

The fields of `Config` are the one table of settings. How they are read, what is refused and the table in
docs/operating.md are all made from it.
"""

import os
import re
import stat
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput, require
from tarry.gateway.limits import Limits, read_networks
from tarry.net.address import read_address

__all__ = ["FORMER_PLACES", "Config", "config_table", "own_places", "read_config"]

_PREFIX = "TARRY_"
#: Names with our prefix that are no settings of a gateway.
_OTHERS = {"CONFIG", "DATA", "HOME", "KILLS", "PG_BIN", "PYTHON", "READERS", "SMTP", "TOKEN", "URL"}
_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "one of the words true and false"}
#: How each kind is written in the environment.
_NOTATIONS: dict[type, tuple[re.Pattern[str], Callable[[str], object]]] = {
    str: (re.compile("(?!)"), str),  # as it stands
    int: (re.compile(r"[+-]?[0-9]{1,18}"), int),
    float: (re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?"), float),
    bool: (re.compile("true|false", re.IGNORECASE | re.ASCII), lambda text: text.lower() == "true"),
}
_LARGEST_FILE = 1 << 20
#: Where they lay by default before 0.2.0, in the current folder.
FORMER_PLACES = {"database": "tarry-gateway.db", "key_file": "tarry-gateway.key"}


def _setting(
    default: Any,
    meaning: str,
    *,
    least: int = 0,
    most: int | None = None,
    kind: type | None = None,
    check: Callable[[str], object] | None = None,
) -> Any:
    """One line of the table; numbers lie between `least` and `most`, `check` refuses a text by raising."""
    return field(
        default=default,
        metadata={
            "meaning": meaning,
            "least": least,
            "most": most,
            "kind": kind or type(default),
            "check": check,
        },
    )


def _check_front(value: str) -> None:
    require(value in {"boards", "story"}, f"unknown front {value!r}", "use boards or story")


def _check_url(name: str, value: str) -> None:
    if value != "none":
        read_address(value, name)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of one gateway.

    >>> Config(port=8000).address
    '127.0.0.1:8000'
    """

    database: str = _setting(
        "~/.local/state/tarry/gateway.db",
        "where everything is kept: the path of a SQLite file, or a `postgresql://` URL",
    )
    key_file: str = _setting(
        "~/.config/tarry/gateway.key",
        "the store's secret key: 32 bytes, raw or in hex, in a private file outside the database",
    )
    host: str = _setting("127.0.0.1", "the address to listen at; a proxy with TLS stands before it")
    port: int = _setting(8420, "the port to listen at; 0 takes a free one", most=65535)
    metrics_port: int | None = _setting(
        None,
        "a port of its own, on loopback, for `/metrics` without a token; unset: on the main port, for "
        "tokens with the scope operate",
        most=65535,
        kind=int,
    )
    processes: int = _setting(
        1,
        "processes of `tarry serve` that answer, at one address and with the same limits; more than 1 need "
        "PostgreSQL",
        least=1,
        most=64,
    )
    workers_in_server: int = _setting(
        4, "threads that deliver inside `tarry serve`; 0 leaves releasing to `tarry worker`", most=64
    )
    body_bytes: int = _setting(Limits.body_bytes, "largest request", least=1 << 10, most=1 << 26)
    batch_posts: int = _setting(Limits.batch_posts, "most posts in one request", least=1, most=1000)
    rate_per_s: float = _setting(
        Limits.rate_per_s, "requests of one token in a second, in the long run", least=1, most=1_000_000
    )
    burst: int = _setting(Limits.burst, "requests of one token at once", least=1, most=1_000_000)
    open_streams: int = _setting(
        Limits.open_streams, "open streams of server-sent events in one server", most=100_000
    )
    client_streams: int = _setting(Limits.client_streams, "open streams of one client", most=100_000)
    client_posts_per_min: int = _setting(
        Limits.client_posts_per_min,
        "posts of one client on the boards in a minute, in the long run",
        least=1,
        most=1_000_000,
    )
    client_burst: int = _setting(
        Limits.client_burst, "posts of one client on the boards at once", least=1, most=1_000_000
    )
    connections: int = _setting(
        Limits.connections,
        "open connections to one server; a client has a quarter of them, unless it is a trusted proxy or "
        "connects from this machine",
        least=10,
        most=1_000_000,
    )
    unfinished_posts: int = _setting(
        Limits.unfinished_posts,
        "posts that wait for the disk in one server; from there on every request with posts is refused, "
        "whoever sends it (503)",
        least=1,
        most=1_000_000,
    )
    trusted_proxies: str = _setting(
        "none",
        "addresses or networks of proxies that write the client's address as the last one into "
        "`X-Forwarded-For`, separated by commas; or none: then a client is whoever connects",
        check=read_networks,
    )

    pages: bool = _setting(
        default=True,
        meaning="whether the pages (story, board, workbench, audit, desk) are served beside the API",
    )
    boards: str = _setting(
        "none", "spaces where anybody may post from the board without a token, separated by commas; or none"
    )
    front: str = _setting(
        "boards",
        "what the first page, `/`, shows: boards, or story (the page `/story`, which says what delays do)",
        check=_check_front,
    )
    source: str = _setting(
        "none",
        "where the source of what runs here is: a URL that stands at the foot of every page; or none",
        check=lambda value: _check_url("source", value),
    )
    hosts: str = _setting(
        "none",
        "names by which browsers reach the pages and the metrics port, separated by commas; or none. "
        "`localhost`, IP addresses and `host` always count",
    )
    https: bool = _setting(
        default=False,
        meaning="whether browsers reach the pages by https: then cookies are sent over nothing else",
    )
    audit_bytes: int = _setting(64 << 20, "largest file that an operator may upload", least=1, most=1 << 34)
    audit_seconds: int = _setting(120, "longest time that an audit may take", least=1, most=86_400)
    audit_memory_bytes: int = _setting(
        4 << 30, "most memory that an audit may use", least=1 << 28, most=1 << 40
    )

    alert_webhook: str = _setting(
        "none",
        "a URL that hears, at a full hour, that posts are parked or leave late; or none",
        check=lambda value: _check_url("alert_webhook", value),
    )
    alert_mail_to: str = _setting(
        "none", "addresses that are written the same, separated by commas; or none"
    )
    alert_mail_from: str = _setting("none", "the address that writes it; or none")
    alert_mail_server: str = _setting(
        "none", "its mail server: `smtp://USER@HOST:PORT` or `smtps://...`; or none"
    )
    alert_mail_password_file: str = _setting("none", "a file with the password there; or none")

    @property
    def address(self) -> str:
        """Host and port, as in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def own_hosts(self) -> frozenset[str]:
        """The names by which browsers may reach this gateway."""
        names = (name.strip().lower() for name in (*self.hosts.split(","), self.host))
        return frozenset(name for name in names if name and name != "none")

    @property
    def limits(self) -> Limits:
        """What one request, token and client may ask."""
        names = {each.name for each in fields(Limits)}
        shared = {name: value for name, value in vars(self).items() if name in names}
        return Limits(**{**shared, "trusted_proxies": read_networks(self.trusted_proxies)})


def read_config(environment: Mapping[str, str], path: str | None = None) -> Config:
    """The settings; `path`, or else TARRY_CONFIG, names the file.

    >>> read_config({"TARRY_PORT": "8000", "LANG": "C"}).port
    8000
    >>> read_config({"TARRY_PROT": "8000"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: unknown setting TARRY_PROT: did you mean TARRY_PORT?
    """
    settings = {each.name: each for each in fields(Config)}
    variables = {_PREFIX + name.upper(): name for name in settings}
    file = path or environment.get(f"{_PREFIX}CONFIG")
    values = {}
    for name, value in (_read_file(file) if file else {}).items():
        _check_known(name, settings)
        values[name] = _checked(name, settings[name], value)
    for variable, text in environment.items():
        if variable.startswith(_PREFIX) and variable.removeprefix(_PREFIX) not in _OTHERS:
            _check_known(variable, variables)
            setting = settings[variables[variable]]
            values[setting.name] = _checked(variable, setting, _read_text(setting, text))
    return Config(**{**own_places(environment), **values})


def own_places(environment: Mapping[str, str]) -> dict[str, str]:
    """Where database and key lie when nobody says it: in two private folders, from every directory.

    Before 0.2.0 both lay in the current folder. Where a database lies there still, it is used until 0.3.0.

    >>> own_places({"TARRY_HOME": "/tmp/t"})
    {'database': '/tmp/t/gateway.db', 'key_file': '/tmp/t/gateway.key'}
    """
    from tarry.keep.home import Home  # noqa: PLC0415 - where both are named nobody needs a home

    if Path(FORMER_PLACES["database"]).exists():
        return FORMER_PLACES
    known = {"HOME": str(Path("~").expanduser()), **environment}
    home = Home.of(known)
    return {"database": str(home.state / "gateway.db"), "key_file": str(home.config / "gateway.key")}


def config_table() -> str:
    """The table of settings, as in docs/operating.md.

    >>> config_table().splitlines()[0]
    '| setting | in the environment | default | what it is |'
    """
    lines = ["| setting | in the environment | default | what it is |", "| --- | --- | --- | --- |"]
    for each in fields(Config):
        text = str(each.default).lower() if isinstance(each.default, bool) else each.default
        default = "none" if text is None else f"`{text}`"
        cells = (f"`{each.name}`", f"`{_PREFIX}{each.name.upper()}`", default, each.metadata["meaning"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _read_file(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            text, mode = file.read(_LARGEST_FILE + 1), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if len(text) > _LARGEST_FILE:
            raise BadInput(f"the settings file {path!r} must have at most {_LARGEST_FILE} bytes, not more")
        values = tomllib.loads(text.decode())
    except OSError as error:
        raise BadInput(
            f"the settings file {path!r} cannot be read ({error.strerror})", "name one in --config"
        ) from None
    except UnicodeDecodeError:
        raise BadInput(f"the settings file {path!r} must be UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"the settings file {path!r} must be TOML ({str(error).rstrip('.')})") from None
    if mode & stat.S_IRWXO and _has_password(values.get("database")):
        raise BadInput(
            f"the settings file {path!r} holds a database's password and is open to others (mode {mode:o})",
            f"chmod o= {path}",
        )
    return values


def _has_password(database: object) -> bool:
    """Whether there is a password in the URL of a database, before the host or as a parameter."""
    if not isinstance(database, str) or "://" not in database:
        return False
    user, at, _ = database.partition("://")[2].partition("/")[0].rpartition("@")
    return (bool(at) and ":" in user) or "password=" in database


def _check_known(name: str, known: Collection[str]) -> None:
    if name not in known:
        # The prefix makes no name more like another one.
        bare = {each.removeprefix(_PREFIX): each for each in known}
        meant = name.removeprefix(_PREFIX).upper() if name.startswith(_PREFIX) else name
        near = get_close_matches(meant, bare, n=1)
        fix = f"did you mean {bare[near[0]]}?" if near else "use one of docs/operating.md"
        raise BadInput(f"unknown setting {name}", fix)


def _read_text(setting: "Field[Any]", text: str) -> object:
    """A value of the environment, as a TOML file would have it; what cannot be one stays text."""
    notation, read = _NOTATIONS[setting.metadata["kind"]]
    return read(text.strip()) if notation.fullmatch(text.strip()) else text


def _checked(name: str, setting: "Field[Any]", value: Any) -> Any:
    """The value of a setting, if it keeps the rules; `name` is how the operator has written it."""
    kind = setting.metadata["kind"]
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:  # and so no bool passes for a number
        raise BadInput(f"{name} must be {_KINDS[kind]}, not {value!r}")
    least, most, check = (setting.metadata[rule] for rule in ("least", "most", "check"))
    if value == "":
        raise BadInput(f"{name} must not be empty")
    if kind is str and "\0" in value:
        raise BadInput(f"{name} must not have a zero byte")
    if kind in {int, float} and not least <= value <= most:
        raise BadInput(f"{name} must be between {least} and {most}, not {value}")
    if check is not None:
        check(value)
    return value
