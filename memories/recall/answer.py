"""From a ranking to an answer: judge whether there is one, choose what it shows, and cut it to the budget.

No fillers, no names alone, equal memories once with the others named, and turns with those around them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.conf import settings

from access.visibility import Visibility
from memories.embedding import Encoder
from memories.entities.lines import RelationLine, fence_relations
from memories.models import Memory
from memories.queries.by_key import read_memories
from memories.queries.conflicts import OpenConflict
from memories.queries.labels import label_of
from memories.queries.quoting import fence
from memories.queries.visibility import is_visible
from memories.recall.abstention import Confidence, judge, unwanted
from memories.recall.budget import Frame, Notes, Portion, counting_encoder
from memories.recall.pipeline import Ranking
from memories.recall.question import Question, RecallRequest
from memories.recall.relations import lines_to_tell
from memories.recall.shown.alike import collapse_alike
from memories.recall.shown.around import NOTHING_AROUND, NearTurn, find_around
from memories.recall.shown.collecting import (
    AnswerLimits,
    Collects,
    Fitting,
    answer_limits,
    fit_hits,
    read_collecting,
)
from memories.recall.shown.explain import trace_left_out
from memories.recall.trace import Trace
from memories.recall.weights import JUDGED_CANDIDATES, MAX_NEAREST
from memories.store.withdrawn.left_out import (
    LEFT_OUT_REASON,
    find_left_out,
    find_visible_coming,
    find_visible_conflicts,
)

BY_ID = "ids"  # the mode of an answer to ids
ALIKE_REASON = "another one that is shown says the same"
CHANGED_REASON = "it changed or was deleted while the question was answered"


@dataclass(frozen=True)
class Item:
    """One memory of an answer. `label` warns about its state or trust; `is_cut`: the text is only a part of it.

    `coming` is the memory that takes its place on a day to come, `conflicts` name the memories that contradict it, `also_in`
    are others that say the same, which are left out, `around` the turns beside it.
    """

    memory: Memory
    text: str
    score: float
    label: str = ""
    is_cut: bool = False
    numbers: dict[str, float] = field(default_factory=dict)
    coming: Memory | None = None
    conflicts: tuple[OpenConflict, ...] = ()
    also_in: tuple[Memory, ...] = ()
    around: tuple[NearTurn, ...] = ()

    def between_marks(self, group: str) -> str:
        """The memory as an answer about this group shows it, with the turns around it, without what stands beside it."""
        return fence(
            self.memory,
            self.text,
            label=self.label,
            group=group,
            conflicts=self.conflicts,
            before=[turn.line for turn in self.around if turn.offset < 0],
            after=[turn.line for turn in self.around if turn.offset > 0],
        )

    def beside(self, group: str) -> list[str]:
        """What an answer about this group says after the memory."""
        key = self.memory.key
        coming = {key: self.coming} if self.coming is not None else {}
        return Notes(group, coming, alike={key: self.also_in}).beside(self.memory)


@dataclass(frozen=True)
class RecallResult:
    """An answer, best first. If nothing is relevant, `abstained` is True and `nearest` holds the closest memories.

    `confidence` says how sure it is that the memories answer the question; `doubt` is a remark about that.

    `relations` are those that the question asks for; they are an answer even without a memory. `collects`: the question asks
    for many memories, which come in short, best or oldest first. `note` says who can make the
    group if it does not exist for the caller.
    """

    items: tuple[Item, ...]
    group: str
    mode: str
    abstained: bool = False
    confidence: str = Confidence.LOW.value
    doubt: str = ""
    nearest: tuple[Item, ...] = ()
    degraded: str = ""
    note: str = ""
    left_out: int = 0
    missing: tuple[str, ...] = ()
    tokens: int = 0
    duration_ms: float = 0.0
    trace: Trace | None = None
    relations: tuple[RelationLine, ...] = ()
    collects: Collects = Collects.NOTHING

    @property
    def frame(self) -> Frame:
        """What stands around the memories in the answer's text."""
        return Frame(
            self.group,
            count=len(self.items),
            relations=len(self.relations),
            nearest=len(self.nearest),
            is_cut=any(item.is_cut for item in self.items),
            left_out=self.left_out,
            missing=self.missing,
            degraded=self.degraded,
            note=self.note,
            doubt=self.doubt,
            is_mixed=is_mixed([item.memory for item in self.items], self.group),
            is_abstained=self.abstained,
            by_id=self.mode == BY_ID,
            is_explained=self.trace is not None,
            collects=self.collects,
        )

    def show(self, shown: Sequence[str] = ()) -> str:
        """The answer as text: head, relations and memories between marks, remarks.

        `shown` are the memories between marks, if they are at hand.
        """
        items = self.items or self.nearest
        lines = (
            [fence_relations([line.told(self.group) for line in self.relations])] if self.relations else []
        )
        marked = shown or [item.between_marks(self.group) for item in items]
        blocks = [
            part
            for item, text in zip(items, marked, strict=True)
            for part in (text, *item.beside(self.group))
        ]
        return "\n".join([self.frame.head(), *lines, *blocks, *self.frame.remarks()])


def read_visible(keys: Sequence[int], visibility: Visibility, trace: Trace) -> dict[int, Memory]:
    """The memories' rows by key, without those that left the Visibility after the search found them."""
    rows = read_memories(keys)
    visible = {key: row for key, row in rows.items() if is_visible(row, visibility)}
    if len(visible) < len(keys):
        for key in keys:
            if key not in visible:
                trace.drop(key, CHANGED_REASON)
    return visible


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


def judge_and_cut(
    request: RecallRequest,
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    frame: Frame,
    encoder: Encoder | None,
    trace: Trace,
) -> dict[str, Any]:
    """Judge and cut the ranked memories: the fields of RecallResult that depend on them."""
    collects = read_collecting(request.query)
    budget = request.token_budget or settings.LOCI.retrieval.token_budget
    counting = counting_encoder(encoder)
    relations, spent = lines_to_tell(
        ranking.asked_for, visibility, request.narrowing, counting, group=frame.group, token_budget=budget
    )
    limits = answer_limits(request, question, collects, has_lines=bool(relations))
    rows, ranking = read_best(ranking, visibility, max(limits.limit, JUDGED_CANDIDATES), trace)
    best = [rows[key] for key, _ in ranking.scores if key in rows]
    is_found, confidence, doubt = judge(question, ranking, best, trace)
    if is_found:
        chosen, alike = choose_and_fill(best, ranking, question, visibility, limits, trace)
    else:
        chosen, alike = [] if relations else closest_of(best), {}
    if request.explain:
        trace_left_out(chosen, ranking, question, limits, is_found=is_found, trace=trace)
    notes = take_notes(chosen, visibility, group=frame.group, alike=alike)
    if relations:
        confidence, doubt = Confidence.HIGH, ""
    shown = replace(
        frame,
        is_abstained=not is_found and not relations,
        doubt=doubt,
        is_mixed=is_found and is_mixed(chosen, frame.group),
        count=len(chosen),
        nearest=len(chosen),
        relations=len(relations),
        collects=collects if is_found else Collects.NOTHING,
    )
    is_short = request.summary_only or not is_found
    fitting = Fitting(budget - spent, encoder, summary_only=is_short, words=question.subject_words)
    fitted = fit_hits(chosen, shown, notes, fitting)
    for memory in fitted.left_out:
        trace.drop(memory.key, f"the token budget of {budget}")
    around = NOTHING_AROUND
    if request.around and not (is_short or shown.collects):
        around = find_around(fitted.portions, ranking, visibility, notes, fitting.after(fitted))
    scores, numbers = scores_in_place(ranking, alike), trace.numbers if request.explain else {}
    items = to_items(fitted.portions, scores, numbers, notes, around.turns)
    return {
        "items": items if is_found else (),
        "nearest": () if is_found else items,
        "abstained": shown.is_abstained,
        "confidence": confidence.value,
        "doubt": doubt,
        "relations": relations,
        "left_out": len(fitted.left_out),
        "tokens": spent + fitted.tokens + around.tokens,
        "collects": shown.collects,
    }


def closest_of(best: Sequence[Memory]) -> list[Memory]:
    """The best few, names alone only if there is nothing else."""
    return ([memory for memory in best if not memory.is_name_alone] or [*best])[:MAX_NEAREST]


def scores_in_place(ranking: Ranking, alike: Mapping[int, Sequence[Memory]]) -> dict[int, float]:
    """The scores by key; of equals, the one that is kept has the best one's, in whose place it is."""
    scores = dict(ranking.scores)
    for key, same in alike.items():
        scores[key] = max(scores[each] for each in (key, *(memory.key for memory in same)))
    return scores


def is_mixed(memories: Sequence[Memory], group: str) -> bool:
    """Whether memories of other groups are among those of an answer about this group."""
    return bool(group) and any(memory.group.slug != group for memory in memories)


def take_notes(
    memories: Sequence[Memory],
    visibility: Visibility,
    *,
    group: str,
    alike: Mapping[int, Sequence[Memory]] | None = None,
) -> Notes:
    """What an answer about the group says beside these memories."""
    coming = find_visible_coming(memories, visibility)
    return Notes(group, coming, find_visible_conflicts(memories, visibility), alike or {})


def to_items(
    portions: Sequence[Portion],
    scores: Mapping[int, float],
    numbers: Mapping[int, dict[str, float]],
    notes: Notes,
    around: Mapping[int, tuple[NearTurn, ...]] | None = None,
) -> tuple[Item, ...]:
    """The portions with their labels, notes and the turns around them, and their scores and numbers by key."""
    return tuple(
        Item(
            memory=portion.memory,
            text=portion.text,
            score=round(scores[portion.memory.key], 4),
            label=label_of(portion.memory),
            is_cut=portion.is_cut,
            numbers=numbers.get(portion.memory.key, {}),
            coming=notes.coming.get(portion.memory.key),
            conflicts=notes.conflicts.get(portion.memory.key, ()),
            also_in=tuple(notes.alike.get(portion.memory.key, ())),
            around=(around or {}).get(portion.memory.key, ()),
        )
        for portion in portions
    )


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

    What is unwanted() is left out, and so are names alone that no relation asked for leads to.
    """
    close = [
        memory for memory in best if not unwanted(memory.key, ranking, question, keeps_far=limits.keeps_far)
    ]
    saying = [memory for memory in close if not memory.is_name_alone]
    if not limits.has_lines:
        saying = [
            memory for memory in close if not memory.is_name_alone or memory.key in ranking.requested
        ] or close
    return collapse_alike(close if limits.wants_names else saying, limit=limits.limit)
