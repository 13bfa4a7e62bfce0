"""When recall should say that it knows nothing: questions without an answer, and how often it says so.

They are made of a set's own: a group's questions asked of another group. Such as look answerable and are not are those with an
empty `relevant`, and all in files queries_*.jsonl beside the questions, whose `relevant` names what misleads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from access.actor import Actor
from access.groups import find_group
from access.visibility import Visibility
from loci_site.evaluation.run import Progress, QuerySet, query_lines
from memories.embedding import Encoder
from memories.models import Memory
from memories.queries.by_key import read_memories
from memories.queries.visibility import recallable_by
from memories.recall.abstention import is_answerable
from memories.recall.pipeline import Ranking, current_tuning, gather, score_candidates
from memories.recall.question import Question, understand
from memories.recall.trace import Trace
from memories.recall.weights import JUDGED_CANDIDATES

MODE = "hybrid"
OFFSETS = (-0.12, -0.08, -0.04, 0.0, 0.04, 0.08, 0.12)
R5 = 5


@dataclass(frozen=True)
class Judgement:
    """One question's margin: how far above what is asked its best candidates come. Below 0 recall abstains."""

    kind: str
    margin: float
    is_found: bool  # one of the right ones is among the first five


@dataclass(frozen=True)
class AbstentionPoint:
    """What abstaining at one limit does: shares of 0–1. `lost` is the share of answerable questions whose R@5 is lost.

    `precision` is None where it never abstained.
    """

    offset: float
    precision: float | None
    recall: float
    lost: float


def judge_all(
    actor: Actor, folder: Path, queries: QuerySet, *, encoder: Encoder, progress: Progress
) -> list[Judgement]:
    """Judge a set's questions asked in their own group, in another one, and those made to look answerable."""
    groups = sorted({query.group for query in queries.asked})
    asked_in = {*groups, *(query.group for query in queries.unanswered)}
    rooms = {slug: recallable_by(actor, find_group(actor, slug)) for slug in asked_in}
    found = []
    for done, query in enumerate(queries.asked, start=1):
        question = understand(query.text, encoder=encoder)
        found.append(_judge("answerable", question, rooms[query.group], query.relevant))
        others = [slug for slug in groups if slug != query.group]
        if others:
            found.append(_judge("another group's", question, rooms[others[done % len(others)]], ()))
        progress(f"judge {folder.name}", done)
    misleading = [query for path in sorted(folder.glob("queries_*.jsonl")) for query in query_lines(path)]
    for query in [*queries.unanswered, *misleading]:
        if query.group in rooms:
            question = understand(query.text, encoder=encoder)
            found.append(_judge("looks answerable", question, rooms[query.group], ()))
    return found


def curve(judgements: Sequence[Judgement], offsets: Sequence[float] = OFFSETS) -> list[AbstentionPoint]:
    """Give precision, recall and loss for limits around the one in use (offset 0)."""
    unrelated = [j for j in judgements if j.kind != "answerable"]
    answered = [j for j in judgements if j.kind == "answerable"]
    points = []
    for offset in offsets:
        right = sum(j.margin < offset for j in unrelated)
        wrong = sum(j.margin < offset for j in answered)
        lost = sum(j.margin < offset and j.is_found for j in answered)
        points.append(
            AbstentionPoint(
                offset,
                right / (right + wrong) if right + wrong else None,
                right / len(unrelated) if unrelated else 0.0,
                lost / len(answered) if answered else 0.0,
            )
        )
    return points


def _judge(kind: str, question: Question, room: Visibility, relevant: Sequence[str]) -> Judgement:
    trace = Trace()
    gathered = gather(question, room, mode=MODE, trace=trace)
    ranking = score_candidates(gathered, question, mode=MODE, tuning=current_tuning(), trace=trace)
    rows = read_memories(key for key, _ in ranking.scores[:JUDGED_CANDIDATES])
    best = [rows[key] for key, _ in ranking.scores[:JUDGED_CANDIDATES]]
    is_found = any(row.source_ref in relevant for row in best[:R5])
    return Judgement(kind, _margin(question, ranking, best, trace), is_found)


def _margin(question: Question, ranking: Ranking, best: list[Memory], trace: Trace) -> float:
    answerable = is_answerable(question, ranking, best, trace)
    detail = trace.steps[-1].detail
    if "reached" not in detail:
        return -1.0
    margin = float(detail["reached"] - detail["wanted"])
    return max(margin, 1.0) if answerable and margin < 0 else margin
