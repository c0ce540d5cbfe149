"""What a season is worth to an observer: the zero-inflated uniform law beside the cosine law.

Both laws of a row wait equally long, on average and at the longest; hold is not counted. A season is
BLOCKS:PAIRS: PAIRS are batched pairs of one person, and BLOCKS times gap + window is the longest delay.
BLOCKS:PAIRS:ORDER states the order of the cosine law too; order "sine" is the law with the least mean loss,
which no policy can have. With --epsilon a season is PAIRS, under the zero-inflated uniform law alone.

Variation and epsilon are upper bounds. Posteriors are computed with floats and are no bounds. They say how
likely the batched story becomes to somebody who knows the arrivals, if nothing was shifted: at most so much
in half of all seasons, and in nine of ten.

  tarry season --gap 11m --window 5m
  tarry season --gap 11m --window 5m 7:12:6 7:12:sine 59:200
  tarry season --gap 11m --window 5m --epsilon 0.5 2 5 12 20
"""

import argparse
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from tarry.cli.main import Argument, add_all
from tarry.cli.show import print_json, print_table, progress_on_terminal, rounded
from tarry.core.errors import BadInput
from tarry.core.exact import parse_number
from tarry.core.policy import Policy
from tarry.core.policy_file import KEYS
from tarry.core.season import TWO_STORIES
from tarry.core.season_table import TABLE, Order, SeasonAsk, SeasonRow, SeasonWorth, Watcher, season_table

__all__ = ["add_arguments", "run"]

_NUMERIC = "posteriors (median, 90 %) are numeric: the laws' own where nothing is shifted, and no bounds"
_DEFAULT = " ".join(f"{ask.blocks}:{ask.pairs}" for ask in TABLE)
_LONG = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry season`."""
    defaults = {"gap": "", "window": " (default: 5m)", "tick": " (default: 1s)"}
    add_all(
        parser,
        Argument(
            "season",
            metavar="BLOCKS:PAIRS",
            nargs="*",
            help=f"a season, or BLOCKS:PAIRS:ORDER, or with --epsilon PAIRS (default: {_DEFAULT})",
        ),
        *(
            Argument(f"--{name}", metavar=name.upper(), help=KEYS[name] + default)
            for name, default in defaults.items()
        ),
        Argument("--epsilon", metavar="EPSILON", help="of one pair, instead of blocks"),
        Argument(
            "--delta",
            metavar="DELTAS",
            default="0.01,0.0001",
            help="epsilon is shown for each of these chances to fail (default: 0.01,0.0001)",
        ),
        Argument(
            "--prior",
            metavar="CHANCE",
            default="0.01",
            help="how likely the batched story was beforehand (default: 0.01)",
        ),
        Argument(
            "--order",
            metavar="ORDER",
            help="of the cosine law in each row (default: the best for the first delta)",
        ),
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the seasons."""
    policy, asks = _policy(arguments), _asks(arguments)
    watcher = Watcher(
        deltas=tuple(parse_number(text, "--delta") for text in arguments.delta.split(",")),
        prior=parse_number(arguments.prior, "--prior"),
    )
    with progress_on_terminal("seasons") as progress:
        rows = season_table(policy, asks, watcher, progress)
    if arguments.json:
        print_json(_json(policy, watcher, rows))
    else:
        _print(policy, watcher, rows)


def _policy(arguments: argparse.Namespace) -> Policy:
    given = {name: getattr(arguments, name) for name in ("epsilon", "gap", "window", "tick")}
    if given["gap"] is None:
        raise BadInput("no gap is given", "use --gap 11m or the gap of your people (tarry learn)")
    return Policy(**{"epsilon": "1", **{name: value for name, value in given.items() if value is not None}})


def _asks(arguments: argparse.Namespace) -> list[SeasonAsk]:
    order = None if arguments.order is None else _order(arguments.order)
    if arguments.epsilon is None:
        return [_season(text, order) for text in arguments.season or _DEFAULT.split()]
    if order is not None or not arguments.season:
        raise BadInput("--epsilon must have pairs and no --order", "try --epsilon 0.5 2 5 12 20")
    return [SeasonAsk(pairs=_count(text, text)) for text in arguments.season]


def _season(text: str, order: Order | None) -> SeasonAsk:
    blocks, pairs, stated = (*text.split(":", 2), "", "")[:3]
    return SeasonAsk(
        blocks=_count(blocks, text), pairs=_count(pairs, text), order=_order(stated) if stated else order
    )


def _count(digits: str, text: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) < _LONG):
        raise BadInput(
            f"a season must be BLOCKS:PAIRS in whole numbers, or with --epsilon PAIRS, not {text!r}",
            "try 59:200",
        )
    return int(digits)


def _order(text: str) -> Order:
    if text == "sine":
        return "sine"
    number = parse_number(text, "order")
    return Decimal(number.numerator) / number.denominator


def _json(policy: Policy, watcher: Watcher, rows: Sequence[SeasonRow]) -> dict[str, Any]:
    return {
        "gap_s": policy.gap,
        "window_s": policy.window,
        "tick_s": policy.tick,
        "deltas": watcher.deltas,
        "prior": watcher.prior,
        "seasons": [
            {
                "pairs": row.ask.pairs,
                "blocks": row.ask.blocks,
                "mean_s": row.mean,
                "max_s": row.longest,
                "laws": [_worth_json(*law) for law in _laws(row)],
            }
            for row in rows
        ],
        "notes": [_NUMERIC, TWO_STORIES],
    }


def _worth_json(law: str, order: Order | None, worth: SeasonWorth) -> dict[str, Any]:
    return {
        "law": law,
        "order": float(order) if isinstance(order, Decimal) else None,
        "total_variation": worth.total_variation,
        "epsilons": worth.epsilons,
        "posterior_median": worth.median,
        "posterior_90": worth.high,
    }


def _laws(row: SeasonRow) -> list[tuple[str, Order | None, SeasonWorth]]:
    """The name of each law of a row, its order and what it is worth."""
    laws: list[tuple[str, Order | None, SeasonWorth]] = [("zero-inflated-uniform", None, row.constant)]
    if row.varying is not None:
        laws.append(("sine" if row.order == "sine" else "cosine", row.order, row.varying))
    return laws


def _print(policy: Policy, watcher: Watcher, rows: Sequence[SeasonRow]) -> None:
    block = rounded(policy.start_ticks(policy.gap) * policy.tick)
    print(
        f"delays of batched acts, hold not counted; gap + window {block}; prior {float(watcher.prior):g}\n"
    )
    epsilons = [f"epsilon({float(delta):g})" for delta in watcher.deltas]
    header = ["law", "pairs", "mean", "longest", "variation", *epsilons, "posterior", "90 %"]
    print_table(header, [_line(row, *law) for row in rows for law in _laws(row)])
    print(f"\nvariation and epsilon are upper bounds\n{_NUMERIC}\n{TWO_STORIES}")


def _line(row: SeasonRow, law: str, order: Order | None, worth: SeasonWorth) -> list[str]:
    shape = "" if order is None else f", {row.ask.blocks} blocks"
    return [
        law + shape + (f", order {order}" if isinstance(order, Decimal) else ""),
        str(row.ask.pairs),
        rounded(row.mean),
        rounded(row.longest),
        f"{float(worth.total_variation):.3f}",
        *(f"{float(epsilon):.2f}" for epsilon in worth.epsilons),
        f"{worth.median:.3f}",
        f"{worth.high:.3f}",
    ]
