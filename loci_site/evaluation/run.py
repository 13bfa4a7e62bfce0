"""Measuring recall on a set of texts and questions whose answers are known, through the real write and read paths."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from access.actor import Actor
from access.errors import InvalidInput, NotFound
from access.groups import find_group
from loci_site.evaluation.metrics import Scores, interval, mean_scores, percentile, score_ranking
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall import rank_keys
from memories.recall.question import understand
from memories.recall.trace import Trace
from sources.importing.texts import CORPUS, LineRules, import_lines

QUERIES = "queries.jsonl"
SPLIT = "split.json"
SOURCE = "evaluation"
RUN_DEPTH = 100  # ids kept of each ranking

Progress = Callable[[str, int], object]  # hears the name of what goes on, and how much of it is done


@dataclass(frozen=True)
class Query:
    """A question asked within a group, with the ids of the corpus lines that answer it."""

    id: str
    text: str
    group: str
    relevant: tuple[str, ...]
    category: str = "-"


@dataclass(frozen=True)
class QuerySet:
    """The questions of a folder: those that are asked, those without an answer, and how many ids no text has.

    A right id that no line of the corpus has is never found: it takes from every measure.
    """

    asked: tuple[Query, ...]
    unanswered: tuple[Query, ...] = ()
    unknown_ids: int = 0

    def as_dict(self) -> dict[str, int]:
        """Give the counts."""
        return {
            "asked": len(self.asked),
            "without_answer": len(self.unanswered),
            "unknown_ids": self.unknown_ids,
        }


@dataclass(frozen=True)
class ModeReport:
    """One mode's scores over all questions and by category, the time of each search, and its rankings by question."""

    mode: str
    scores: Scores
    categories: dict[str, Scores]
    times_ms: tuple[float, ...]
    run: dict[str, list[str]] = field(default_factory=dict)
    each: tuple[Scores, ...] = ()  # by question, in their order

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Give the 95 % interval of each measure over the questions."""
        return {name: interval([scores[name] for scores in self.each]) for name in self.scores}

    def as_dict(self) -> dict[str, Any]:
        """Give the report as JSON values, without the rankings."""
        return {
            "all": {**self.scores, "n": len(self.times_ms)},
            "categories": self.categories,
            "ms": {
                "p50": round(percentile(self.times_ms, 0.5), 2),
                "p95": round(percentile(self.times_ms, 0.95), 2),
            },
        }


def read_queries(folder: Path, *, split: str = "", limit: int | None = None) -> QuerySet:
    """Read the questions of a folder; `split` keeps those that split.json names so, `limit` the first that have an answer.

    Raises:
        NotFound: there is no corpus or no questions.
        InvalidInput: a line is no question, or there is no such split.
    """
    if not (folder / CORPUS).is_file():
        raise NotFound(f"There is no {CORPUS} in {folder}.", hint=f"A folder has {CORPUS} and {QUERIES}.")
    chosen = _split_ids(folder, split) if split else None
    queries = [q for q in query_lines(folder / QUERIES) if chosen is None or q.id in chosen]
    asked = tuple(q for q in queries if q.relevant)[:limit]
    if not asked:
        raise InvalidInput(f"No question of {folder / QUERIES} has an answer.", field="dir")
    there = {str(line.get("id")) for _, line in _lines(folder / CORPUS) if isinstance(line, dict)}
    unknown = {id_ for query in asked for id_ in query.relevant} - there
    return QuerySet(asked, tuple(q for q in queries if not q.relevant), len(unknown))


def query_lines(path: Path) -> list[Query]:
    """Read a file's questions, with or without an answer."""
    return [_query(line, number) for number, line in _lines(path)]


def fill(actor: Actor, folder: Path, *, encoder: Encoder, progress: Progress) -> int:
    """Store the corpus of a folder in the database in use, each line as a memory of its group; give how many.

    Raises:
        InvalidInput: a line could not be stored; it says which and why.
    """
    report = import_lines(
        actor,
        folder / CORPUS,
        LineRules(SOURCE),
        encoder=encoder,
        on_progress=lambda done: progress("store", done),
    )
    if report.faults:
        first = report.faults[0]
        raise InvalidInput(f"{CORPUS}, line {first.line}: {first.why}", field="dir")
    return report.lines


def ask_all(
    actor: Actor,
    queries: Sequence[Query],
    *,
    mode: str,
    encoder: Encoder,
    progress: Progress,
    is_everywhere: bool = False,
) -> ModeReport:
    """Ask each question within its group, or in all groups at once, and score the rankings.

    The time is that of search and ranking alone.
    """
    names = dict(Memory.objects.values_list("key", "source_ref"))
    slugs = {query.group for query in queries}
    rooms = {s: recallable_by(actor, None if is_everywhere else find_group(actor, s)) for s in slugs}
    run: dict[str, list[str]] = {}
    times: list[float] = []
    for done, query in enumerate(queries, start=1):
        question = understand(query.text, encoder=encoder)
        started = time.perf_counter()
        ranked = rank_keys(question, rooms[query.group], mode=mode, trace=Trace())
        times.append((time.perf_counter() - started) * 1000)
        run[query.id] = [names[key] for key, _ in ranked[:RUN_DEPTH]]
        progress(mode, done)
    by_category: defaultdict[str, list[Scores]] = defaultdict(list)
    each = tuple(score_ranking(run[query.id], query.relevant) for query in queries)
    for query, scores in zip(queries, each, strict=True):
        by_category[query.category].append(scores)
    return ModeReport(
        mode,
        mean_scores(each),
        {name: {**mean_scores(many), "n": len(many)} for name, many in sorted(by_category.items())},
        tuple(times),
        run,
        each,
    )


def _split_ids(folder: Path, name: str) -> frozenset[str]:
    try:
        splits = json.loads((folder / SPLIT).read_text(encoding="utf-8"))
        return frozenset(splits[name])
    except FileNotFoundError:
        raise InvalidInput(f"There is no {SPLIT} in {folder}.", field="split") from None
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{folder / SPLIT} has no split '{name}'.", field="split") from None


def _lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(
            f"There is no {path.name} in {path.parent}.", hint=f"A folder has {CORPUS} and {QUERIES}."
        ) from None
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append((number, json.loads(line)))
            except ValueError:
                raise InvalidInput(f"{path.name}, line {number} is no JSON object.", field="dir") from None
    return found


def _query(line: dict[str, Any], number: int) -> Query:
    try:
        return Query(
            str(line["id"]),
            str(line["text"]),
            str(line["group"]),
            tuple(str(id_) for id_ in line["relevant"]),
            str(line.get("category") or "-"),
        )
    except (KeyError, TypeError, AttributeError) as fault:
        raise InvalidInput(
            f"{QUERIES}, line {number} is no question: {fault}.",
            hint="A question has id, text, group and relevant, and may have a category.",
            field="dir",
        ) from None
