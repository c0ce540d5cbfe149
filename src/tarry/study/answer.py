"""What was found, as plain values: the JSON of the commands, and what reports and pages are made of."""

from typing import Any

from tarry.study.advice import Advice, Choice
from tarry.study.audit import Audit, Run
from tarry.study.batching import Posterior, posteriors
from tarry.study.score import Score, average_precision, crossover, recall_at

__all__ = ["SUSPECTS", "advice_answer", "audit_answer", "posteriors_of"]

#: How many people might have done it, in tables of posteriors.
SUSPECTS = (2, 5, 10, 20, 50)


def audit_answer(found: Audit, advice: Advice | str | None = None) -> dict[str, Any]:
    """Everything measured as plain values; no name of an actor or target is in it.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.baselines import baseline
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=["a", "a"], target=[1, 2], time=[0, 60_000_000])
    >>> audit_answer(audit(table, Question(practices=[baseline("nothing")])))["linked_pairs"]
    1
    """
    m = found.measures
    return {
        "events": m.events,
        "actors": m.actors,
        "targets": m.targets,
        "window_s": m.window / 1e6,
        "batched_share": m.batching.batched_share,
        "batching_rate": m.batching.rate,
        "moves": m.batching.moves,
        "moves_within": m.batching.moves_within,
        "different_rate": None if m.different is None else float(m.different),
        "in_batch_gaps_s": m.in_batch_gaps_s,
        "null_gaps_s": m.null_gaps_s,
        "actor_rates": m.actor_rates,
        "posteriors": [vars(posterior) for posterior in posteriors_of(found)],
        "linked_pairs": found.linked_pairs,
        "candidate_pairs": found.candidate_pairs,
        "attacks": [_run_json(run) for run in found.runs],
        "costs": [vars(cost) for cost in found.costs],
        "notes": list(found.notes),
        "advice": advice if advice is None or isinstance(advice, str) else advice_answer(advice),
    }


def _run_json(run: Run) -> dict[str, Any]:
    counts = [score.counts for score in run.scores]
    return {
        "attack": run.attack,
        "observer": run.observer,
        "policy": run.policy,
        "draw": run.draw,
        "average_precision": average_precision(counts),
        "error_crossover_rate": crossover(counts),
        "recall_at_half_precision": recall_at(counts, 0.5),
        "scores": [_score_json(score) for score in run.scores],
    }


def _score_json(score: Score) -> dict[str, Any]:
    counts = score.counts
    told = {
        "cutoff_s": score.cutoff_s,
        **vars(counts),
        "precision": counts.precision,
        "recall": counts.recall,
        "false_positive_rate": counts.false_positive_rate,
    }
    extra = {"multiple": score.multiple, "power_bound": score.power_bound}
    return {**told, **{name: value for name, value in extra.items() if value is not None}}


def advice_answer(advice: Advice) -> dict[str, Any]:
    """The recommendation and what else was tried, as plain values.

    >>> advice_answer(Advice(learned_on=1, measured_on=3, before=0.0, choices=(), best=None))["choices"]
    []
    """
    return {
        "learned_on": advice.learned_on,
        "measured_on": advice.measured_on,
        "precision_before": advice.before,
        "choices": [
            {
                **_choice_answer(choice),
                "on_frontier": advice.on_frontier(choice),
                "recommended": choice is advice.best,
            }
            for choice in advice.choices
        ],
        "sentence": advice.sentence,
        "cautions": advice.cautions,
        "linked_pairs": advice.linked_pairs,
    }


def posteriors_of(found: Audit) -> list[Posterior]:
    """How sure two acts together make an observer; nothing where the rates are not known.

    >>> from tarry.study.audit import Question, audit
    >>> from tarry.study.table import event_table
    >>> table = event_table(actor=[1, 1, 2], target=[1, 2, 3], time=[0, 60_000_000, 10**12])
    >>> [p.suspects for p in posteriors_of(audit(table, Question(practices=[])))]
    [2, 5, 10, 20, 50]
    """
    same, different = found.measures.batching.rate, found.measures.different
    if not same or different is None or different >= 1:
        return []
    return posteriors(same, float(different), SUSPECTS)


def _choice_answer(choice: Choice) -> dict[str, Any]:
    return {
        "epsilon": float(choice.policy.epsilon),
        "gap_s": float(choice.policy.gap),
        "percentile": choice.percentile,
        "precision": choice.precision,
        "average_precision": choice.average_precision,
        "mean_s": choice.mean_s,
        "longest_s": choice.longest_s,
        "spent_actors": choice.spent_actors,
        "note": choice.note,
    }
