"""Evaluation of abstention: how often recall says that it knows nothing, for questions with and without an answer.

Questions without an answer come from three sources: another group's questions; those with an empty `relevant`; and the
files queries_*.jsonl beside the questions, which look answerable and whose `relevant` names misleading texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from access.actor import Actor
from access.groups import find_group
from access.visibility import Visibility
from bench.evaluate.question_files import NO_CATEGORY, QuerySet, read_query_file
from bench.evaluate.run import Progress
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.visibility import recallable_by
from memories.recall.abstention import is_answerable
from memories.recall.pipeline import Ranking, gather, score_candidates
from memories.recall.question import Question, understand
from memories.recall.scoring import Trace
from memories.recall.weights import JUDGED_CANDIDATES
from memories.search.rows import read_memories

MODE = "hybrid"
LOOKS_ANSWERABLE = "looks answerable"  # kind of those that name none
OFFSETS = (-0.12, -0.08, -0.04, 0.0, 0.04, 0.08, 0.12)
R5 = 5


@dataclass(frozen=True)
class Judgement:
    """One question's margin: the score of its best candidates above the required one. Below 0, recall abstains."""

    kind: str
    margin: float
    is_found: bool  # a relevant memory is among the first five


@dataclass(frozen=True)
class AbstentionPoint:
    """Effect of one limit, as shares of 0–1. `lost` is the share of answerable questions whose R@5 is lost.

    `precision` is None if recall never abstained.
    """

    offset: float
    precision: float | None
    recall: float
    lost: float


def judge_all(
    actor: Actor, folder: Path, queries: QuerySet, *, encoder: Encoder, progress: Progress
) -> list[Judgement]:
    """Judge a set's questions in their own group, in another group, and those that only look answerable."""
    groups = sorted({query.group for query in queries.answerable})
    slugs = {*groups, *(query.group for query in queries.unanswered)}
    visibilities = {slug: recallable_by(actor, find_group(actor, slug)) for slug in slugs}
    found = []
    for done, query in enumerate(queries.answerable, start=1):
        question = understand(query.text, encoder=encoder, today=query.asked)
        found.append(judge("answerable", question, visibilities[query.group], query.relevant))
        others = [slug for slug in groups if slug != query.group]
        if others:
            found.append(judge("another group's", question, visibilities[others[done % len(others)]], ()))
        progress(f"judge {folder.name}", done)
    misleading = [
        query for path in sorted(folder.glob("queries_*.jsonl")) for query in read_query_file(path)[0]
    ]
    for query in [*queries.unanswered, *misleading]:
        if query.group in visibilities:
            question = understand(query.text, encoder=encoder, today=query.asked)
            kind = LOOKS_ANSWERABLE if query.category == NO_CATEGORY else query.category
            found.append(judge(kind, question, visibilities[query.group], ()))
    return found


def curve(judgements: Sequence[Judgement], offsets: Sequence[float] = OFFSETS) -> list[AbstentionPoint]:
    """Precision, recall and loss for limits around the present one (offset 0)."""
    unrelated = [j for j in judgements if j.kind != "answerable"]
    answered = [j for j in judgements if j.kind == "answerable"]
    points = []
    for offset in offsets:
        correct = sum(j.margin < offset for j in unrelated)
        wrong = sum(j.margin < offset for j in answered)
        lost = sum(j.margin < offset and j.is_found for j in answered)
        points.append(
            AbstentionPoint(
                offset,
                correct / (correct + wrong) if correct + wrong else None,
                correct / len(unrelated) if unrelated else 0.0,
                lost / len(answered) if answered else 0.0,
            )
        )
    return points


def judge(kind: str, question: Question, visibility: Visibility, relevant: Sequence[str]) -> Judgement:
    """Rank one question and compare its best candidates with the limit for abstaining."""
    trace = Trace()
    gathered = gather(question, visibility, mode=MODE, trace=trace)
    ranking = score_candidates(gathered, question, mode=MODE, trace=trace)
    rows = read_memories(key for key, _ in ranking.scores[:JUDGED_CANDIDATES])
    best = [rows[key] for key, _ in ranking.scores[:JUDGED_CANDIDATES]]
    is_found = any(row.source_ref in relevant for row in best[:R5])
    return Judgement(kind, margin_of(question, ranking, best, trace), is_found)


def margin_of(question: Question, ranking: Ranking, best: list[Memory], trace: Trace) -> float:
    """How far the best candidates' score is above the required one, taken from the trace; -1 without candidates."""
    answerable = is_answerable(question, ranking, best, trace)
    detail = trace.steps[-1].detail
    if "reached" not in detail:
        return 1.0 if answerable else -1.0
    margin = float(detail["reached"] - detail["wanted"])
    if answerable != (margin >= 0):  # another rule than the limit decided
        return 1.0 if answerable else -1.0
    return margin
