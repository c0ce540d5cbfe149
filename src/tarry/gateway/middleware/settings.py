"""The settings for the held views of one app; the same for every framework."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Formatter
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.keep.store import Clock

__all__ = ["HoldSettings", "policy_of"]

_FIELD = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
#: A store takes 16 MiB; the body lies in it as base64, beside the path and the user.
_MOST_BODY = 11 << 20
_SAFE = {"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"}


@dataclass(frozen=True, kw_only=True)
class HoldSettings:
    """Which calls are held, and where they wait.

    >>> settings = HoldSettings(
    ...     database="held.db", key_file="held.key", policy="policy.toml", paths=["/papers/{paper}/reviews"]
    ... )
    >>> settings.target_of("POST", "/papers/3/reviews/")
    '/papers/3/reviews'
    >>> settings.target_of("GET", "/papers/3/reviews"), settings.target_of("POST", "/papers")
    (None, None)
    """

    database: str | Path  # of its own: the path of a SQLite file, or a postgresql:// URL
    key_file: str | Path  # outside the database; made, private, when the store is
    policy: Policy | str | Path  # or its file
    paths: Sequence[str]  # such as /papers/{paper}/reviews; a slash at the end makes no difference
    target: str | None = None  # such as "paper {paper}", from the fields of the paths; None: the path
    methods: Sequence[str] = ("POST",)
    origin: str = "http://localhost"  # the app's public address, which a released call is made to
    anonymous: Literal["refuse", "pass"] = "refuse"  # what becomes of calls without a user
    most_bytes: int = 1 << 20  # of a body
    keep_language: bool = False  # whether Accept-Language is sealed with the call
    accepting: bool = True  # False: nothing is accepted, and what waits leaves (to change the policy)
    clock: Clock | None = None  # the store's own, unless a test moves one by hand

    def __post_init__(self) -> None:
        """Refuse what cannot work, while somebody reads why."""
        if isinstance(self.paths, str) or not self.paths:
            raise BadInput(f"paths must be a list with one path or more, not {self.paths!r}")
        if self.anonymous not in {"refuse", "pass"}:
            raise BadInput(f"anonymous must be 'refuse' or 'pass', not {self.anonymous!r}")
        if not 0 < self.most_bytes <= _MOST_BODY:
            raise BadInput(f"most_bytes must be between 1 and {_MOST_BODY}, not {self.most_bytes}")
        if isinstance(self.methods, str) or not self.methods or _SAFE & {*self.methods}:
            rule = "must be a list of methods that change something, such as POST"
            raise BadInput(f"methods {rule}, not {self.methods!r}")
        if self.address.scheme not in {"http", "https"} or not self.address.hostname:
            raise BadInput(f"origin must be like https://forum.example.org, not {self.origin!r}")
        for path in self.paths:
            self._check(path)

    @cached_property
    def address(self) -> SplitResult:
        """The app's public address; its path is where the app is mounted."""
        return urlsplit(self.origin.rstrip("/"))

    def target_of(self, method: str, path: str) -> str | None:
        """The target of a call that is held; None for one that is not."""
        if method not in self.methods:
            return None
        for pattern in self._patterns:
            if match := pattern.fullmatch(path):
                if self.target is None:
                    return path.rstrip("/") or "/"
                return self.target.format_map(match.groupdict())
        return None

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return [re.compile(_expression(path)) for path in self.paths]

    def _check(self, path: str) -> None:
        if not path.startswith("/") or set("{}") & set(_FIELD.sub("", path)):
            rule = "must begin with a slash and have its fields in braces, like /papers/{paper}"
            raise BadInput(f"a held path {rule}, not {path!r}")
        fields = _FIELD.findall(path)
        if len(fields) > len(set(fields)):
            raise BadInput(f"a held path must have each field once, not {path!r}")
        named = {name for _, name, _, _ in Formatter().parse(self.target or "") if name is not None}
        if missing := named - set(fields):
            names = ", ".join(sorted(missing))
            raise BadInput(f"target names {names}, and the path {path!r} has no such field", "add it there")


def policy_of(policy: Policy | str | Path) -> Policy:
    """A policy, or the one in a file.

    >>> policy_of(Policy(epsilon="1", gap="11m")).gap
    Fraction(660, 1)
    """
    if isinstance(policy, Policy):
        return policy
    try:
        return read_policy(Path(policy).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(
            f"the policy file {str(policy)!r} cannot be read ({error.strerror})", "give the path of one"
        ) from None
    except UnicodeDecodeError:
        raise BadInput(f"the policy file {str(policy)!r} must be UTF-8 text") from None


def _expression(path: str) -> str:
    """A field is one part of a path. Routers that end in `$` take a line end there too: nobody slips by."""
    parts = _FIELD.split(path.rstrip("/"))
    patterns = (f"(?P<{part}>[^/]+)" if n % 2 else re.escape(part) for n, part in enumerate(parts))
    return "".join(patterns) + "/?\\n?"
