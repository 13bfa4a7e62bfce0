"""Evaluation runs: texts and questions with known answers go through the real write and read paths."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from access.actor import Actor
from access.groups import find_group
from bench.evaluate.metrics import Scores, interval, mean_scores, percentile, score_ranking
from bench.evaluate.question_files import CORPUS_RULES, Query
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall import RecallRequest, RecallResult, recall
from memories.recall.pipeline import find_ranking
from memories.recall.question import understand
from memories.recall.scoring import Trace
from memories.types import SUMMARY_SOURCES
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import CORPUS

RUN_DEPTH = 100  # ids kept of each ranking
_SUMMARIES = frozenset(SUMMARY_SOURCES)

Progress = Callable[[str, int], object]  # step, done


@dataclass(frozen=True)
class ModeReport:
    """One mode's scores over all questions and by category, the time of each search, and its rankings by question.

    `received` has the scores of the answers as a caller gets them: cut to their usual number, without what recall leaves
    out, and empty where it says that it knows nothing. `unanswered` is the share (0–1) of those.
    """

    mode: str
    scores: Scores
    categories: dict[str, Scores]
    times_ms: tuple[float, ...]
    run: dict[str, list[str]] = field(default_factory=dict)
    each: tuple[Scores, ...] = ()  # of each question, in order
    received: Scores = field(default_factory=dict)
    unanswered: float = 0.0

    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % interval of each measure over the questions."""
        return {name: interval([scores[name] for scores in self.each]) for name in self.scores}

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values, without the rankings."""
        received = {"received": {**self.received, "nothing": self.unanswered}} if self.received else {}
        return {
            "all": {**self.scores, "n": len(self.times_ms)},
            **received,
            "categories": self.categories,
            "ms": {
                "p50": round(percentile(self.times_ms, 0.5), 2),
                "p95": round(percentile(self.times_ms, 0.95), 2),
            },
        }


def store_corpus(actor: Actor, folder: Path, *, encoder: Encoder, progress: Progress) -> int:
    """Store the corpus of a folder in the current database, each usable line as a memory of its group; return their number."""
    report = TEXTS.run(
        actor,
        folder / CORPUS,
        CORPUS_RULES,
        encoder=encoder,
        on_progress=lambda done: progress("store", done),
    )
    return report.lines - len(report.faults)


def run_queries(
    actor: Actor,
    queries: Sequence[Query],
    *,
    mode: str,
    encoder: Encoder,
    progress: Progress,
    is_everywhere: bool = False,
) -> ModeReport:
    """Run each question within its group, or in all groups at once, and score the rankings and what a caller receives.

    The measured time covers search and ranking only.
    """
    names = dict(Memory.objects.values_list("key", "source_ref"))
    visibilities = {
        # As recall does: a summary stands for events, and each of them is found by itself.
        slug: replace(
            recallable_by(actor, None if is_everywhere else find_group(actor, slug)),
            without_sources=_SUMMARIES,
        )
        for slug in {query.group for query in queries}
    }
    run: dict[str, list[str]] = {}
    times: list[float] = []
    for done, query in enumerate(queries, start=1):
        question = understand(query.text, encoder=encoder, today=query.asked)
        started = time.perf_counter()
        ranked = find_ranking(question, visibilities[query.group], mode=mode, trace=Trace()).scores
        times.append((time.perf_counter() - started) * 1000)
        run[query.id] = [names[key] for key, _ in ranked[:RUN_DEPTH]]
        progress(mode, done)
    each = tuple(score_ranking(run[query.id], query.relevant) for query in queries)
    answers = [] if is_everywhere else ask_all(actor, queries, mode=mode, progress=progress)
    return ModeReport(
        mode,
        mean_scores(each),
        scores_by_category(queries, each),
        tuple(times),
        run,
        each,
        mean_scores(
            [score_ranking(ids, query.relevant) for query, ids in zip(queries, answers, strict=False)]
        ),
        sum(not ids for ids in answers) / max(1, len(answers)),
    )


def ask_all(actor: Actor, queries: Sequence[Query], *, mode: str, progress: Progress) -> list[list[str]]:
    """The ids that the answer to each question has, best first; empty where recall says that it knows nothing."""
    answers = []
    for done, query in enumerate(queries, start=1):
        request = RecallRequest(query=query.text, group=query.group, mode=mode, is_trial=True)
        answers.append([memory.source_ref for memory in shown_memories(recall(actor, request))])
        progress(f"{mode}, as received", done)
    return answers


def shown_memories(answer: RecallResult) -> list[Memory]:
    """The stored texts of an answer: a summary stands for the events that it is shown for, a fact for those that say the same."""
    shown = (
        [item.memory] if item.memory.source_ref else [*item.events, *item.also_in] for item in answer.items
    )
    return [memory for memories in shown for memory in memories]


def scores_by_category(queries: Sequence[Query], each: Sequence[Scores]) -> dict[str, Scores]:
    """Mean scores and number of the questions of each category."""
    found: defaultdict[str, list[Scores]] = defaultdict(list)
    for query, scores in zip(queries, each, strict=True):
        found[query.category].append(scores)
    return {name: {**mean_scores(many), "n": len(many)} for name, many in sorted(found.items())}
