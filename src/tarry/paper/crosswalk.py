"""The paper item by item: which script is about it, and whether it stands."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["AUTHORS_CODE", "CROSSWALK", "INFERRED", "PaperItem", "PaperVerdict", "summary"]

AUTHORS_CODE = "https://github.com/akgoldberg/batching-privacy"


class PaperVerdict(StrEnum):
    """What became of an item of the paper.

    >>> str(PaperVerdict.UNCHECKED)
    'cannot be checked'
    """

    STANDS = "stands"  # it comes out, or its proof holds
    CORRECTED = "corrected"  # it holds with a correction, which is named
    FALSE = "false"  # as printed there is a counterexample
    UNCHECKED = "cannot be checked"  # it needs data that we do not have


_STANDS, _CORRECTED = PaperVerdict.STANDS, PaperVerdict.CORRECTED
_FALSE, _UNCHECKED = PaperVerdict.FALSE, PaperVerdict.UNCHECKED


@dataclass(frozen=True)
class PaperItem:
    """A figure, table, algorithm, statement or appendix of the paper.

    >>> CROSSWALK[0].name, str(CROSSWALK[0].verdict)
    ('Figure 2', 'corrected')
    """

    name: str
    about: str
    scripts: tuple[str, ...]  # whose sections are about it; the first is where to begin
    verdict: PaperVerdict
    why: str
    inferred: bool = False  # a part of it rests on the authors' code as it reads, not on a run of it


#: Figure 1 is a drawing and claims nothing; statements are named, since printed numbers differ by edition.
CROSSWALK: tuple[PaperItem, ...] = (
    PaperItem(
        "Figure 2",
        "how sure two acts together make an observer",
        ("posterior",),
        _CORRECTED,
        "The curve of the text's rates comes out; the authors' plot has 0.72 % where the text has 0.66 %.",
        inferred=True,
    ),
    PaperItem(
        "Figure 3",
        "expected delay of four laws",
        ("delays",),
        _CORRECTED,
        "The factor of nearly 2 stands. That the laws are similar for larger epsilon does not, for "
        "unbatched events.",
    ),
    PaperItem(
        "Figure 4",
        "the frontier of the two delays",
        ("frontier",),
        _CORRECTED,
        "It is the frontier of pairs that spend half of epsilon on each event. Others lie below it.",
    ),
    PaperItem(
        "Figure 5",
        "attack on Wikipedia, gaps of 11 and 36 minutes",
        ("wikipedia", "delay_tables"),
        _UNCHECKED,
        "Not run on the authors' data. By their code each curve belongs to the percentile below its name; "
        "made-up months agree with that.",
        inferred=True,
    ),
    PaperItem(
        "Figure 6",
        "attacks on Bitcoin, median gap",
        ("bitcoin",),
        _UNCHECKED,
        "Made-up weeks come near, but they were tuned to. The rule for the gap looks at the payments it "
        "protects.",
    ),
    PaperItem(
        "Figure 7",
        "delays of Bitcoin payments, median gap",
        ("bitcoin",),
        _UNCHECKED,
        "Made-up weeks come near, but they were tuned to.",
    ),
    PaperItem(
        "Figure 8",
        "attack on Wikipedia, a gap of 79 minutes",
        ("wikipedia", "delay_tables"),
        _UNCHECKED,
        "As Figure 5.",
        inferred=True,
    ),
    PaperItem(
        "Figures 9 to 12",
        "Bitcoin with the 25th and the 75th percentile",
        ("bitcoin",),
        _UNCHECKED,
        "As Figures 6 and 7. The captions of the last two say median; the text has the 75th percentile.",
    ),
    PaperItem(
        "Table 1",
        "delays for gaps of 11 and 36 minutes",
        ("delay_tables",),
        _CORRECTED,
        "All 16 entries come out, with 32.5 minutes for 36. The window is missing in the gap, and the text "
        "quotes the wrong row.",
    ),
    PaperItem(
        "Table 2",
        "delays for a gap of 79 minutes",
        ("delay_tables",),
        _CORRECTED,
        "All 8 entries come out. The window is missing in the gap.",
    ),
    PaperItem(
        "Algorithm 1",
        "independent delays from two laws",
        ("gallery",),
        _CORRECTED,
        "It keeps a promise, but not that of the printed definition: see the theorem on privacy.",
    ),
    PaperItem(
        "Algorithm 2",
        "the zero-inflated uniform mechanism",
        ("delay_tables", "frontier"),
        _STANDS,
        "Its eta is the best of its class, although the derivative printed for it is wrong.",
    ),
    PaperItem(
        "Algorithm 3",
        "batches that are not simultaneous",
        ("gallery",),
        _FALSE,
        "It looks ahead only: the last act of a batch counts as alone, no bound. Looking both ways works.",
    ),
    PaperItem(
        "Algorithm 4",
        "the queue",
        ("queue",),
        _CORRECTED,
        "It does what is proved where something arrives in every step. In traffic with quiet steps its "
        "backlog never shrinks.",
    ),
    PaperItem(
        "Definitions of neighbours and of OSDP",
        "what is hidden",
        ("gallery",),
        _CORRECTED,
        "Read literally, no mechanism that releases everything can meet them. A promise about fewer "
        "stories can be met: Theorem 1''.",
    ),
    PaperItem(
        "Definition of one-sided indistinguishable laws",
        "what a pair of laws must keep",
        ("delays",),
        _STANDS,
        "It is what `verify` decides.",
    ),
    PaperItem(
        "Definition of two-sided privacy",
        "both directions",
        ("impossibility",),
        _CORRECTED,
        "The inequality is printed without its delta.",
    ),
    PaperItem(
        "Definition of neighbours with a window",
        "batches within beta",
        ("gallery",),
        _CORRECTED,
        "As for the definition without a window.",
    ),
    PaperItem(
        "Theorem on the privacy of random delays",
        "Algorithm 1 is private",
        ("gallery",),
        _FALSE,
        "An act that was batched already may move: no bound. Theorem 1'' is what holds.",
    ),
    PaperItem(
        "Theorem on choices of laws",
        "four pairs of laws and their means",
        ("delay_tables", "delays"),
        _CORRECTED,
        "The pairs are right. The mean batched delay of the zero-inflated law is printed too low where eta "
        "is below 1.",
    ),
    PaperItem(
        "Theorem on the parameters of exponential and staircase",
        "the best of two families",
        ("delay_tables",),
        _CORRECTED,
        "The proof keeps the step of the staircase for the whole epsilon where half of it is spent.",
    ),
    PaperItem(
        "Corollary that exponential and staircase are worse",
        "than the zero-inflated law, in both means",
        ("delays",),
        _STANDS,
        "It holds at every epsilon of our table.",
    ),
    PaperItem(
        "Theorem on Pareto optimality",
        "nothing beats Algorithm 2",
        ("frontier", "gallery"),
        _FALSE,
        "Above epsilon 2 ln 2 and for large weights, private pairs outside its class have shorter delays. "
        "Within the class it holds.",
    ),
    PaperItem(
        "Theorem on the impossibility of two-sided privacy",
        "three kinds of neighbours",
        ("impossibility",),
        _FALSE,
        "The bound of part 3 is false for epsilon above 0, and right at 0; with delta 0 it is impossible "
        "indeed. Parts 1 and 2 were read, not computed.",
    ),
    PaperItem(
        "Corollary on a finite horizon",
        "everything leaves at the end",
        ("horizon",),
        _CORRECTED,
        "With a chance of 1 - delta; with delta 0 it stands.",
    ),
    PaperItem(
        "Proposition on power and type-I error",
        "and the rule for the gap",
        ("power",),
        _FALSE,
        "If the first arrival may be known and either act may come first, 7 of 9 settings break it. For "
        "differences of releases it holds in all of them.",
    ),
    PaperItem(
        "Proposition on the privacy of the queue",
        "no difference at all",
        ("queue",),
        _CORRECTED,
        "Exact where the acts of a batch are drawn independently. Those of one person are not.",
    ),
    PaperItem(
        "Proposition on the delay of the queue",
        "the number of batched acts",
        ("queue",),
        _STANDS,
        "With an arrival in every step.",
    ),
    PaperItem(
        "Proposition and corollary on the least delay",
        "no batching-private mechanism is faster than the queue",
        ("queue",),
        _STANDS,
        "The argument was read and holds; it is not computed.",
    ),
    PaperItem(
        "Appendix A",
        "proofs",
        ("delay_tables", "impossibility", "power"),
        _CORRECTED,
        "Each statement has its row above. Both derivatives of the cost are wrong, and a chain of "
        "neighbours leaves out factors of e^epsilon.",
    ),
    PaperItem(
        "Appendix B",
        "how the rates of a conference were estimated",
        ("peer_review", "posterior"),
        _UNCHECKED,
        "The conference is not named. The method runs on other histories; its second rate depends on how "
        "long one looks.",
    ),
    PaperItem(
        "Appendix C", "the queue", ("queue",), _CORRECTED, "As Algorithm 4 and the propositions about it."
    ),
    PaperItem(
        "Appendix D",
        "more experiments",
        ("wikipedia", "delay_tables", "bitcoin"),
        _UNCHECKED,
        "As Figures 8 to 12; Table 2 comes out.",
    ),
)

#: What we say that nobody has seen for certain, and what it rests on.
INFERRED: tuple[str, ...] = (
    (
        "That the attack on Wikipedia ran one percentile too low: the authors' notebook takes the gap for "
        "the attack from one place of a list, and the gap for the label from the next. The printed figures "
        "fit that reading. This is strong evidence, not certainty: we have not run it on their data."
    ),
    (
        "That Figure 2 was drawn with 0.72 %, and that precision on Bitcoin without delay was 50 %: so "
        "says the code. Whether that version of it made the printed figures is not known."
    ),
    (
        "That 7 of 9 settings break the printed bound on power: it assumes an observer who knows when the "
        "first act arrived, and strangers of whom either may come first. Without that knowledge none of "
        "the nine is broken."
    ),
)


def summary() -> str:
    """How many items there are of each verdict, and which are false, in two sentences.

    >>> summary().partition(":")[0]
    'Of 33 items'
    """
    counts = Counter(item.verdict for item in CROSSWALK)
    words = {
        _STANDS: "stand",
        _CORRECTED: "hold once corrected",
        _FALSE: "are false as printed",
        _UNCHECKED: "cannot be checked",
    }
    parts = [f"{counts[verdict]} {word}" for verdict, word in words.items()]
    false = [item.name for item in CROSSWALK if item.verdict is _FALSE]
    return (
        f"Of {len(CROSSWALK)} items: {', '.join(parts[:-1])}, and {parts[-1]}. "
        f"False as printed: {'; '.join(false)}."
    )
