"""Evaluation runs: texts and questions with known answers go through the real write and read paths."""

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
from sources.importing.formats.texts import import_lines
from sources.importing.importer import CORPUS, LineRules

QUERIES = "queries.jsonl"
SPLIT = "split.json"
SOURCE = "evaluation"
RUN_DEPTH = 100  # ids kept of each ranking

Progress = Callable[[str, int], object]  # step, done


@dataclass(frozen=True)
class Query:
    """A question within a group, with the ids of the corpus lines that answer it."""

    id: str
    text: str
    group: str
    relevant: tuple[str, ...]
    category: str = "-"


@dataclass(frozen=True)
class QuerySet:
    """Questions of a folder, with and without an answer, and the number of relevant ids that no line of the corpus has.

    Such an id is never found, so it lowers every measure.
    """

    answerable: tuple[Query, ...]
    unanswered: tuple[Query, ...] = ()
    unknown_ids: int = 0

    def as_dict(self) -> dict[str, int]:
        """The counts as JSON values."""
        return {
            "asked": len(self.answerable),
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
    each: tuple[Scores, ...] = ()  # of each question, in order

    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % interval of each measure over the questions."""
        return {name: interval([scores[name] for scores in self.each]) for name in self.scores}

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values, without the rankings."""
        return {
            "all": {**self.scores, "n": len(self.times_ms)},
            "categories": self.categories,
            "ms": {
                "p50": round(percentile(self.times_ms, 0.5), 2),
                "p95": round(percentile(self.times_ms, 0.95), 2),
            },
        }


def read_queries(folder: Path, *, split: str = "", limit: int | None = None) -> QuerySet:
    """Questions of a folder. `split` keeps those listed by that name in split.json, `limit` the first ones with an answer.

    Raises:
        NotFound: the corpus or the questions are missing.
        InvalidInput: a line is not a question, or the split does not exist.
    """
    if not (folder / CORPUS).is_file():
        raise NotFound(f"There is no {CORPUS} in {folder}.", hint=f"The folder needs {CORPUS} and {QUERIES}.")
    chosen = split_ids(folder, split) if split else None
    queries = [q for q in read_query_file(folder / QUERIES) if chosen is None or q.id in chosen]
    answerable = tuple(q for q in queries if q.relevant)[:limit]
    if not answerable:
        raise InvalidInput(f"No question of {folder / QUERIES} has an answer.", field="dir")
    known = {str(line.get("id")) for _, line in read_json_lines(folder / CORPUS) if isinstance(line, dict)}
    unknown = {id_ for query in answerable for id_ in query.relevant} - known
    return QuerySet(answerable, tuple(q for q in queries if not q.relevant), len(unknown))


def read_query_file(path: Path) -> list[Query]:
    """Questions of a file, with or without an answer."""
    return [parse_query(line, number) for number, line in read_json_lines(path)]


def store_corpus(actor: Actor, folder: Path, *, encoder: Encoder, progress: Progress) -> int:
    """Store the corpus of a folder in the current database, each line as a memory of its group; return their number.

    Raises:
        InvalidInput: a line could not be stored; the message names it and the reason.
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


def run_queries(
    actor: Actor,
    queries: Sequence[Query],
    *,
    mode: str,
    encoder: Encoder,
    progress: Progress,
    is_everywhere: bool = False,
) -> ModeReport:
    """Run each question within its group, or in all groups at once, and score the rankings.

    The measured time covers search and ranking only.
    """
    names = dict(Memory.objects.values_list("key", "source_ref"))
    slugs = {query.group for query in queries}
    visibilities = {s: recallable_by(actor, None if is_everywhere else find_group(actor, s)) for s in slugs}
    run: dict[str, list[str]] = {}
    times: list[float] = []
    for done, query in enumerate(queries, start=1):
        question = understand(query.text, encoder=encoder)
        started = time.perf_counter()
        ranked = rank_keys(question, visibilities[query.group], mode=mode, trace=Trace())
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


def split_ids(folder: Path, name: str) -> frozenset[str]:
    """Ids of the questions in a split of split.json; raises InvalidInput if there is none of this name."""
    try:
        splits = json.loads((folder / SPLIT).read_text(encoding="utf-8"))
        return frozenset(splits[name])
    except FileNotFoundError:
        raise InvalidInput(f"There is no {SPLIT} in {folder}.", field="split") from None
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{folder / SPLIT} has no split '{name}'.", field="split") from None


def read_json_lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Line numbers and JSON values of a file; raises InvalidInput for a line that is not JSON."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(
            f"There is no {path.name} in {path.parent}.", hint=f"The folder needs {CORPUS} and {QUERIES}."
        ) from None
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append((number, json.loads(line)))
            except ValueError:
                raise InvalidInput(f"{path.name}, line {number} is not a JSON object.", field="dir") from None
    return found


def parse_query(line: dict[str, Any], number: int) -> Query:
    """The question of a line; raises InvalidInput if a field is missing."""
    try:
        return Query(
            str(line["id"]),
            str(line["text"]),
            str(line["group"]),
            tuple(str(id_) for id_ in line["relevant"]),
            str(line.get("category") or "-"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"{QUERIES}, line {number} is not a question: {error}.",
            hint="A question has id, text, group, relevant, and optionally category.",
            field="dir",
        ) from None
