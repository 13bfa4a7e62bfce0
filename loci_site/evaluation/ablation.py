"""Recall's numbers tried out on questions whose answers are known: each step taken out, and chosen anew over folds.

What asks the database is done once; then any numbers can be tried on the same candidates in a moment.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from statistics import fmean
from typing import Any

from access.actor import Actor
from access.groups import find_group
from access.visibility import Visibility
from loci_site.evaluation.metrics import Scores, mean_scores, score_ranking
from loci_site.evaluation.run import RUN_DEPTH, Progress, Query
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall.pipeline import CandidateSet, current_tuning, gather, score_candidates
from memories.recall.question import Question, subject_of, understand
from memories.recall.trace import Trace
from memories.recall.weights import CHOICES, STEPS, Tuning, without
from memories.search.base import RankingFields

MODE = "hybrid"
MEASURES = ("R@10", "MRR", "nDCG@10")
CHOSEN_ON = 150  # questions of each set at most that numbers are chosen on; all of a fold are measured
LEAST_GAIN = 0.0005  # a number is chosen anew only for more than a twentieth of a point


@dataclass(frozen=True)
class Trial:
    """A question with its candidates, as the usual numbers find them, and as the whole question does."""

    query: Query
    ours: tuple[Question, CandidateSet]
    whole: tuple[Question, CandidateSet]
    names: dict[int, str]


@dataclass(frozen=True)
class TrialSet:
    """A set's name and its questions."""

    name: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class CrossValidationFold:
    """What cross-validation found for one set: held-out scores with the numbers chosen elsewhere, and with the usual ones."""

    name: str
    chosen: Scores
    usual: Scores


def gather_trials(
    actor: Actor, name: str, queries: Sequence[Query], *, encoder: Encoder, progress: Progress
) -> TrialSet:
    """Ask each question within its group once; the rows of memories are shared between questions."""
    names = dict(Memory.objects.values_list("key", "source_ref"))
    rooms = {slug: recallable_by(actor, find_group(actor, slug)) for slug in {q.group for q in queries}}
    rows: dict[int, RankingFields] = {}
    as_asked = without("the subject alone", current_tuning())
    trials = []
    for done, query in enumerate(queries, start=1):
        ours, whole = (
            understand(query.text, encoder=encoder, tuning=tuning) for tuning in (current_tuning(), as_asked)
        )
        found = _gather(ours, rooms[query.group], rows)
        is_same = subject_of(query.text) == query.text
        also = found if is_same else _gather(whole, rooms[query.group], rows)
        trials.append(Trial(query, (ours, found), (whole, also), names))
        progress(f"gather {name}", done)
    return TrialSet(name, tuple(trials))


def _gather(question: Question, room: Visibility, rows: dict[int, RankingFields]) -> CandidateSet:
    gathered = gather(question, room, mode=MODE, trace=Trace())
    own = {key: rows.setdefault(key, row) for key, row in gathered.rows.items()}
    return replace(gathered, rows=own)


def score_trial(trial: Trial, tuning: Tuning) -> Scores:
    """Score one question's ranking with these numbers."""
    question, gathered = trial.ours if tuning.by_subject else trial.whole
    ranked = score_candidates(gathered, question, mode=MODE, tuning=tuning, trace=Trace()).scores[:RUN_DEPTH]
    return score_ranking([trial.names[key] for key, _ in ranked], trial.query.relevant)


def ablate(one: TrialSet, *, progress: Progress) -> dict[str, Scores]:
    """Give what each step brings to the set: the whole's scores less those without it, by the step's name."""
    usual = current_tuning()
    whole = mean_scores([score_trial(trial, usual) for trial in one.trials])
    gains = {}
    for done, step in enumerate(STEPS, start=1):
        less = mean_scores([score_trial(trial, without(step, usual)) for trial in one.trials])
        gains[step] = {name: whole[name] - less[name] for name in whole}
        progress(f"ablate {one.name}", done)
    return gains


def fold_of(set_name: str, query: Query, folds: int, *, is_single: bool) -> int:
    """Give the fold of a question: that of its group, or its own where the set has one group."""
    text = f"{set_name}/{query.id if is_single else query.group}"
    return int.from_bytes(sha256(text.encode()).digest()[:4]) % folds


def cross_validate(sets: Sequence[TrialSet], *, folds: int, progress: Progress) -> list[CrossValidationFold]:
    """Choose each number on all folds but one, over all sets at once, and measure on that one; once for each fold.

    One number after the other is moved to another of its CHOICES where that raises the goal: the mean over sets of R@10
    and nDCG@10. Each set counts alike, however many questions it has.
    """
    singles = {one.name: len({trial.query.group for trial in one.trials}) == 1 for one in sets}
    table = _Table(sets, lambda one, q: fold_of(one.name, q, folds, is_single=singles[one.name]))
    held: defaultdict[str, list[Scores]] = defaultdict(list)
    for fold in range(folds):
        tuning = table.choose(without_fold=fold)
        for one in sets:
            held[one.name] += [table.scores(trial, tuning) for trial in table.inside(one, fold)]
        progress("folds", fold + 1)
    usual = current_tuning()
    return [
        CrossValidationFold(
            one.name,
            mean_scores(held[one.name]),
            mean_scores([table.scores(trial, usual) for trial in one.trials]),
        )
        for one in sets
    ]


class _Table:
    """Scores of trials by numbers, each worked out once."""

    def __init__(self, sets: Sequence[TrialSet], fold: Callable[[TrialSet, Query], int]) -> None:
        self._sets = sets
        self._fold = {id(trial): fold(one, trial.query) for one in sets for trial in one.trials}
        self._known: dict[tuple[Tuning, int], Scores] = {}

    def scores(self, trial: Trial, tuning: Tuning) -> Scores:
        """Give one question's scores."""
        known = self._known.get((tuning, id(trial)))
        if known is None:
            known = self._known[tuning, id(trial)] = score_trial(trial, tuning)
        return known

    def inside(self, one: TrialSet, fold: int) -> list[Trial]:
        """Give a set's questions of a fold."""
        return [trial for trial in one.trials if self._fold[id(trial)] == fold]

    def choose(self, *, without_fold: int) -> Tuning:
        """Give the numbers that do best outside a fold."""
        parts = [_sample([t for t in one.trials if self._fold[id(t)] != without_fold]) for one in self._sets]
        tuning = current_tuning()
        if not any(parts):
            return tuning
        best = self._goal(parts, tuning)
        for name, values in CHOICES.items():
            for value in values:
                changed: dict[str, Any] = {name: value}
                other = replace(tuning, **changed)
                reached = self._goal(parts, other)
                if reached > best + LEAST_GAIN:
                    best, tuning = reached, other
        return tuning

    def _goal(self, parts: Iterable[Sequence[Trial]], tuning: Tuning) -> float:
        means = [mean_scores([self.scores(trial, tuning) for trial in part]) for part in parts if part]
        return fmean((mean["R@10"] + mean["nDCG@10"]) / 2 for mean in means)


def _sample(trials: Sequence[Trial]) -> Sequence[Trial]:
    """Give evenly spread ones of many."""
    step = max(1, -(-len(trials) // CHOSEN_ON))
    return trials[::step]
