"""What an operator chooses about an audit, from a form to plain values that a child process is told."""

from collections.abc import Mapping, Sequence
from typing import Any

from tarry.core.durations import parse_duration, parse_number
from tarry.core.errors import BadInput
from tarry.core.policy import Policy, needs_labels
from tarry.core.policy_file import read_policy, write_policy

__all__ = ["HABITS", "UNITS", "USUAL", "read_choices"]

#: Other systems' habits that can be put beside, as `tarry compare --baseline` names them.
HABITS = (
    "hotcrp",
    "rounding:1d",
    "backdated",
    "mix:1h",
    "threshold:100",
    "pool",
    "poisson:1h",
    "jitter:1d",
    "end",
)
UNITS = ("", "s", "ms", "us", "ns", "iso")
#: What the form says before anybody has changed it.
USUAL = {
    "window": "5m",
    "epsilons": "0.5, 1, 2",
    "cutoffs": "10s, 1m, 5m, 10m, 30m, 1h, 2h",
    "busy": "",
    "unit": "",
    "policies": "",
}
_ROLES = ("actor", "target", "time")
_WORDS = ("epsilon", "gap", "window", "tick", "weight", "labels", "law", "cover", "delta")
_LONGEST_LINE = 200
_MOST = {"cutoffs": 30, "epsilons": 5, "policies": 5}


def read_choices(
    fields: Mapping[str, str], columns: Sequence[str], spaces: Mapping[str, str]
) -> dict[str, Any]:
    """The choices of a form; `spaces` are the policy files that may be compared, by their names.

    >>> fields = {**USUAL, "actor": "user", "target": "page", "time": "at", "policies": "epsilon=1, gap=9m"}
    >>> found = read_choices(fields, ["user", "page", "at"], {})
    >>> found["epsilons"], list(found["policies"])
    (['0.5', '1', '2'], ['epsilon=1, gap=9m'])
    """
    given = {**USUAL, **fields}
    chosen: dict[str, Any] = {role: _column(role, given.get(role, ""), columns) for role in _ROLES}
    if len({*chosen.values()}) < len(_ROLES):
        found = ", ".join(f"{role} = {name[:40]}" for role, name in chosen.items())
        raise BadInput("actor, target and time", "must be three different columns", found=found)
    parse_duration(given["window"].strip(), "the window")
    cutoffs, epsilons = (_listed(name, given[name]) for name in ("cutoffs", "epsilons"))
    for text in cutoffs:
        parse_duration(text, "a cutoff")
    for text in epsilons:
        Policy(epsilon=parse_number(text, "epsilon"), gap="1h", window="5m")  # it says what is allowed
    if given["unit"] not in UNITS:
        raise BadInput(
            "the unit of times", "is one of s, ms, us, ns and iso", found=repr(given["unit"][:20])
        )
    return {
        **chosen,
        "window": given["window"].strip(),
        "cutoffs": cutoffs,
        "is_usual": cutoffs == _listed("cutoffs", USUAL["cutoffs"]),
        "epsilons": epsilons,
        "unit": given["unit"] or None,
        "busy": _busy(given["busy"].strip()),
        "without_bots": "without_bots" in given,
        "collapse": "collapse" in given,
        "habits": [habit for habit in HABITS if f"habit {habit}" in given],
        "policies": _policies(given, spaces),
    }


def _column(role: str, name: str, columns: Sequence[str]) -> str:
    if name not in columns:
        found = repr(name[:40]) if name else "none"
        raise BadInput(f"the column of the {role}", "is one of the file's", found=found, fix="choose one")
    return name


def _listed(name: str, text: str) -> list[str]:
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not 1 <= len(found) <= _MOST[name]:
        raise BadInput(f"the {name}", f"are 1 to {_MOST[name]}, with commas between", found=len(found))
    return list(dict.fromkeys(found))


def _busy(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text)):
        raise BadInput("the most events of an actor", "is a whole number from 1", found=repr(text[:20]))
    return int(text)


def _policies(given: Mapping[str, str], spaces: Mapping[str, str]) -> dict[str, str]:
    """Policy files by what tables call them: those of spaces, and those written here."""
    found = {f"space {name}": text for name, text in spaces.items() if f"space {name}" in given}
    lines = [line.strip() for line in given["policies"].splitlines() if line.strip()]
    if too_long := next((line for line in lines if len(line) > _LONGEST_LINE), None):
        rule = f"is a line of at most {_LONGEST_LINE} characters"
        raise BadInput("a policy", rule, found=len(too_long))
    if len(lines) > _MOST["policies"]:
        raise BadInput("the policies to compare", f"are at most {_MOST['policies']}", found=len(lines))
    found |= {line: write_policy(_policy(line)) for line in lines}
    for text in found.values():
        read_policy(text)
    return found


def _policy(line: str) -> Policy:
    """A policy on one line: epsilon=1, gap=11m."""
    chosen: dict[str, str] = {}
    for part in line.split(","):
        word, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or word not in _WORDS or word in chosen:
            rule = f"has choices among {', '.join(_WORDS)}, each once"
            raise BadInput("a policy", rule, found=repr(part[:40]), fix="write it like epsilon=1, gap=11m")
        chosen[word] = value
    for word in ("epsilon", "gap"):
        if word not in chosen:
            raise BadInput(
                "a policy", f"says its {word}", found=repr(line[:80]), fix="write epsilon=1, gap=11m"
            )
    if "law" in chosen and not needs_labels(chosen["law"]):
        chosen.setdefault("labels", "none")
    return Policy(**chosen)  # type: ignore[arg-type]  # texts are checked there
