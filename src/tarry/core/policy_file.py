"""`policy.toml`: what an operator reads and writes. Text in, policy out; no file is opened here."""

import json
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, parse_number
from tarry.core.plugins import load
from tarry.core.policy import Policy, needs_labels
from tarry.core.season import Season

__all__ = ["KEYS", "chosen_policy", "describes", "read_policy", "write_policy"]

#: Every key a policy file may have, and what it says.
KEYS = {
    "epsilon": "the budget of the promise, per batched pair: smaller is more private and slower",
    "gap": "how far apart two acts would plausibly be had they not been batched",
    "window": "acts of one person on different targets at most this far apart count as batched",
    "tick": "the clock's unit: arrivals are rounded up to it",
    "weight": "how much batched delay counts against unbatched delay, 0 to 1",
    "labels": "how batched acts are known: held, declared, follower, simultaneous or none",
    "law": "zero-inflated-uniform, uniform, exponential, staircase, cosine (for a season) or label-free",
    "blocks": "of the law cosine: how many stretches of gap and window a delay may take",
    "order": "of the law cosine: its shape, small for a hill, large for a plain",
    "cover": "what costs one epsilon: a pair, or a bridge (an act that joins two others)",
    "delta": "the chance with which a label-free law may fail",
    "from": "the moment from which the policy holds",
    "until": "the moment until which it stays as it is",
    "deadline": "the public moment by which everything is released",
    "season": "table [season]: acts (or pairs) of one person, and the epsilon and delta of all together",
    "gaps": "tables [gaps.target] and [gaps.track]: gaps of their own",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_PLACES = 40
_NOT_WITH_SEASON = ("epsilon", "delta", "weight", "cover")
_OF_SEASON = ("acts", "pairs", "epsilon", "delta")
_MOMENTS = {"from": "starts_at", "until": "ends_at", "deadline": "deadline_at"}


def read_policy(text: str, *, allow_code: bool = False) -> Policy:
    """The policy that a `policy.toml` describes.

    Its law is one of ours or of an installed package. With `allow_code` it may also be `module:Name`, a
    function that Python can import.

    >>> read_policy('epsilon = 1; gap = "11m"'.replace("; ", chr(10))).gap
    Fraction(660, 1)
    """
    values = _parse(text)
    if unknown := [key for key in values if key not in KEYS]:
        raise BadInput(f"unknown key {unknown[0]!r} in the policy file", f"use {', '.join(KEYS)}")
    given = [key for key in _NOT_WITH_SEASON if key in values]
    if "season" in values and given:
        raise BadInput(
            f"{given[0]} must not stand beside a season", "leave it out, it follows from the season"
        )
    for key in ("gap",) if "season" in values else ("epsilon", "gap"):
        if key not in values:
            raise BadInput(f"the policy file has no {key}", f"add it, {KEYS[key]}")
    tables = _table(values.pop("gaps", {}), "gaps")
    if unknown := [kind for kind in tables if kind not in ("target", "track")]:
        raise BadInput(f"unknown table {f'gaps.{unknown[0]}'!r}", "use gaps.target or gaps.track")
    choices: dict[str, Any] = {
        _MOMENTS.get(key, key): _seconds(key, value) if key in _MOMENTS else value
        for key, value in values.items()
    }
    if "season" in values:
        choices["season"] = _season(values["season"])
    choices |= {f"{kind}_gaps": _table(table, f"gaps.{kind}") for kind, table in tables.items()}
    if allow_code and ":" in str(choices.get("law")):
        choices["law"] = load("law", choices["law"], allow_code=True)
    return Policy(**choices)


def write_policy(policy: Policy) -> str:
    """The `policy.toml` of a policy, with each key explained; `read_policy` reads it back.

    >>> policy = Policy(epsilon="0.5", gap="11m")
    >>> read_policy(write_policy(policy)) == policy
    True
    """
    if not isinstance(policy.law, str):
        raise BadInput(
            f"law {policy.law_name!r} is a function, which a policy file cannot hold",
            "install it as a package that names it under tarry.laws, or keep the policy in Python",
        )
    season = policy.season
    moments = {key: getattr(policy, name) for key, name in _MOMENTS.items()}
    values = {
        "epsilon": _decimal(policy.epsilon),
        "gap": f'"{format_duration(policy.gap)}"',
        "window": f'"{format_duration(policy.window)}"',
        "tick": f'"{format_duration(policy.tick)}"',
        "weight": _decimal(policy.weight),
        "labels": f'"{policy.labels}"',
        "law": _quoted(policy.law),
        "cover": f'"{policy.cover}"',
        "blocks": "" if policy.blocks is None else str(policy.blocks),
        "order": "" if policy.order is None else _decimal(Fraction(policy.order)),
        "delta": _decimal(policy.delta) if policy.delta else "",
        **{key: "" if at is None else _moment_text(at) for key, at in moments.items()},
    }
    unsaid = () if season is None else _NOT_WITH_SEASON
    lines = [
        f"{key} = {value}  # {KEYS[key]}" for key, value in values.items() if value and key not in unsaid
    ]
    if season is not None:
        lines += ["", f"[season]  # {KEYS['season'].partition(': ')[2]}", f"acts = {season.acts}"]
        lines += [f"epsilon = {_decimal(season.epsilon)}", f"delta = {_decimal(season.delta)}"]
    for kind, gaps in (("target", policy.target_gaps), ("track", policy.track_gaps)):
        if gaps:
            lines += ["", f"[gaps.{kind}]"]
            lines += [f'{_quoted(name)} = "{format_duration(gap)}"' for name, gap in gaps.items()]
    return "\n".join(lines) + "\n"


def chosen_policy(choices: Mapping[str, Any]) -> Policy:
    """The policy of some choices; a law that needs no labels has none, unless they are chosen.

    >>> chosen_policy({"epsilon": "1", "gap": "11m", "law": "label-free", "delta": "0.01"}).labels
    'none'
    """
    unlabelled = "law" in choices and not needs_labels(choices["law"])
    return Policy(**{**({"labels": "none"} if unlabelled else {}), **choices})


def describes(text: str | None, policy: Policy) -> bool:
    """Whether a policy file says this policy, in whichever words: comments and spellings are no choices.

    >>> describes('gap = "660s"  # or longer' + chr(10) + "epsilon = 1.0", Policy(epsilon="1", gap="11m"))
    True
    """
    return text is not None and _said(text) == policy


@lru_cache(maxsize=16)
def _said(text: str) -> Policy:
    """A store is asked at every admission, and its text hardly ever changes."""
    return read_policy(text)


def _season(value: Any) -> Season:
    """The table of a season: acts or pairs, one of the two, with epsilon and delta."""
    table = dict(_table(value, "season", "acts = 400"))
    if unknown := [key for key in table if key not in _OF_SEASON]:
        raise BadInput(f"unknown key {unknown[0]!r} in [season]", f"use {', '.join(_OF_SEASON)}")
    if ("acts" in table) == ("pairs" in table):
        raise BadInput("[season] must have acts or pairs, one of the two", "a pair is two acts")
    if missing := [key for key in ("epsilon", "delta") if key not in table]:
        raise BadInput(
            f"[season] has no {missing[0]}", "add it: what all acts together may cost, and its chance"
        )
    count = table.get("acts", table.get("pairs"))
    if type(count) is not int:
        raise BadInput(f"the acts or pairs of a season must be a whole number, not {count!r}")
    return Season(
        acts=count if "acts" in table else 2 * count,
        epsilon=parse_number(table["epsilon"], "the epsilon of a season"),
        delta=parse_number(table["delta"], "the delta of a season"),
    )


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"the policy file is not valid TOML ({error})", "correct that line") from None
    except (ArithmeticError, ValueError, RecursionError):  # numbers and nesting that TOML allows
        raise BadInput(
            "the policy file has a huge number or deep nesting", "write ordinary values"
        ) from None


def _table(value: Any, name: str, line: str = '"name" = "30m"') -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{name} must be a table, not {value!r}", f"write [{name}] and {line}")
    return value


def _seconds(key: str, moment: Any) -> Fraction:
    """Seconds since 1970 of a TOML date-time with an offset, exactly."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise BadInput(
            f"{key} must be a moment with its offset, not {str(moment)!r}",
            "write it like 2026-01-31T12:00:00Z, without quotes",
        )
    return Fraction((moment - _EPOCH) // timedelta(microseconds=1), 1_000_000)


def _moment_text(seconds: Fraction) -> str:
    micros = seconds * 1_000_000
    try:
        moment = _EPOCH + timedelta(microseconds=int(micros))
    except OverflowError:
        moment = None
    if moment is None or micros.denominator != 1:
        raise BadInput(
            "a moment in a policy file must be a whole number of microseconds in the years 1 to 9999, "
            f"not {float(seconds):g} s after 1970"
        )
    return moment.isoformat().replace("+00:00", "Z")


def _quoted(name: str) -> str:
    """A TOML string: JSON's, except that TOML has no surrogate pairs and no bare delete character."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", r"\u007f")


def _decimal(number: Fraction) -> str:
    """The number as an exact decimal; one third has none."""
    scaled = number * 10**_MOST_PLACES
    if scaled.denominator != 1:
        raise BadInput(f"a number in a policy file must be a decimal, not {number}")
    digits = str(scaled.numerator).rjust(_MOST_PLACES + 1, "0")
    return f"{digits[:-_MOST_PLACES]}.{digits[-_MOST_PLACES:]}".rstrip("0").rstrip(".")
