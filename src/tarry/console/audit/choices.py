"""What an operator chooses about an audit: from a form to the plain values that a child process gets."""

from collections.abc import Mapping, Sequence
from typing import Any

from tarry.core.errors import BadInput
from tarry.core.exact import parse_duration, parse_number
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
#: The form before anybody has changed it.
USUAL = {
    "window": "5m",
    "epsilons": "0.5, 1, 2",
    "cutoffs": "10s, 1m, 5m, 10m, 30m, 1h, 2h",
    "busy": "",
    "unit": "",
    "policies": "",
}
_ROLES = ("actor", "target", "time")
_POLICY_CHOICES = ("epsilon", "gap", "window", "tick", "weight", "labels", "law", "cover", "delta")
_LONGEST_LINE = 200
_EXAMPLE = "write it like epsilon=1, gap=11m"
_MOST = {"cutoffs": 30, "epsilons": 5, "policies": 5}


def read_choices(
    fields: Mapping[str, str], columns: Sequence[str], spaces: Mapping[str, str]
) -> dict[str, Any]:
    """The choices of a form; `spaces` are the policy files that may be compared, by their names.

    >>> fields = {**USUAL, "actor": "user", "target": "page", "time": "at", "policies": "epsilon=1, gap=9m"}
    >>> choices = read_choices(fields, ["user", "page", "at"], {})
    >>> choices["epsilons"], list(choices["policies"])
    (['0.5', '1', '2'], ['epsilon=1, gap=9m'])
    """
    form = {**USUAL, **fields}
    chosen: dict[str, Any] = {role: _column(role, form.get(role, ""), columns) for role in _ROLES}
    if len({*chosen.values()}) < len(_ROLES):
        columns_chosen = ", ".join(f"{role} = {name[:40]}" for role, name in chosen.items())
        raise BadInput(f"actor, target and time must be three different columns, not {columns_chosen}")
    parse_duration(form["window"].strip(), "the window")
    cutoffs, epsilons = (_listed(name, form[name]) for name in ("cutoffs", "epsilons"))
    for text in cutoffs:
        parse_duration(text, "a cutoff")
    for text in epsilons:
        Policy(epsilon=parse_number(text, "epsilon"), gap="1h", window="5m")  # it says what is allowed
    if form["unit"] not in UNITS:
        raise BadInput(f"unknown unit of times {form['unit'][:20]!r}", "choose s, ms, us, ns or iso")
    return {
        **chosen,
        "window": form["window"].strip(),
        "cutoffs": cutoffs,
        "is_usual": cutoffs == _listed("cutoffs", USUAL["cutoffs"]),
        "epsilons": epsilons,
        "unit": form["unit"] or None,
        "busy": _busy(form["busy"].strip()),
        "without_bots": "without_bots" in form,
        "collapse": "collapse" in form,
        "habits": [habit for habit in HABITS if f"habit {habit}" in form],
        "policies": _policies(form, spaces),
    }


def _column(role: str, name: str, columns: Sequence[str]) -> str:
    if name not in columns:
        problem = f"the file has no column {name[:40]!r}" if name else "no column is chosen"
        raise BadInput(f"{problem} for the {role}", "choose one of the file's")
    return name


def _listed(name: str, text: str) -> list[str]:
    values = [part.strip() for part in text.split(",") if part.strip()]
    if not 1 <= len(values) <= _MOST[name]:
        raise BadInput(f"{name} must be 1 to {_MOST[name]} values with commas between, not {len(values)}")
    return list(dict.fromkeys(values))


def _busy(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text)):
        raise BadInput(f"the most events of an actor must be a whole number from 1, not {text[:20]!r}")
    return int(text)


def _policies(form: Mapping[str, str], spaces: Mapping[str, str]) -> dict[str, str]:
    """Policy files by what tables call them: those of spaces, and those written here."""
    files = {f"space {name}": text for name, text in spaces.items() if f"space {name}" in form}
    lines = [line.strip() for line in form["policies"].splitlines() if line.strip()]
    if too_long := next((line for line in lines if len(line) > _LONGEST_LINE), None):
        raise BadInput(f"a policy must have at most {_LONGEST_LINE} characters, not {len(too_long)}")
    if len(lines) > _MOST["policies"]:
        raise BadInput(f"the policies to compare must be at most {_MOST['policies']}, not {len(lines)}")
    files |= {line: write_policy(_policy(line)) for line in lines}
    for text in files.values():
        read_policy(text)
    return files


def _policy(line: str) -> Policy:
    """A policy on one line: epsilon=1, gap=11m."""
    chosen: dict[str, str] = {}
    for part in line.split(","):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or name not in _POLICY_CHOICES or name in chosen:
            problem = (
                f"a policy must choose among {', '.join(_POLICY_CHOICES)}, each once, not {part[:40]!r}"
            )
            raise BadInput(problem, _EXAMPLE)
        chosen[name] = value
    for name in ("epsilon", "gap"):
        if name not in chosen:
            raise BadInput(f"the policy {line[:80]!r} has no {name}", _EXAMPLE)
    if "law" in chosen and not needs_labels(chosen["law"]):
        chosen.setdefault("labels", "none")
    return Policy(**chosen)  # type: ignore[arg-type]  # texts are checked there
