"""What a command, a page or a report shows of a long watch: sentences and tables of texts."""

from dataclasses import dataclass

from tarry.study.figures import percent, seconds
from tarry.study.watch import Watch
from tarry.study.watch.findings import WatchFinding

__all__ = ["WatchSection", "WatchTable", "watch_section"]

_TITLES = {"random": "targets split at random", "time": "targets split by time"}


@dataclass(frozen=True)
class WatchTable:
    """A table of texts.

    >>> WatchTable("targets split by time", ["", "first"], [["nothing", "9.5 %"]]).header
    ['', 'first']
    """

    title: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class WatchSection:
    """A section of a report.

    >>> WatchSection(lead=["2 people"], found=[], growth=[], legend=[], sentences=[]).lead
    ['2 people']
    """

    lead: list[str]
    found: list[WatchTable]  # one for each kind of split
    growth: list[WatchTable]  # with shared sessions, and with shared weeks
    legend: list[str]
    sentences: list[str]  # what an operator needs to know


def watch_section(found: Watch) -> WatchSection:
    """Everything to show of a long watch.

    >>> empty = Watch(people=2, candidates=4.0, queries=4, window_s=300.0, findings=(), notes=())
    >>> watch_section(empty).lead[0]
    '2 people; 4 names are candidates'
    """
    splits = dict.fromkeys(finding.split for finding in found.findings)
    window = seconds(found.window_s)
    chance = f"a blind guess is right {percent(found.chance)} of the time"
    legend = [
        "first: how often the other name comes before all others, and the 95 % interval",
        "among ten: how often it is one of the first ten; area: the share of others that come after it",
        "ledger: how sure of the right name an observer could be by the policy's ledger alone",
        f"session: acts of one person without a pause above {window}; shared: both names act in it",
    ]
    return WatchSection(
        lead=[
            f"{found.people:,} people; {round(found.candidates):,} names are candidates",
            f"{found.queries:,} searches for a name's other one; {chance}",
        ],
        found=[_found(found, split) for split in splits],
        growth=[_growth(found, kind) for kind in ("sessions", "weeks")] if splits else [],
        legend=legend,
        sentences=found.sentences if splits else [],
    )


def _found(found: Watch, split: str) -> WatchTable:
    header = ["", "attack", "first", "among ten", "area", "ledger"]
    rows = [_row(finding) for finding in found.findings if finding.split == split]
    return WatchTable(_TITLES[split], header, rows)


def _row(finding: WatchFinding) -> list[str]:
    return [
        finding.practice,
        finding.attack,
        finding.first.text,
        percent(finding.among_ten.mean),
        percent(finding.area.mean),
        "" if finding.ledger is None else percent(finding.ledger),
    ]


def _growth(found: Watch, kind: str) -> WatchTable:
    """How often the other name comes first, for the likelihood attack on random splits."""
    findings = [one for one in found.findings if (one.split, one.attack) == ("random", "likelihood")]
    steps = [finding.by_sessions if kind == "sessions" else finding.by_weeks for finding in findings]
    rows = [
        [same[0].text, f"{same[0].queries:,}", *(percent(step.first.mean) for step in same)]
        for same in zip(*steps, strict=True)
    ]
    header = [kind, "searches", *(finding.practice for finding in findings)]
    return WatchTable(f"first, by {kind} shared", header, rows)
