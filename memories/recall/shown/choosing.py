"""The memories that answer: judged, without fillers and names alone, equal ones once with the others named."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from access.visibility import Visibility
from memories.models import Memory
from memories.queries.by_key import read_memories
from memories.queries.visibility import is_visible
from memories.recall.abstention import Confidence, judge, reasons_against
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.shown.alike import collapse_alike
from memories.recall.shown.collecting import AnswerLimits
from memories.recall.shown.explain import trace_left_out
from memories.recall.trace import Trace
from memories.recall.weights import JUDGED_CANDIDATES, MAX_NEAREST
from memories.store.withdrawn.left_out import LEFT_OUT_REASON, find_left_out

SAME_SCORE = 0.01  # scores this close say the same of two memories
ALIKE_REASON = "another one that is shown says the same"
CHANGED_REASON = "it changed or was deleted while the question was answered"


@dataclass(frozen=True)
class ChosenMemories:
    """The memories of an answer with their equals by key, or the closest ones if not `is_found`; the ranking and the verdict."""

    memories: list[Memory]
    alike: dict[int, list[Memory]]
    ranking: Ranking
    is_found: bool
    confidence: Confidence
    doubt: str


def judge_and_choose(
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    limits: AnswerLimits,
    trace: Trace,
    *,
    is_explained: bool,
) -> ChosenMemories:
    """The memories that answer; the closest few if none does and no relation answers either."""
    rows, ranking = read_best(ranking, visibility, max(limits.limit, JUDGED_CANDIDATES), trace)
    best = [rows[key] for key, _ in ranking.scores if key in rows]
    is_found, confidence, doubt = judge(question, ranking, best, trace)
    if is_found:
        memories, alike = choose_and_fill(best, ranking, question, visibility, limits, trace)
    else:
        memories, alike = [] if limits.has_lines else closest_of(best), {}
    if is_explained:
        trace_left_out(memories, ranking, question, limits, is_found=is_found, trace=trace)
    if limits.has_lines:  # a relation answers
        confidence, doubt = Confidence.HIGH, ""
    return ChosenMemories(memories, alike, ranking, is_found, confidence, doubt)


def read_best(
    ranking: Ranking, visibility: Visibility, depth: int, trace: Trace
) -> tuple[dict[int, Memory], Ranking]:
    """The rows of the best `depth` memories by key, and the ranking without what the group has withdrawn."""
    keys = [key for key, _ in ranking.scores]
    rows, withdrawn, at = dict[int, Memory](), set[int](), 0
    while at == 0 or (at < len(keys) and len(rows) < depth):
        read = read_visible(keys[at : at + depth], visibility, trace)
        hidden = find_left_out(read.values(), visibility)
        rows |= {key: row for key, row in read.items() if key not in hidden}
        withdrawn |= hidden
        at += depth
        if not hidden:
            break
    if not withdrawn:
        return rows, ranking
    for key in withdrawn:
        trace.drop(key, LEFT_OUT_REASON)
    scores = [(key, score) for key, score in ranking.scores if key not in withdrawn]
    candidates = {key: found for key, found in ranking.candidates.items() if key not in withdrawn}
    return rows, replace(ranking, scores=scores, candidates=candidates)


def read_visible(keys: Sequence[int], visibility: Visibility, trace: Trace) -> dict[int, Memory]:
    """The memories' rows by key, without those that left the Visibility after the search found them."""
    rows = read_memories(keys)
    visible = {key: row for key, row in rows.items() if is_visible(row, visibility)}
    if len(visible) < len(keys):
        for key in keys:
            if key not in visible:
                trace.drop(key, CHANGED_REASON)
    return visible


def choose_and_fill(
    best: Sequence[Memory],
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    limits: AnswerLimits,
    trace: Trace,
) -> tuple[list[Memory], dict[int, list[Memory]]]:
    """choose_answers() of the best memories; if names alone and equals took places, of twice as many, once."""
    chosen, alike = choose_answers(best, ranking, question, limits)
    depth = max(limits.limit, JUDGED_CANDIDATES)
    if len(best) == depth and (alike or any(memory.is_name_alone for memory in best)):
        rows, ranking = read_best(ranking, visibility, 2 * depth, trace)
        more = [rows[key] for key, _ in ranking.scores if key in rows]
        chosen, alike = choose_answers(more, ranking, question, limits)
    for other in (memory for same in alike.values() for memory in same):
        trace.drop(other.key, ALIKE_REASON)
    return chosen, alike


def choose_answers(
    best: Sequence[Memory], ranking: Ranking, question: Question, limits: AnswerLimits
) -> tuple[list[Memory], dict[int, list[Memory]]]:
    """The memories that answer, and their equals as in collapse_alike().

    Those with reasons_against() are left out, and so are names alone that no requested relation leads to.
    """
    close = [
        memory
        for memory in best
        if not reasons_against(memory.key, ranking, question, least_share=limits.least_share)
    ]
    saying = [memory for memory in close if not memory.is_name_alone]
    if not limits.has_lines:
        saying = [
            memory for memory in close if not memory.is_name_alone or memory.key in ranking.requested
        ] or close
    said = close if limits.wants_names else saying
    return collapse_alike(said if question.is_time_alone else own_first(said, ranking), limit=limits.limit)


def own_first(memories: Sequence[Memory], ranking: Ranking) -> Sequence[Memory]:
    """The memories with the team's own before outside ones of nearly the same score."""
    if len({memory.outside for memory in memories}) < 2:
        return memories
    scores = dict(ranking.scores)
    return sorted(
        memories, key=lambda memory: (-round(scores.get(memory.key, 0.0) / SAME_SCORE), memory.outside)
    )


def closest_of(best: Sequence[Memory]) -> list[Memory]:
    """The best few, names alone only if there is nothing else."""
    return ([memory for memory in best if not memory.is_name_alone] or [*best])[:MAX_NEAREST]
