"""What a policy does for those who take part, and for the others, if not everybody does.

People take part with all of their acts or with none, drawn at random. The observer takes the cutoff that is
best against everybody, and claims about both kinds of people are counted.

  tarry adoption month.parquet --policy epsilon=0.5,gap=11m
  tarry adoption votes.csv --policy mine.toml --shares 10,50,90 --charts pictures
"""

import argparse
from pathlib import Path

from tarry.cli.history import add_columns, add_filters, named_policy, open_columns, open_table
from tarry.cli.main import Argument, add_all, need_study
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal
from tarry.core.exact import parse_duration, parse_number
from tarry.study.figures import percent
from tarry.study.memory import ATTACK

__all__ = ["add_arguments", "run"]

_SHARES = "0,25,50,75,100"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry adoption`."""
    add_columns(parser)
    add_filters(parser)
    add_all(
        parser,
        Argument("--policy", metavar="P", required=True, help="a policy file, or epsilon=1,gap=11m"),
        Argument(
            "--shares",
            metavar="LIST",
            default=_SHARES,
            help=f"percent of people who take part (default {_SHARES})",
        ),
        Argument(
            "--window",
            metavar="DURATION",
            default="5m",
            help="acts of one actor at most this far apart are truly batched (default 5m)",
        ),
        Argument("--draws", metavar="N", type=int, default=3, help="how often to draw (default 3)"),
        Argument("--seed", metavar="N", type=int, default=0, help="of all draws (default 0)"),
        Argument("--charts", metavar="DIR", help="write the chart into this folder, as SVG and PNG"),
    )


def run(arguments: argparse.Namespace) -> None:
    """Replay with some people taking part, and print how claims about both kinds fare."""
    need_study()
    from tarry.study.adoption import adoption  # noqa: PLC0415 - only where the study is installed
    from tarry.study.replay import replay  # noqa: PLC0415 - likewise
    from tarry.study.runs import spread_percent  # noqa: PLC0415 - likewise

    shares = [parse_number(part, "--shares") / 100 for part in arguments.shares.split(",") if part.strip()]
    practice = replay(named_policy(arguments.policy), Path(arguments.policy).name)
    table = open_table(arguments, open_columns(arguments, ATTACK))
    with progress_on_terminal("shares") as progress:
        found = adoption(
            table,
            practice,
            window=int(parse_duration(arguments.window, "the window") * 1_000_000),
            shares=shares,
            seed=arguments.seed,
            draws=arguments.draws,
            progress=progress,
        )
    if arguments.charts is not None:
        from tarry.study.charts import write_charts  # noqa: PLC0415 - slow to load
        from tarry.study.charts.curves import adoption_chart  # noqa: PLC0415 - likewise

        write_charts({"adoption": adoption_chart(found)}, arguments.charts)
    if arguments.json:
        print_json(found.as_dict())
        return
    print_table(
        ["take part", "people", "all claims", "about those who do", "about the others"],
        [
            [
                percent(point.share),
                f"{point.adopters:,}",
                spread_percent(point.right),
                spread_percent(point.right_adopters),
                spread_percent(point.right_others),
            ]
            for point in found.points
        ],
    )
    print("\nhow often the best claims that find a tenth of the linked pairs are right about the person;")
    print("a wrong claim counts for both of its people, so both parts may lie below all claims")
    if arguments.draws > 1:
        print("in brackets: the least and the most over the draws, of delays and of who takes part")
    print()
    print_sentences("in short", found.sentences or ["No claim finds enough: there is nothing to compare."])
