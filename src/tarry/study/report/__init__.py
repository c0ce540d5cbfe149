"""The report as a page: one HTML file with everything in it, without a script.

Here are its head and what it says to do: what a policy would change, and what is promised.
"""

from collections.abc import Mapping
from fractions import Fraction
from importlib.metadata import version

from tarry.core.exact import format_duration
from tarry.core.policy import Policy
from tarry.core.policy_file import write_policy
from tarry.core.promise import promise
from tarry.study.advice import Advice
from tarry.study.audit import Report
from tarry.study.charts import audit_charts, threats_of
from tarry.study.figures import days, number, percent, points, seconds, shown_names
from tarry.study.further import looked_for
from tarry.study.practice import MICROSECONDS, Spent
from tarry.study.report.long_watch import long_watch
from tarry.study.report.markup import Html, el, items, join, table, whole_page
from tarry.study.report.sections import (
    Charts,
    batching,
    curves,
    linking,
    measured,
    picture,
    section,
    suspects,
    threat_title,
)
from tarry.study.report.tables import choices_table, costs_table
from tarry.study.tried import PRICE

__all__ = [
    "GLOSSARY",
    "TITLE",
    "glossary",
    "in_short",
    "promises",
    "recommendation",
    "report_html",
    "spent_words",
    "stamp",
]

TITLE = "How linkable are these people by when they act?"
_LISTED = 20  # cutoffs; of more only the ends are named
_CLAIMS = (
    "Claims: an observer says of two acts that they are one person's. The figure is how often that is "
    "right at the best cutoff among those that find at least a tenth of the linked pairs, with an interval "
    "over people; lower is more private. Beside it: how often acts that nobody batched are one person's."
)


def report_html(report: Report, *, title: str = TITLE) -> str:
    """A whole page. No name of an actor or target is in it, and no path of a file.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report_html(audit(table, Question(practices=["nothing"])), title="Us")[:15]
    '<!doctype html>'
    """
    charts = audit_charts(report)
    return whole_page(
        title,
        _header(report, title),
        in_short(report),
        measured(report, stamp(report)),
        batching(report, charts),
        suspects(report, charts),
        linking(report, charts),
        recommendation(report, charts),
        long_watch(report, charts),
        promises(report),
        glossary(),
    )


def stamp(report: Report) -> dict[str, str]:
    """What one needs to make a report again: no file, no machine, no hour.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> stamp(audit(table, Question(practices=["nothing"], cutoffs=["1m", "5m"], collapse=True)))["cutoffs"]
    '1m, 5m'
    """
    question = report.question
    advised = f"; for the recommendation {question.advice_draws}" if question.recommend else ""
    filters = {
        "without bots": bool(question.without_bots),
        "bots count too": question.without_bots is False,
        "same events once": question.collapse,
        f"at most {question.busy_limit} events of an actor": question.busy_limit is not None,
        f"claims about {looked_for(question)} alone": bool(looked_for(question)),
    }
    cutoffs = [format_duration(Fraction(cutoff, MICROSECONDS)) for cutoff in question.cutoffs]
    listed = ", ".join(cutoffs) if len(cutoffs) <= _LISTED else f"{cutoffs[0]} to {cutoffs[-1]}"
    return {
        "tarry": version("tarry"),
        "seed": str(question.seed),
        "draws": f"{question.draws}{advised}",
        "practices": "; ".join(shown_names([one.name for one in question.practices]).values()),
        "observers": "; ".join(one.name for one in question.observers),
        "attacks": "; ".join(one.name for one in question.attacks),
        "window": format_duration(Fraction(question.window, MICROSECONDS)),
        "cutoffs": listed + (", and on until all linked pairs lie within" if question.stretch else ""),
        "filters": ", ".join(words for words, used in filters.items() if used) or "none",
        **({"limits": "; ".join(question.limits.words)} if question.limits.words else {}),
    }


def _header(report: Report, title: str) -> Html:
    m = report.measures
    lead = (
        f"{number(m.events)} events by {number(m.actors)} people on {number(m.targets)} targets, "
        f"{' to '.join(days(m.first, m.last))}"
    )
    return el("header", el("h1", title), el("p", lead, class_="lead"))


def in_short(report: Report) -> Html:
    """The figures that matter most, and which part of the history each is about.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> "The whole history" in in_short(audit(table, Question(practices=[])))
    True
    """
    advice = report.advice
    advised = advice is not None and bool(advice.right_before)
    several = len({run.policy for run in report.runs}) > 1
    parts = [
        el("h3", "The whole history, as it is"),
        _tiles(_whole(report, claims=not advised and not several)),
    ]
    if several:
        parts += [el("h3", "The whole history, under each practice"), _sides(report)]
        parts += [el("p", words) for words in [spent_words(report)] if words]
    parts.append(items("ul", report.headlines))
    if advice is not None and advised:
        later = f"Its later part ({number(advice.measured_on)} events), where policies were measured"
        parts += [el("h3", later), _tiles(_later(advice))]
    if report.recommendation:
        sentence, *why = report.recommendation
        parts += [el("p", sentence, class_="advice"), items("ul", why)]
    return section("In short", *parts, el("p", _CLAIMS, class_="small") if report.linked_pairs else "")


def _whole(report: Report, *, claims: bool) -> list[tuple[str, str]]:
    """Figures of all events; how often claims are right only where nothing else tells it."""
    m = report.measures
    tiles = [
        (percent(m.batching.batched_share), f"of acts have a partner within {seconds(m.window / 1e6)}"),
        (number(report.linked_pairs), "linked pairs: two acts of one person that close together"),
    ]
    now = [line for line in report.lines if line.policy == "nothing"][:1]
    right = "of claims that two acts are one person's are right with nothing done"
    return tiles + [(line.right_words, right) for line in now if line.right_person is not None and claims]


def _later(advice: Advice) -> list[tuple[str, str]]:
    """Figures of the part that no policy was learned on."""
    right = "of claims that two acts are one person's are right with"
    tiles = [(advice.right_words, f"{right} nothing done")]
    if advice.best is None:
        return tiles
    return [
        *tiles,
        (advice.best.right_words, f"{right} the recommended policy"),
        (percent(advice.best.reference), "of acts a little further apart than a batch are anyway"),
        (points(advice.best.excess), "points: the excess, what batching itself still gives away"),
        (seconds(advice.best.mean_s), "mean delay of that policy"),
        (percent(advice.best.reordered), "of neighbours on one target change places"),
    ]


def _tiles(figures: list[tuple[str, str]]) -> Html:
    tiles = [el("div", el("dt", words), el("dd", figure)) for figure, words in figures]
    return el("dl", *tiles, class_="tiles")


def _sides(report: Report) -> Html:
    """The practices side by side: what each costs, buys under every attack, and promises."""
    lines = report.lines
    threats = dict.fromkeys((line.observer, line.attack) for line in lines)
    one = len({attack for _, attack in threats}) == 1  # then its name need not stand in every column
    rows = []
    for policy, name in shown_names([line.policy for line in lines]).items():
        under = {(line.observer, line.attack): line for line in lines if line.policy == policy}
        right = [under[threat].right_words if threat in under else "-" for threat in threats]
        first = next(iter(under.values()))
        waiting = [percent(first.reordered), "-" if first.reply_s is None else seconds(first.reply_s)]
        anyway = [percent(first.reference), points(first.excess)]
        rows.append([name, seconds(first.mean_s), *right, *anyway, *waiting, report.promises[policy]])
    header = ["practice", "mean delay"]
    header += [f"one person's, observer {seen}" + f", {attack}" * (not one) for seen, attack in threats]
    excess = "excess" if len(threats) == 1 else f"excess, {' '.join(next(iter(threats)))}"
    header += ["reference", excess, "reordered", "half reply within", "promise"]
    return table("Practices side by side", header, rows)


def spent_words(report: Report) -> str:
    """How many people are beyond what each policy promises, in the worst draw.

    Nothing where no policy counts batched acts.

    >>> from tarry.core.policy import Policy
    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.replay import replay
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a", "b"], target=[1, 2, 3], time=[0, 60_000_000, 61_000_000])
    >>> report = audit(table, Question(practices=[replay(Policy(epsilon="9", gap="11m"), "mine")]))
    >>> spent_words(report)[:49]
    'Under mine epsilon adds up: 1 of 2 people batch s'
    """
    worst: dict[str, Spent] = {}
    for cost in report.costs:
        if cost.spent is not None:
            before = worst.get(cost.policy, cost.spent)
            worst[cost.policy] = max(before, cost.spent, key=lambda spent: (spent.actors, spent.most_nats))
    if not worst:
        return ""
    names = shown_names([cost.policy for cost in report.costs])
    sentences = [
        f"Under {names[policy]} {spent.words(report.measures.actors)}." for policy, spent in worst.items()
    ]
    return " ".join(
        [
            *sentences,
            "Each pair by itself is covered all the same. The longer the history, the more is used.",
        ]
    )


GLOSSARY = {
    "actor": "the person behind an event; their names are in no part of this report",
    "target": "the visible thing acted on: a paper, a page, an address, a thread",
    "window": "two events of one actor on different targets, at most this far apart, are batched",
    "gap": "how far apart two acts would plausibly be had they not been batched",
    "candidates": "all pairs of events on different targets",
    "linked": "candidates of one actor whose arrivals are at most the window apart: what is to be found",
    "cutoff": "what an attack takes for close: it claims the pairs that appear at most this far apart",
    "one person's": "the share of claims that are right about the person, batched or not",
    "reference": (
        "how often acts further apart than the window, up to gap and window, are one person's: what a "
        "policy makes a batch look like; long delays may go below it"
    ),
    "excess": "one person's less the reference, in points of a percent: what batching itself gives away",
    "lift": "how many times as often as over all pairs claims are right; for orientation only",
    "batched, precision": "the share of claims that are linked pairs, as measured, never smoothed",
    "recall": "the share of linked pairs that are claimed",
    "false alarms": "the share of pairs not linked that are claimed all the same",
    "finding a tenth": "of the cutoffs that find at least a tenth of the linked pairs, the best one",
    "average precision": "precision averaged over the recall that is reached; 100 % is a perfect attack",
    "error crossover": "where misses and false alarms are equally frequent; higher is more private",
    "reordered": "neighbours on one target that appear in another order than they arrived in",
    "epsilon": "the budget of the promise for each batched pair; smaller is more private and slower",
    "epsilon used": (
        "what the batched acts of one person cost together; above 3 to 5 little is left of a promise "
        "against somebody who keeps watching"
    ),
    "draw": "one replay of the history with freshly drawn delays",
    "move": "two consecutive events of one actor on different targets",
}


def recommendation(report: Report, charts: Charts) -> Html:
    """What a delay would change, what it costs, and which policy to take.

    >>> from tarry.study.audit import audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> recommendation(audit(table), {})[:67]
    '<section><h2>What a delay would change, and cost</h2><p>No recommen'
    """
    title, advice = "What a delay would change, and cost", report.advice
    if report.no_advice:
        return section(title, el("p", f"No recommendation: {report.no_advice}."))
    if advice is None:
        return Html()
    if not advice.choices or not advice.right_before:
        return section(title, el("p", advice.sentence), items("ul", advice.words[1:]))
    trade = "What each policy costs (mean delay) and buys (fewer right claims); numbers as in the table."
    notes = dict.fromkeys(choice.note for choice in advice.choices if choice.note)
    return section(
        title,
        el("p", _how(advice)),
        el("p", advice.sentence, class_="advice"),
        items("ul", advice.words[1:]),
        el("div", picture(charts, "advice", trade), choices_table(advice), class_="beside"),
        *(el("p", f"Note: {note}", class_="small") for note in notes),
        *_to_copy(advice),
        *_before_and_after(report.after, charts),
    )


def _how(advice: Advice) -> str:
    times = f", and again on later parts: {advice.trials} trials" if advice.trials > 1 else ""
    return (
        f"Policies were learned on the first {number(advice.learned_on)} events and measured on the other "
        f"{number(advice.measured_on)}{times}. What counts is the share of right claims that a policy "
        f"removes; each doubling of the mean delay must remove another {percent(PRICE)} of them. Policies "
        "that the trials do not tell apart are a tie, and of a tie the strongest promise is taken. "
        "Brackets hold the least and the most over all trials and draws; the other figures of this "
        "section are about the first trial, those above about the whole history."
    )


def _to_copy(advice: Advice) -> list[Html]:
    if advice.best is None:
        return []
    return [
        el("h3", "The policy to copy"),
        el("p", "Save this as policy.toml:"),
        el("pre", el("code", write_policy(advice.best.policy)), tabindex=0, aria_label="policy.toml"),
    ]


def _before_and_after(after: Report | None, charts: Charts) -> list[Html]:
    if after is None or not after.linked_pairs:
        return []
    return [el("h3", "What waiting would cost"), costs_table(after)] + [
        join(
            [
                el("h3", f"Before and after: {threat_title(*threat).lower()}"),
                curves(after, threat, runs, charts, "after-"),
            ]
        )
        for threat, runs in threats_of(after).items()
    ]


def promises(report: Report) -> Html:
    """What each policy promises, and what it does not; and the promise of every practice in short.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> page = promises(audit(table, Question(practices=[Policy(epsilon="1", gap="11m")])))
    >>> "<h4>Promised</h4>" in page, "<h4>Not promised</h4>" in page
    (True, True)
    """
    best = None if report.advice is None else report.advice.best
    policies = {} if best is None else {"recommended": best.policy}
    policies |= {one.name: one.policy for one in report.question.practices if one.policy is not None}
    parts = _side_by_side(report.promises, report.question.gap) + _of_policies(policies)
    if not policies:
        none = "Nothing is promised in full: no policy is recommended or was given."
        parts.insert(0, el("p", none))
    measured = "What was measured above is how one attack fared on one history. That is not a promise."
    return section("What is promised, and what is not", el("p", measured), *parts)


def _side_by_side(in_short: Mapping[str, str], gap: Fraction) -> list[Html]:
    """The promise of each practice in a few words, where there is more than doing nothing."""
    if len(in_short) < 2:
        return []
    names = shown_names(list(in_short))
    rows = [[names[name], words] for name, words in in_short.items()]
    listed = [table("What each practice promises", ["practice", "promise"], rows)]
    if any("delta" in words for words in in_short.values()):
        delta = (
            "Delta: the chance that a batched act gives itself away for sure, because it appears sooner "
            f"than one that came a gap later could ({format_duration(gap)} where a practice has no gap of "
            "its own). Without an epsilon beside it, nothing is promised about the rest."
        )
        listed.append(el("p", delta, class_="small"))
    return listed


def _of_policies(policies: Mapping[str, Policy]) -> list[Html]:
    names = shown_names(list(policies))
    parts = []
    for name, policy in policies.items():
        full = promise(policy)
        parts += [
            el("h3", f"Policy: {names[name]}"),
            el("h4", "Promised"),
            items("ul", full.promised),
            el("h4", "Not promised"),
            items("ul", full.not_promised),
        ]
    return parts


def glossary() -> Html:
    """What the words mean.

    >>> glossary()[:55]
    '<section><h2>What the words mean</h2><dl class="words">'
    """
    words = [el("div", el("dt", word), el("dd", meaning)) for word, meaning in GLOSSARY.items()]
    return section("What the words mean", el("dl", *words, class_="words"))
