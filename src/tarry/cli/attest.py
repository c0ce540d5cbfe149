"""Hold a mechanism to a promise by its releases alone: a lower bound on its epsilon, or a breach.

It plays stories that the promise says are hard to tell apart, and tells them apart as well as it can. The
policy says what is promised. Without more, the policy itself is attested; --baseline, --code or --program
names something else. Which stories and releases to look at is searched on some of the samples; the bound
counts fresh ones. Exit 0 where it is consistent with the promise, 1 where it is broken. The same seed finds
the same again.

  tarry attest policy.toml
  tarry attest policy.toml --season
  tarry attest --epsilon 1 --gap 11m --baseline jitter:24h
  tarry attest --epsilon 1 --gap 11m --code mine:releases --allow-code
  tarry attest --epsilon 1 --gap 11m --program "python3 mine.py"
  tarry attest --gateway http://127.0.0.1:8420 --space lab --token-file token.txt
  tarry attest --gallery

A running gateway gets real posts on its real clock, in a space of their own, whose policy it tells itself.
The token must have the scope submit. Delays of hours are attested in a space with the same law and a
shorter gap and window: that attests the code, and not the policy.
"""

import argparse
import shlex
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tarry.cli.main import Argument, add_all, need_study, read_text
from tarry.cli.options import add_policy, policy_from, whole_number
from tarry.cli.show import print_json, print_sentences, print_table, progress_on_terminal, rounded
from tarry.core.errors import BadInput
from tarry.core.exact import format_duration, parse_number
from tarry.core.policy import Policy

if TYPE_CHECKING:
    from tarry.study.attest import Attestation
    from tarry.study.attest.interfaces import BlackBox, NeighbourGenerator

__all__ = ["add_arguments", "run"]

_MOST_SAMPLES = 100_000_000
_MOST_PAIRS = 10_000
_CELLS = 40_000_000  # releases that are held at once: a season has many for each sample
_MOST_RATE = 100_000
_DAY = 86_400  # at its end everything that is rounded changes
#: For which breaches that power is worked out.
_WHERE = "where the true story always shows it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `tarry attest`."""
    add_policy(parser)
    add_all(
        parser,
        Argument("--baseline", metavar="NAME", help="attest this habit, such as jitter:24h"),
        Argument(
            "--observer", default="notified", help="who sees the habit: notified, archive or poller:10m"
        ),
        Argument(
            "--code",
            metavar="NAME",
            help="attest this function or class: of an installed package, or module:NAME with --allow-code",
        ),
        Argument("--program", metavar="WORDS", help="attest this program: JSON in, JSON lines out"),
        Argument("--gateway", metavar="URL", help="attest a space of a running gateway"),
        Argument("--space", metavar="NAME", help="the space; it should be there for nothing else"),
        Argument("--token-file", metavar="FILE", help="holds a token that may post there; - reads input"),
        Argument("--rate", default="180", help="posts in a second, at most (default: 180)"),
        Argument("--seconds", default="300", help="how long to take, about (default: 300)"),
        Argument("--gallery", action="store_true", help="find every broken mechanism that is known"),
        Argument(
            "--season",
            metavar="PAIRS",
            nargs="?",
            const="",
            help="attest many pairs together: those of the policy's season, or so many",
        ),
        Argument("--samples", default="400000", help="of all stories together (default: 400000)"),
        Argument("--level", default="0.05", help="the chance of a wrong verdict (default: 0.05)"),
        Argument("--seed", default="1", help="of the draws (default: 1)"),
        Argument("--secure", action="store_true", help="draw from the secure source instead"),
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict."""
    if arguments.gallery:
        return _gallery(arguments)
    if arguments.gateway is not None:
        return _answer(arguments, *_attest_gateway(arguments))
    policy = policy_from(arguments)
    samples = whole_number(arguments.samples, "--samples", 1, _MOST_SAMPLES)
    box, generator = _box(arguments, policy), _generator(arguments, policy)
    if arguments.season is not None:
        samples = min(samples, _CELLS // max(len(pair.true.acts) for pair in generator.pairs()))

    from tarry.study.attest import attest  # noqa: PLC0415 - loads numpy

    with progress_on_terminal("samples") as progress:
        attestation = attest(
            box,
            generator,
            samples=samples,
            level=_level(arguments),
            seed=_seed(arguments),
            progress=progress,
        )
    return _answer(arguments, attestation, policy.tick)


def _answer(arguments: argparse.Namespace, attestation: "Attestation", tick: Fraction) -> int:
    if arguments.json:
        print_json(attestation.as_json() | {"sight": _sight(attestation)})
    else:
        _print(arguments, attestation, tick)
    return int(attestation.broken)


def _attest_gateway(arguments: argparse.Namespace) -> "tuple[Attestation, Fraction]":
    """What was found, and the tick of the space."""
    for name in ("space", "token_file"):
        if getattr(arguments, name) is None:
            flag = name.replace("_", "-")
            raise BadInput(f"no {flag} is given for the gateway", f"use --{flag}")
    for name in ("season", "baseline", "code", "program"):
        if getattr(arguments, name) is not None:
            raise BadInput(f"--{name} is attested without a gateway", f"leave out --gateway or --{name}")

    from tarry.study.attest.running import RunningSpace, attest_space  # noqa: PLC0415 - loads numpy

    space = RunningSpace(
        arguments.gateway,
        read_text(arguments.token_file, "the token file").strip(),
        arguments.space,
        posts_per_s=whole_number(arguments.rate, "--rate", 1, _MOST_RATE),
    )
    seconds = whole_number(arguments.seconds, "--seconds", 1, _DAY)
    with progress_on_terminal("seconds") as progress:
        attestation = attest_space(space, seconds=seconds, level=_level(arguments), progress=progress)
    return attestation, space.policy.tick


def _box(arguments: argparse.Namespace, policy: Policy) -> "BlackBox":
    others = [name for name in ("baseline", "code", "program") if getattr(arguments, name) is not None]
    if len(others) > 1:
        raise BadInput(f"--{others[0]} and --{others[1]} are two mechanisms", "leave out one of the two")

    from tarry.study.attest.boxes import CommandBox, PolicyBox, PracticeBox, code_box  # noqa: PLC0415

    if arguments.baseline is not None:
        need_study()
        from tarry.study.baselines import baseline  # noqa: PLC0415 - needs the study extra
        from tarry.study.practice import observer  # noqa: PLC0415

        practice = baseline(arguments.baseline, allow_code=arguments.allow_code)
        return PracticeBox(practice=practice, observer=observer(arguments.observer), unit=policy.tick)
    if arguments.code is not None:
        return code_box(arguments.code, allow_code=arguments.allow_code)
    if arguments.program is not None:
        if not (words := tuple(shlex.split(arguments.program))):
            raise BadInput("--program names no program", 'write it like --program "python3 mine.py"')
        return CommandBox(words)
    return PolicyBox(policy)


def _generator(arguments: argparse.Namespace, policy: Policy) -> "NeighbourGenerator":
    from tarry.study.attest.neighbours import Promised, Scenes, SeasonScene  # noqa: PLC0415

    promised = Promised.of_policy(policy)
    if arguments.season is None:
        starts = (0,) if arguments.baseline is None else (0, int(_DAY / policy.tick) - 1)
        # Programs and code of others count in ticks alone.
        return Scenes(promised=promised, starts=starts, edges=not (arguments.code or arguments.program))
    if arguments.season:
        acts = 2 * whole_number(arguments.season, "--season", 1, _MOST_PAIRS)
        return SeasonScene(promised=promised, acts=acts, nats=policy.share * acts, delta=policy.delta)
    if (season := policy.season) is None:
        raise BadInput("the policy is for no season", "say how many pairs: --season 20")
    return SeasonScene(promised=promised, acts=season.acts, nats=season.epsilon, delta=season.delta)


def _seed(arguments: argparse.Namespace) -> int | None:
    return None if arguments.secure else whole_number(arguments.seed, "--seed", 0, 10**18)


def _level(arguments: argparse.Namespace) -> float:
    return float(parse_number(arguments.level, "the level"))


def _sight(attestation: "Attestation") -> dict[str, float]:
    from tarry.study.attest import sight  # noqa: PLC0415 - loads numpy

    return {
        str(samples): excess
        for samples, excess in sight(float(attestation.best.pair.nats), attestation.level).items()
    }


def _print(arguments: argparse.Namespace, attestation: "Attestation", tick: Fraction) -> None:
    from tarry.study.attest import NOT_DECIDABLE  # noqa: PLC0415 - loads numpy
    from tarry.study.attest.regions import in_words  # noqa: PLC0415

    best, nats = attestation.best, f"{float(attestation.best.pair.nats):g}"
    delta = f" with delta {float(best.pair.delta):g}" if best.pair.delta else ""
    word = "broken" if attestation.broken else f"consistent with the promise up to {best.sees:.3g} nats"
    stories = (
        f"Two stories ({best.pair.kind}), in ticks of {format_duration(tick)}. In truth: {best.pair.true}. "
        f"Instead: {best.pair.other}. Promised are {nats} nats between them{delta}."
    )
    region = in_words(best.region.as_json(), _times(arguments, tick))
    bound = (
        f"They are at least {best.epsilon:.3f} nats apart: of {best.samples:,} fresh samples of each, "
        f"{best.hits[0]:,} of the true story and {best.hits[1]:,} of the other are such that {region}."
    )
    sure = f"That is wrong with a chance of at most {attestation.level:g}, all looks at samples together."
    more = (
        f"The promised nats would need a delta of at least {best.delta:.3g}."
        if attestation.broken
        else f"So many samples find an excess of {best.sees:.3g} nats nine times in ten, {_WHERE}."
    )
    print_sentences(f"{attestation.name}: {word}", [stories, bound, sure, more])
    seen = ", ".join(f"{excess:.3f} in {int(samples):,}" for samples, excess in _sight(attestation).items())
    drawn = _drawn(arguments, attestation)
    power = f"An excess over {nats} nats is found nine times in ten, by fresh samples of each story"
    print_sentences(
        "what can be seen",
        [
            f"{power}: {seen}; {_WHERE}.",
            f"Not decidable from releases: {'; '.join(NOT_DECIDABLE)}.",
            f"{attestation.drawn:,} samples were {drawn}; --json has all of the region.",
        ],
    )


def _times(arguments: argparse.Namespace, tick: Fraction) -> Callable[[int], str]:
    """How a time of the mechanism's is written: others' have units of their own."""
    if arguments.code is not None or arguments.program is not None:
        return str
    unit = tick if arguments.baseline is None else Fraction(1, 1_000_000)
    return lambda time: f"{'-' if time < 0 else ''}{rounded(abs(time) * unit)}"


def _drawn(arguments: argparse.Namespace, attestation: "Attestation") -> str:
    if arguments.gateway is not None:
        return f"played there, of which {attestation.left_out:,} could not be sent in time and do not count"
    return (
        "drawn from the secure source"
        if attestation.seed is None
        else f"drawn with seed {attestation.seed}"
    )


def _gallery(arguments: argparse.Namespace) -> int:
    from tarry.study.attest import attest  # noqa: PLC0415 - loads numpy
    from tarry.study.attest.boxes import RuleBox  # noqa: PLC0415
    from tarry.study.attest.gallery import GALLERY, SOUND, excess_of  # noqa: PLC0415

    rows: list[dict[str, Any]] = []
    exhibits = [*GALLERY, *SOUND]
    with progress_on_terminal("mechanisms") as progress:
        for done, exhibit in enumerate(exhibits):
            if progress is not None:
                progress(done, len(exhibits))
            attestation = attest(
                RuleBox(exhibit.rule),
                exhibit.scenes,
                samples=exhibit.budget,
                level=_level(arguments),
                seed=_seed(arguments),
            )
            rows.append(
                {
                    "mechanism": exhibit.rule.name,
                    "excess": excess_of(exhibit),
                    "found": max(0.0, attestation.best.epsilon - float(attestation.best.pair.nats)),
                    "verdict": attestation.word,
                    "right": attestation.broken == (exhibit in GALLERY),
                    "drawn": attestation.drawn,
                    "budget": exhibit.budget,
                }
            )
    if arguments.json:
        finite = [
            row | {"excess": None if row["excess"] == float("inf") else row["excess"]} for row in rows
        ]
        print_json({"gallery": finite})
    else:
        print_table(
            ["mechanism", "excess", "found", "verdict", "drawn", "budget"],
            [
                [
                    row["mechanism"],
                    f"{max(0.0, row['excess']):.3f}",
                    f"{row['found']:.3f}",
                    row["verdict"],
                    f"{row['drawn']:,}",
                    f"{row['budget']:,}",
                ]
                for row in rows
            ],
        )
        print("excess: nats beyond the promise, exactly; found: at least so many, seen from releases")
    return int(not all(row["right"] for row in rows))
