"""What the commands of one person's own store share: opening it, naming posts, starting a keeper."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from tarry.cli.main import Argument, add_all, read_text
from tarry.cli.show import print_json, printable, rounded
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.keep.gate import Gate
from tarry.keep.home import ME, Home, KeeperState, lock_for_child
from tarry.keep.posts import Post, Receipt, Status, shown_id
from tarry.keep.store import Row

__all__ = [
    "MORE",
    "TRACK",
    "add_hand_in",
    "encryption_note",
    "find_post",
    "hand_in",
    "how_it_died",
    "in_between",
    "introduction",
    "open_gate",
    "print_receipt",
    "receipt_json",
    "release_text",
    "revive_keeper",
    "see_to_keeper",
    "wait_for",
]

_SHORTEST_ID, _ID_LENGTH = 4, 16
#: Of every command by which an act comes in.
TRACK = Argument("--track", help="its track, for policies with gaps by track")
MORE = Argument("--more", action="store_true", help="more will follow soon (labels declared)")


def add_hand_in(parser: argparse.ArgumentParser, target: str | None) -> None:
    """The options of every command that hands a post in; `target` says what it is unless named."""
    text = "what is acted on: acts on different targets are the ones that must not be linked"
    default = f" (default: {target})" if target else ""
    add_all(
        parser,
        Argument("--target", required=target is None, help=text + default),
        Argument(
            "--policy",
            metavar="FILE",
            help="use this policy from now on (default: your own, made on first use)",
        ),
        TRACK,
        MORE,
        Argument("--after", metavar="ID", help="leave after this waiting post of yours on the same target"),
        Argument("--wait", action="store_true", help="wait here until it has left"),
    )


def hand_in(
    arguments: argparse.Namespace, gate: Gate, post: dict[str, Any], *, note: str | None = None
) -> int:
    """Admit a post, see to a keeper, print when it will leave; `note` is what its author should know."""
    depends_on = post.pop("depends_on", None)
    if arguments.after is not None:
        depends_on = find_post(gate, arguments.after)["id"]
    receipt = gate.admit(
        Post(
            actor=ME,
            track=arguments.track,
            more_to_come=arguments.more,
            depends_on=depends_on,
            **post,
        )
    )
    home = Home.of(os.environ)
    output = home.output_of(gate, receipt.post) if post["outlet"] == "command" else None
    print_receipt(receipt, output, started=see_to_keeper(home), as_json=arguments.json, note=note)
    return wait_for(gate, receipt, as_json=arguments.json) if arguments.wait else 0


def open_gate(arguments: argparse.Namespace) -> Gate:
    """The gate of one's own store, under the named policy or one's own."""
    home, made = Home.of(os.environ), False
    is_new = not home.is_founded()
    if arguments.policy is not None:
        policy = read_policy(read_text(arguments.policy, "the policy file"))
        gate = home.gate(policy)
        home.keep_policy(policy)  # from now on it is one's own
    else:
        policy, made = home.first_policy()
        if made and not arguments.json:
            print(introduction(policy, home), file=sys.stderr)
        gate = home.gate(policy)
    encrypted = gate.vault.settings.is_encrypted
    if is_new and (not encrypted or (made and not arguments.json)):
        print(f"{encryption_note(home, encrypted=encrypted)}\n", file=sys.stderr)
    return gate


def encryption_note(home: Home, *, encrypted: bool) -> str:
    """Whether what waits lies encrypted in one's own store, and what to do if not.

    >>> encryption_note(Home.of({"TARRY_HOME": "/tmp/t"}), encrypted=True)
    'What waits is encrypted, with the key in /tmp/t/key.'
    """
    if encrypted:
        return f"What waits is encrypted, with the key in {home.key_path}."
    return (
        f"WHAT WAITS LIES UNENCRYPTED in {home.store_path}, for whoever reads the file: install the "
        "package cryptography (pip install cryptography), then run tarry store encrypt --own."
    )


def find_post(gate: Gate, text: str) -> Row:
    """The waiting or parked post that a receipt, an id, or the beginning of one names."""
    key = gate.key_of(text) if text.isascii() else None
    begins = text.lower() if len(text) >= _SHORTEST_ID else None
    rows = [
        row
        for row, _ in gate.posts()
        if row["id"] == key or (begins and shown_id(row["id"]).startswith(begins))
    ]
    if len(rows) > 1:
        raise BadInput(
            f"several posts have ids that begin with {text!r}", "use more characters (tarry queue)"
        )
    if not rows:
        shown = text if len(text) <= _ID_LENGTH else f"{text[:_SHORTEST_ID]}..."  # receipts are secret
        raise BadInput(
            f"no waiting or parked post has the name {shown!r}",
            f"use its receipt, or {_SHORTEST_ID} or more characters of its id (tarry queue)",
        )
    return rows[0]


def release_text(status: Status) -> str:
    """When a post leaves, in local time with the name of its zone.

    >>> release_text(Status(state="waiting", earliest=None, latest=None, tick=Fraction(1)))
    'soon'
    """
    if status.between is None:
        return "soon"
    early, late = map(_local, status.between)
    first, last = f"{early:%Y-%m-%d %H:%M:%S}", f"{late:%Y-%m-%d %H:%M:%S %Z}"
    if status.in_between:
        return f"between {first} and {last}"
    return last if early == late else f"{first} or {last}"


def see_to_keeper(home: Home, *, quietly: bool = False) -> bool:
    """Start a keeper in the background if none runs; it ends by itself when nothing waits.

    If the last one died, a message on standard error says so, unless `quietly`.
    """
    state = home.keeper()
    if state.runs:
        return False
    try:
        _start_keeper(home)
    except OSError as error:  # what was handed in is safe, and its receipt must be printed
        problem = f"no keeper could be started ({error.strerror}), and nothing leaves until one runs"
        print(f"tarry: {problem}: start one with tarry keeper", file=sys.stderr)
        return False
    if state.died and not quietly:
        print(f"tarry: {how_it_died(state)}; another one was started", file=sys.stderr)
    return True


def revive_keeper(home: Home, gate: Gate) -> None:
    """Start a keeper again, and say so, if the last one died while something waits."""
    if home.keeper().died and any(status.state == "waiting" for _, status in gate.posts()):
        see_to_keeper(home)


def how_it_died(state: KeeperState) -> str:
    """A sentence about a keeper that ended unexpectedly.

    >>> how_it_died(KeeperState(runs=False, died=True, said="the disk is full"))
    'the last keeper ended unexpectedly; it had said: the disk is full'
    """
    had_said = "" if state.said is None else f"; it had said: {printable(state.said)}"
    return f"the last keeper ended unexpectedly{had_said}"


def print_receipt(
    receipt: Receipt, output: Path | None, *, started: bool, as_json: bool, note: str | None = None
) -> None:
    """For its author: when it leaves, and how to take it back."""
    with _answering(receipt):
        if as_json:
            path, notes = None if output is None else str(output), {} if note is None else {"note": note}
            print_json({**receipt_json(receipt), "output": path, "keeper_started": started, **notes})
            return
        if note is not None:
            print(note, file=sys.stderr)
        print(f"leaves     {release_text(receipt.status)}")
        if output is not None:
            print(f"prints to  {output}")
        print(f"take back  tarry withdraw {shown_id(receipt.post)[:8]}")


@contextmanager
def _answering(receipt: Receipt) -> Iterator[None]:
    """Whoever takes an answer that cannot be written for a failure hands the act in twice."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # then there is nobody to say it to
            done = f"it was handed in ({shown_id(receipt.post)[:8]}), and tarry queue lists it"
            print(f"tarry: {done}; the answer cannot be written: {error.strerror}", file=sys.stderr)


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """A receipt as JSON has it.

    >>> status = Status(state="waiting", earliest=None, latest=None, tick=Fraction(1))
    >>> receipt_json(Receipt(secret="s", post=255, status=status))["id"]
    '00000000000000ff'
    """
    status = receipt.status
    early, late = status.between or (None, None)
    return {
        "receipt": receipt.secret,
        "id": shown_id(receipt.post),
        "state": status.state,
        "release_at": status.release_at,
        "earliest_at": early,
        "latest_at": late,
        **in_between(status),
    }


def in_between(status: Status) -> dict[str, bool]:
    """What JSON has beside two moments if an act may leave at any moment between them, too.

    >>> in_between(Status(state="waiting", earliest=3, latest=9, tick=Fraction(1), in_between=True))
    {'in_between': True}
    """
    return {"in_between": True} if status.in_between else {}


def _start_keeper(home: Home) -> None:
    private = os.open(home.log_path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    # It has the lock from its first moment: if it dies before it can say anything, that shows.
    with os.fdopen(private, "wb") as log, lock_for_child(home.lock_path) as lock:
        if lock is not None:  # or else another command was quicker
            subprocess.Popen(
                [sys.executable, "-m", "tarry", "keeper", "--until-empty", "--lock", str(lock)],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[lock],
            )


def wait_for(gate: Gate, receipt: Receipt, *, as_json: bool = False) -> int:
    """Until it has left; 1 if it did not. As JSON a second object, after the receipt, says how it ended."""
    pause = min(1.0, float(gate.policy.tick))
    while (status := gate.status(receipt.secret)).state == "waiting":
        time.sleep(pause)
        see_to_keeper(Home.of(os.environ), quietly=True)  # should it have died meanwhile
    if as_json:
        print_json({"id": shown_id(receipt.post), "state": status.state, "problem": status.problem})
    if status.state == "released":
        return 0
    print(f"tarry: it is {status.state}: {status.problem or 'taken back'}", file=sys.stderr)
    return 1


def introduction(policy: Policy, home: Home) -> str:
    """For somebody who has just met the policy: what it costs, where the promise is, where to change it.

    >>> from tarry.keep.home import default_policy
    >>> introduction(default_policy(), Home.of({"TARRY_HOME": "/tmp/t"}))[:52]
    'From now on each act waits 1h27m32s on average, 2h5s'
    """
    from tarry.core.plan import plan  # noqa: PLC0415 - only on first use

    costs = plan(policy)
    return (
        f"From now on each act waits {rounded(costs.unbatched.mean)} on average, "
        f"{rounded(costs.batched.mean)} beside another one, {rounded(costs.batched.maximum)} at most.\n"
        f"What that promises, and what not:  tarry explain {home.policy_path}\n"
        "To wait longer or shorter, change that file before your next act.\n"
    )


def _local(seconds: Fraction) -> datetime:
    return datetime.fromtimestamp(float(seconds), tz=UTC).astimezone()
