"""Recall's weights on questions with known answers: what each feature gains, and all of them fitted anew.

The database is queried once; after that, any weights can be tried on the same candidates quickly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from access.actor import Actor
from access.groups import find_group
from bench.evaluate.metrics import Scores, mean_scores, score_ranking
from bench.evaluate.question_files import Query
from bench.evaluate.run import RUN_DEPTH, Progress
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall.pipeline import CandidateSet, gather, score_candidates
from memories.recall.question import Question, understand
from memories.recall.scoring import Trace, measure
from memories.recall.weights import WEIGHTS, Weights
from memories.search.rows import RankingFields

_Numbers = NDArray[np.float64]

MODE: Final = "hybrid"
MEASURES: Final = ("R@10", "MRR", "nDCG@10")
FEATURES: Final = tuple(feature.name for feature in fields(Weights))
# Those that questions with known answers can fit; the others are policy.
FITTED: Final = FEATURES[: FEATURES.index("unread_words")]
FOLDS: Final = 5
_STEPS: Final = 8  # of Newton's method, far more than it needs
_SHARPNESS: Final = 10.0  # a lead of 0.1 is odds of e to 1
_PULL: Final = 0.02  # towards the weights in use: a feature that few questions have stays where it is


@dataclass(frozen=True)
class Trial:
    """A question with its candidates, and the ids of the memories by key."""

    query: Query
    question: Question
    gathered: CandidateSet
    names: Mapping[int, str]

    @cached_property
    def leads(self) -> tuple[_Numbers, _Numbers] | None:
        """For each pair of a right and a wrong candidate: how far the right one leads by each fitted feature (pairs × features),
        and by the other parts of the scores; None if there is no such pair.

        Features of a memory's surroundings are those by the weights in use.
        """
        gathered = self.gathered
        right = np.array([self.names[c.key] in self.query.relevant for c in gathered.candidates], dtype=bool)
        if self.question.is_time_alone or not right.any() or right.all():
            return None
        features = measure(
            gathered.candidates, gathered.rows, self.question,
            related=gathered.related.features, group_key=gathered.group_key,
        )  # fmt: skip
        none = np.zeros(len(right))
        matrix = np.stack([features.get(name, none) for name in FITTED], axis=1)
        policy = features.keys() - set(FITTED)
        other = sum((getattr(WEIGHTS, name) * features[name] for name in policy), none)
        leads = (matrix[right][:, None] - matrix[~right][None]).reshape(-1, len(FITTED))
        return leads, (other[right][:, None] - other[~right][None]).reshape(-1)


@dataclass(frozen=True)
class TrialSet:
    """A data set's name and its trials."""

    name: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class FittedSet:
    """A set's scores with the weights in use, with those fitted on other groups, and on the other sets alone."""

    name: str
    usual: Scores
    other_groups: Scores
    other_sets: Scores


@dataclass(frozen=True)
class Fit:
    """Weights fitted on all sets, rounded, and how well weights carry to questions that they were not fitted on."""

    weights: Weights
    sets: tuple[FittedSet, ...]

    def as_dict(self) -> dict[str, Any]:
        """The fit as JSON values."""
        return {
            "weights": {name: getattr(self.weights, name) for name in FITTED},
            "sets": {each.name: vars(each) for each in self.sets},
        }


def gather_trials(
    actor: Actor, name: str, queries: Sequence[Query], *, encoder: Encoder, progress: Progress
) -> TrialSet:
    """Gather the candidates of each question within its group once; the questions share the rows of memories."""
    names = dict(Memory.objects.values_list("key", "source_ref"))
    visibilities = {
        slug: recallable_by(actor, find_group(actor, slug)) for slug in {q.group for q in queries}
    }
    rows: dict[int, RankingFields] = {}
    trials = []
    for done, query in enumerate(queries, start=1):
        question = understand(query.text, encoder=encoder, today=query.asked)
        gathered = gather(question, visibilities[query.group], mode=MODE, trace=Trace())
        own = {key: rows.setdefault(key, row) for key, row in gathered.rows.items()}
        trials.append(Trial(query, question, replace(gathered, rows=own), names))
        progress(f"gather {name}", done)
    return TrialSet(name, tuple(trials))


def score_trial(trial: Trial, weights: Weights = WEIGHTS) -> Scores:
    """Score one question's ranking with these weights."""
    ranking = score_candidates(trial.gathered, trial.question, mode=MODE, weights=weights, trace=Trace())
    return score_ranking([trial.names[key] for key, _ in ranking.scores[:RUN_DEPTH]], trial.query.relevant)


def _mean(trials: Sequence[Trial], weights: Weights = WEIGHTS) -> Scores:
    return mean_scores([score_trial(trial, weights) for trial in trials])


def ablate(trial_set: TrialSet, *, progress: Progress) -> dict[str, Scores]:
    """What each feature of recall gains, by its name: the scores with all of them less those without it."""
    usual = _mean(trial_set.trials)
    gains = {}
    for done, name in enumerate(FEATURES, start=1):
        without: dict[str, float] = {name: 0.0}
        less = _mean(trial_set.trials, replace(WEIGHTS, **without))
        gains[name] = {measure: usual[measure] - less[measure] for measure in usual}
        progress(f"ablate {trial_set.name}", done)
    return gains


def fold_of(set_name: str, query: Query, *, is_single: bool) -> int:
    """Fold of a question: by its group, or by its own id if the set has a single group."""
    text = f"{set_name}/{query.id if is_single else query.group}"
    return int.from_bytes(sha256(text.encode()).digest()[:4]) % FOLDS


def fit(sets: Sequence[TrialSet], *, progress: Progress) -> Fit:
    """Fit the weights on all sets; and, to see how they carry, on four fifths of the groups and on all sets but one."""
    trials = {each.name: each.trials for each in sets}
    folds = {
        name: [fold_of(name, trial.query, is_single=len({t.query.group for t in own}) == 1) for trial in own]
        for name, own in trials.items()
    }
    held: dict[str, list[Scores]] = {name: [] for name in trials}
    for fold in range(FOLDS):
        weights = fit_weights(
            [
                [t for t, at in zip(own, folds[name], strict=True) if at != fold]
                for name, own in trials.items()
            ]
        )
        for name, own in trials.items():
            held[name] += [
                score_trial(t, weights) for t, at in zip(own, folds[name], strict=True) if at == fold
            ]
        progress("fit", fold + 1)
    found = []
    for done, (name, own) in enumerate(trials.items(), start=FOLDS + 1):
        weights = fit_weights([other for each, other in trials.items() if each != name])
        found.append(FittedSet(name, _mean(own), mean_scores(held[name]), _mean(own, weights)))
        progress("fit", done)
    fitted = fit_weights(list(trials.values()))
    rounded = {name: round(getattr(fitted, name), 2) for name in FITTED}
    return Fit(replace(fitted, **rounded), tuple(found))


def fit_weights(sets: Sequence[Sequence[Trial]]) -> Weights:
    """The weights under which right answers lead wrong ones: a pairwise logistic regression, each set of equal weight.

    The scale of the scores stays: limits after the ranking are in its units.
    """
    pairs = [own for trials in sets if (own := [t.leads for t in trials if t.leads is not None])]
    if not pairs:
        return WEIGHTS
    leads, rest = (np.concatenate([both[at] for own in pairs for both in own]) for at in (0, 1))
    # Each set has the same weight, in it each question, of a question each pair.
    shares = np.concatenate(
        [np.full(len(rest), 1 / len(rest) / len(own) / len(pairs)) for own in pairs for _, rest in own]
    )
    usual = np.array([getattr(WEIGHTS, name) for name in FITTED])
    fitted = _regress(leads, rest, shares, usual)
    values: dict[str, float] = dict(zip(FITTED, (fitted * usual[0] / fitted[0]).tolist(), strict=True))
    return replace(WEIGHTS, **values)


def _regress(
    leads: _Numbers,
    rest: _Numbers,
    shares: _Numbers,
    usual: _Numbers,
) -> _Numbers:
    """The weights that minimise the logistic loss of the leads, pulled towards the usual ones; by Newton's method."""
    found = usual
    for _ in range(_STEPS):
        missed = 1 / (1 + np.exp(_SHARPNESS * (leads @ found + rest)))
        slope = 2 * _PULL * (found - usual) - _SHARPNESS * leads.T @ (shares * missed)
        bend = (leads * (shares * missed * (1 - missed))[:, None]).T @ leads * _SHARPNESS**2
        found = found - np.linalg.solve(bend + 2 * _PULL * np.eye(len(usual)), slope)
    return found
