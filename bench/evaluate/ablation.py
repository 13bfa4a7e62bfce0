"""Ablation and cross-validation of recall's parameters on questions with known answers.

The database is queried once; after that, any parameters can be tried on the same candidates quickly.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from statistics import fmean
from typing import Any

from access.actor import Actor
from access.groups import find_group
from access.visibility import Visibility
from bench.evaluate.metrics import Scores, mean_scores, score_ranking
from bench.evaluate.question_files import Query
from bench.evaluate.run import RUN_DEPTH, Progress
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall.dates import NOTHING_OF_THAT_TIME
from memories.recall.pipeline import CandidateSet, current_tuning, gather, score_candidates
from memories.recall.question import Question, subject_of, understand
from memories.recall.relations import NO_RELATIONS
from memories.recall.scoring import Trace
from memories.recall.weights import TUNING, Tuning
from memories.search.query_terms import content_words, match_for
from memories.search.rows import RankingFields

MODE = "hybrid"
MEASURES = ("R@10", "MRR", "nDCG@10")
MAX_TUNING_QUERIES = 150  # per set, for choosing parameters; a fold is measured on all of its questions
MIN_GAIN = 0.0005  # smallest gain for which a parameter is changed: a twentieth of a point

# The steps that are taken out, one at a time: a step's name and the weights without it.
STEPS: dict[str, dict[str, Any]] = {
    "the thread": {"thread_share": 0.0},
    "what was stored beside": {"beside_share": 0.0},
    "the date": {"date_boost": 0.0, "bound_boost": 0.0},
    "the time": {"time_boost": 0.0},
    "the speaker": {"speaker_boost": 0.0},
    "who said it": {"said_boost": 0.0},
    "the subject alone": {},  # see whole_question()
    "the penalty for long turns": {"length_penalty": 0.0},
    "the penalty for the very short": {"short_penalty": 0.0},
    "the group asked in": {"elsewhere_penalty": 0.0},
    "the relations": {"relation_boost": 0.0, "asked_boost": 0.0},
    "the share by question": {"long_question_drop": 0.0, "rare_word_drop": 0.0},
    "the identifier": {"identifier_boost": 0.0},
    "the tags": {"tag_boost": 0.0, "all_tags_boost": 0.0},
    "the share by kind": {"fact_share": 0.45, "long_share": 0.45},
}
# The values that cross-validation chooses from, one weight at a time.
CHOICES: dict[str, tuple[float, ...]] = {
    "full_cosine": (0.5, 0.7),
    "turn_share": (0.35, 0.55),
    "fact_share": (0.8, 0.95),
    "long_share": (0.45, 0.65),
    "long_question_drop": (0.15, 0.3),
    "rare_word_drop": (0.2, 0.4),
    "thread_share": (0.2, 0.4),
    "beside_share": (0.05, 0.15),
    "date_boost": (0.2, 0.4),
    "time_boost": (0.05, 0.15),
    "speaker_boost": (0.04, 0.1),
    "said_boost": (0.05, 0.15),
    "short_penalty": (0.02, 0.06),
    "length_penalty": (0.1, 0.2),
}


def without(step: str, tuning: Tuning = TUNING) -> Tuning:
    """The weights with one of STEPS taken out."""
    return replace(tuning, **STEPS[step])


@dataclass(frozen=True)
class Trial:
    """A question with its candidates, as the present parameters find them (`ours`), and for the whole question (`whole`)."""

    query: Query
    ours: tuple[Question, CandidateSet]
    whole: tuple[Question, CandidateSet]
    names: dict[int, str]


@dataclass(frozen=True)
class TrialSet:
    """A data set's name and its trials."""

    name: str
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class CrossValidationFold:
    """Cross-validation of one set: held-out scores with parameters chosen on the other folds, and with the present ones."""

    name: str
    chosen: Scores
    usual: Scores


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
        ours = understand(query.text, encoder=encoder, today=query.asked)
        whole = whole_question(ours, encoder=encoder)
        found = gather_candidates(ours, visibilities[query.group], rows)
        is_same = subject_of(query.text) == query.text
        also = found if is_same else gather_candidates(whole, visibilities[query.group], rows)
        trials.append(Trial(query, (ours, found), (whole, also), names))
        progress(f"gather {name}", done)
    return TrialSet(name, tuple(trials))


def whole_question(question: Question, *, encoder: Encoder | None) -> Question:
    """The question searched for with the words, too, that only say how to answer."""
    return replace(
        question,
        match=match_for(question.text),
        vector=encoder.question_vector(question.text) if encoder else None,
        subject_words=frozenset(content_words(question.text)),
    )


def gather_candidates(
    question: Question, visibility: Visibility, rows: dict[int, RankingFields]
) -> CandidateSet:
    """Gather a question's candidates, with rows of memories shared through `rows`."""
    gathered = gather(question, visibility, mode=MODE, trace=Trace())
    own = {key: rows.setdefault(key, row) for key, row in gathered.rows.items()}
    return replace(gathered, rows=own)


def without_brought(gathered: CandidateSet, tuning: Tuning) -> CandidateSet:
    """The candidates without those that only the date or a relation brought, where its weight is 0."""

    def only(also: Collection[int]) -> CandidateSet:
        candidates = [c for c in gathered.candidates if c.is_found or c.key in also]
        rows = {c.key: gathered.rows[c.key] for c in candidates if c.key in gathered.rows}
        return replace(gathered, candidates=candidates, rows=rows)

    if not tuning.date_boost:
        gathered = replace(only(gathered.related.reasons), dated=NOTHING_OF_THAT_TIME)
    if not tuning.asked_boost:
        gathered = replace(only(gathered.dated.all), related=NO_RELATIONS)
    return gathered


def score_trial(trial: Trial, tuning: Tuning, *, is_whole: bool = False) -> Scores:
    """Score one question's ranking with these parameters; `is_whole`: of the whole question."""
    question, gathered = trial.whole if is_whole else trial.ours
    if not question.is_time_alone:
        gathered = without_brought(gathered, tuning)
    ranked = score_candidates(gathered, question, mode=MODE, tuning=tuning, trace=Trace()).scores[:RUN_DEPTH]
    return score_ranking([trial.names[key] for key, _ in ranked], trial.query.relevant)


def ablate(trial_set: TrialSet, *, progress: Progress) -> dict[str, Scores]:
    """Gain of each step of recall, by its name: the scores with all steps less those without it."""
    usual = current_tuning()
    whole = mean_scores([score_trial(trial, usual) for trial in trial_set.trials])
    gains = {}
    for done, step in enumerate(STEPS, start=1):
        less = mean_scores(
            [
                score_trial(trial, without(step, usual), is_whole=step == "the subject alone")
                for trial in trial_set.trials
            ]
        )
        gains[step] = {name: whole[name] - less[name] for name in whole}
        progress(f"ablate {trial_set.name}", done)
    return gains


def fold_of(set_name: str, query: Query, folds: int, *, is_single: bool) -> int:
    """Fold of a question: by its group, or by its own id if the set has a single group."""
    text = f"{set_name}/{query.id if is_single else query.group}"
    return int.from_bytes(sha256(text.encode()).digest()[:4]) % folds


def cross_validate(sets: Sequence[TrialSet], *, folds: int, progress: Progress) -> list[CrossValidationFold]:
    """For each fold: choose every parameter on the other folds of all sets, and measure on this one.

    One parameter after the other is changed to another of its CHOICES if that raises the goal: the mean over the sets of
    R@10 and nDCG@10. Every set has the same weight, however many questions it has.
    """
    singles = {
        trial_set.name: len({trial.query.group for trial in trial_set.trials}) == 1 for trial_set in sets
    }
    table = ScoreTable(
        sets, lambda trial_set, q: fold_of(trial_set.name, q, folds, is_single=singles[trial_set.name])
    )
    held: defaultdict[str, list[Scores]] = defaultdict(list)
    for fold in range(folds):
        tuning = table.choose(without_fold=fold)
        for trial_set in sets:
            held[trial_set.name] += [table.scores(trial, tuning) for trial in table.inside(trial_set, fold)]
        progress("folds", fold + 1)
    usual = current_tuning()
    return [
        CrossValidationFold(
            trial_set.name,
            mean_scores(held[trial_set.name]),
            mean_scores([table.scores(trial, usual) for trial in trial_set.trials]),
        )
        for trial_set in sets
    ]


class ScoreTable:
    """Scores of trials by parameters, each computed once."""

    def __init__(self, sets: Sequence[TrialSet], fold: Callable[[TrialSet, Query], int]) -> None:
        self._sets = sets
        self._fold = {
            id(trial): fold(trial_set, trial.query) for trial_set in sets for trial in trial_set.trials
        }
        self._known: dict[tuple[Tuning, int], Scores] = {}

    def scores(self, trial: Trial, tuning: Tuning) -> Scores:
        """Scores of one question."""
        known = self._known.get((tuning, id(trial)))
        if known is None:
            known = self._known[tuning, id(trial)] = score_trial(trial, tuning)
        return known

    def inside(self, trial_set: TrialSet, fold: int) -> list[Trial]:
        """A set's questions in a fold."""
        return [trial for trial in trial_set.trials if self._fold[id(trial)] == fold]

    def choose(self, *, without_fold: int) -> Tuning:
        """The parameters with the best goal outside a fold."""
        parts = [
            sample_evenly([t for t in trial_set.trials if self._fold[id(t)] != without_fold])
            for trial_set in self._sets
        ]
        tuning = current_tuning()
        if not any(parts):
            return tuning
        best = self._goal(parts, tuning)
        for name, values in CHOICES.items():
            for value in values:
                changed: dict[str, Any] = {name: value}
                other = replace(tuning, **changed)
                reached = self._goal(parts, other)
                if reached > best + MIN_GAIN:
                    best, tuning = reached, other
        return tuning

    def _goal(self, parts: Iterable[Sequence[Trial]], tuning: Tuning) -> float:
        means = [mean_scores([self.scores(trial, tuning) for trial in part]) for part in parts if part]
        return fmean((mean["R@10"] + mean["nDCG@10"]) / 2 for mean in means)


def sample_evenly(trials: Sequence[Trial]) -> Sequence[Trial]:
    """At most MAX_TUNING_QUERIES of the trials, evenly spread."""
    step = max(1, -(-len(trials) // MAX_TUNING_QUERIES))
    return trials[::step]
