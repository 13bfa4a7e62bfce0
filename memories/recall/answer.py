"""From a ranking to an answer: relations as lines, the memories chosen, cut to the budget, with the turns around them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from django.conf import settings
from django.db.models import BigIntegerField, Q, QuerySet, Value, prefetch_related_objects

from access.visibility import Visibility
from memories.embedding import Encoder
from memories.entities.lines import RelationLine, fence_relations
from memories.models import Memory
from memories.queries.conflicts import OpenConflict
from memories.queries.labels import label_of, read_doubts
from memories.queries.quoting import fence, mark_turn
from memories.queries.visibility import sees
from memories.recall.abstention import Confidence
from memories.recall.behind import find_summaries, fold_into_summaries, passages
from memories.recall.budget import Fitting, Frame, Notes, Portion, count_tokens, counting_encoder
from memories.recall.choosing import (
    ChosenMemories,
    Excerpts,
    answer_limits,
    fit_hits,
    judge_and_choose,
)
from memories.recall.collecting import Collects
from memories.recall.pipeline import Ranking
from memories.recall.question import Question, RecallRequest
from memories.recall.relations import ToldRelations, answer_by_relations
from memories.recall.scoring import Trace
from memories.recall.weights import NAME_WORDS, TURN_CHARS, TURN_REACH
from memories.store.withdrawn.left_out import find_left_out, find_visible_coming, find_visible_conflicts
from storage.compiled_queries import CompiledQuery, pad_keys

BY_ID = "ids"  # the mode of an answer to ids
# Of the query for turns around hits: its smallest compiled size; larger ones are doubled.
_MIN_HITS = 4
_READ_CHARS = 800  # of a turn, searched for the question's words
_MIN_ROOM = 20  # tokens; less holds no turn
# What the Visibility, labels and the answer read: whole rows take twice as long.
_COLUMNS: Final = (
    "key", "id", "content", "type", "scope", "group", "thread", "position", "state", "trust", "outside", "tags", "source", "confidence",
    "importance", "root", "valid_from", "valid_to", "valid_to_known_at", "created_at", "retired_at", "expires_at", "author_name",
)  # fmt: skip


@dataclass(frozen=True)
class _NearTurn:
    """A turn next to a hit: `offset` is its place from there, `text` the part of it that is shown as `line`."""

    memory: Memory
    offset: int
    text: str
    line: str
    is_cut: bool


@dataclass(frozen=True)
class _Around:
    """The turns around hits, by the hits' keys, and the tokens of their lines."""

    turns: Mapping[int, tuple[_NearTurn, ...]] = field(default_factory=dict)
    tokens: int = 0


@dataclass(frozen=True)
class Item:
    """One memory of an answer. `label` warns about its state or trust; `is_cut`: the text is only a part of it.

    `coming` is the memory that takes its place on a day to come, `conflicts` name the memories that contradict it, `also_in`
    are others that say the same, which are left out, `events` those that a summary is shown for, `around` the turns next to it.
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
    events: tuple[Memory, ...] = ()
    around: tuple[_NearTurn, ...] = ()

    def between_marks(self, group: str) -> str:
        """The memory as an answer about this group shows it, with the turns around it, without its notes."""
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
        return Notes(group, coming, alike={key: self.also_in}, events={key: self.events}).beside(self.memory)


@dataclass(frozen=True)
class RecallResult:
    """An answer, best first. If nothing is relevant, `abstained` is True and `nearest` holds the closest memories.

    `confidence` says how sure it is that the memories answer the question; `doubt` is a remark about that.

    `relations` are those that the question asks for; they are an answer even without a memory. `collects`: the question asks
    for many memories, which come in short, best or oldest first. `note` says who can make the
    group if it does not exist for the caller. The text names only the first `missing_named` of the missing ids (None: all), and
    has the shortest frame if the budget `is_tight`.
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
    missing_named: int | None = None
    is_tight: bool = False

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
            collects=self.collects,
            missing_named=self.missing_named,
            is_tight=self.is_tight,
        )

    def show(self) -> str:
        """The answer as text: head, relations and memories between marks, remarks."""
        lines = (
            [fence_relations([line.show(self.group) for line in self.relations])] if self.relations else []
        )
        blocks = [
            part
            for item in self.items or self.nearest
            for part in (item.between_marks(self.group), *item.beside(self.group))
        ]
        return "\n".join([self.frame.head(), *lines, *blocks, *self.frame.remarks()])


@dataclass(frozen=True)
class _FittedItems:
    """The items that fit into the budget, the memories that do not, and the tokens of the items with their frame."""

    items: tuple[Item, ...]
    left_out: Sequence[Memory]
    tokens: int
    is_tight: bool = False


def build_answer(
    request: RecallRequest,
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    frame: Frame,
    encoder: Encoder | None,
    trace: Trace,
    *,
    mode: str,
) -> RecallResult:
    """The answer of a ranking: judged, chosen and cut to the budget. Its duration is not set yet."""
    budget = request.token_budget or settings.LOCI.retrieval.token_budget
    counting = counting_encoder(encoder)
    told = _tell_relations(request, ranking, question, visibility, encoder, group=frame.group, budget=budget)
    relations, spent = told.lines, told.tokens
    limits = answer_limits(request, question, told=told)
    chosen = judge_and_choose(ranking, question, visibility, limits, trace, is_explained=request.explain)
    memories, is_found = chosen.memories, chosen.is_found
    shown = replace(
        frame,
        is_abstained=not is_found and not relations,
        doubt=chosen.doubt,
        is_mixed=is_found and is_mixed(memories, frame.group),
        count=len(memories),
        nearest=len(memories),
        relations=len(relations),
        collects=question.collects if is_found else Collects.NOTHING,
    )
    is_short = request.summary_only or not is_found
    fitting = Fitting(budget - spent, counting, summary_only=is_short, words=question.subject_words)
    numbers = trace.numbers if request.explain else {}
    wants_turns = request.around and not is_short
    fitted = fit_items(chosen, shown, visibility, fitting, numbers, wants_turns=wants_turns)
    for memory in fitted.left_out:
        trace.drop(memory.key, f"the token budget of {budget}")
    return RecallResult(
        fitted.items if is_found else (),
        frame.group,
        mode,
        abstained=shown.is_abstained,
        confidence=chosen.confidence.value,
        doubt=chosen.doubt,
        nearest=() if is_found else fitted.items,
        degraded=frame.degraded,
        left_out=len(fitted.left_out),
        tokens=spent + fitted.tokens,
        trace=trace if request.explain else None,
        relations=relations,
        collects=Collects(shown.collects),
        is_tight=fitted.is_tight,
    )


def _tell_relations(
    request: RecallRequest,
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    encoder: Encoder | None,
    *,
    group: str,
    budget: int,
) -> ToldRelations:
    """The relations that may answer, next to the ranked memories."""
    found = ranking.candidates.values()
    return answer_by_relations(
        ranking.relations,
        question,
        visibility,
        request.narrowing,
        encoder,
        group=group,
        names=[ranking.rows[each.key].content for each in found if 0 < each.words <= NAME_WORDS],
        nearest=max((each.vector for each in found if each.words > NAME_WORDS), default=0.0),
        counting=counting_encoder(encoder),
        token_budget=budget,
    )


def fit_items(
    chosen: ChosenMemories,
    shown: Frame,
    visibility: Visibility,
    fitting: Fitting,
    numbers: Mapping[int, dict[str, float]],
    *,
    wants_turns: bool,
) -> _FittedItems:
    """The chosen memories within the budget, with their notes; the turns around them where room is left."""
    are_many = bool(shown.collects)
    summaries = find_summaries(chosen.memories, visibility) if are_many else {}
    rows = {each.key: each for each in (*chosen.memories, *summaries.values())}
    notes = take_notes([*rows.values()], visibility, group=shown.group, alike=chosen.alike)
    parts = passages(chosen.memories, Excerpts(fitting.words, fitting.encoder), are_many=are_many)
    fitting = replace(fitting, parts=parts)
    fitted = fit_hits(chosen.memories, shown, notes, fitting)
    if summaries and not (fitted.is_tight or shown.is_abstained):
        fitted, events = fold_into_summaries(fitted, summaries, shown, notes, fitting.encoder)
        notes = replace(notes, events=events)
    around = _Around()
    if wants_turns and not (shown.collects or fitted.is_tight):
        around = _find_around(fitted.portions, chosen.ranking, visibility, notes, fitting.after(fitted))
    scores = dict(chosen.ranking.scores)
    for key, same in chosen.alike.items():
        # The one that is kept has the score of the best, in whose place it is.
        scores[key] = max(scores[each] for each in (key, *(memory.key for memory in same)))
    for key, own in notes.events.items():
        scores[key] = max(scores[event.key] for event in own)
    items = to_items(fitted.portions, scores, numbers, notes, around.turns)
    return _FittedItems(items, fitted.left_out, fitted.tokens + around.tokens, fitted.is_tight)


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
    """What an answer about the group says besides these memories."""
    prefetch_related_objects([memory for memory in memories if memory.summary_id is not None], "summary")
    coming = find_visible_coming(memories, visibility)
    read_doubts([*memories, *coming.values()])
    return Notes(group, coming, find_visible_conflicts(memories, visibility), alike or {})


def to_items(
    portions: Sequence[Portion],
    scores: Mapping[int, float],
    numbers: Mapping[int, dict[str, float]],
    notes: Notes,
    around: Mapping[int, tuple[_NearTurn, ...]] | None = None,
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
            events=tuple(notes.events.get(portion.memory.key, ())),
            around=(around or {}).get(portion.memory.key, ()),
        )
        for portion in portions
    )


def _find_around(
    portions: Sequence[Portion],
    ranking: Ranking,
    visibility: Visibility,
    notes: Notes,
    fitting: Fitting,
) -> _Around:
    """The turns around those hits that are turns, the best hits' first, in what is left of the budget.

    A turn that the caller may not see, that the group has withdrawn, that is itself a hit or an equal of one is not part of it.
    No query without a turn or without room, one query otherwise.
    """
    found = ranking.candidates
    hits = [
        portion.memory
        for portion in portions
        if portion.memory.position is not None
        and (candidate := found.get(portion.memory.key)) is not None
        and candidate.is_turn
    ]
    if not hits or fitting.token_budget < _MIN_ROOM:
        return _Around()
    equals = (memory.key for same in notes.alike.values() for memory in same)
    known = {*(portion.memory.key for portion in portions), *equals}
    is_seen = sees(visibility)
    rows = [row for row in _read_beside(hits) if row.key not in known and is_seen(row)]
    left_out = find_left_out(rows, visibility)
    read_doubts(rows)
    places = {(row.thread_id, row.position): row for row in rows if row.key not in left_out}
    return _fill_room(hits, places, Excerpts(fitting.words, fitting.encoder), fitting)


def _fill_room(
    hits: Sequence[Memory],
    places: dict[tuple[int | None, int | None], Memory],
    excerpts: Excerpts,
    fitting: Fitting,
) -> _Around:
    """As many of the rows next to each hit as there is room for, nearest first."""
    turns = [
        (hit.key, _make_turn(row, offset, hit, excerpts))
        for hit in hits
        for offset, row in _take_beside(hit, places)
    ]

    def spent() -> int:
        return count_tokens("".join(f"{turn.line}\n" for _, turn in turns), fitting.encoder)

    while (tokens := spent()) > fitting.token_budget:
        turns = turns[: min(len(turns) - 1, len(turns) * fitting.token_budget // tokens)]
    near = defaultdict[int, list[_NearTurn]](list)
    for key, turn in turns:
        near[key].append(turn)
    in_order = {key: tuple(sorted(own, key=lambda turn: turn.offset)) for key, own in near.items()}
    return _Around(in_order, tokens)


def _take_beside(
    hit: Memory, places: dict[tuple[int | None, int | None], Memory]
) -> Iterator[tuple[int, Memory]]:
    """The rows next to a hit with their places from there, nearest first; each is taken out of `places`."""
    for distance in range(1, TURN_REACH + 1):
        for offset in (-distance, distance):
            if row := places.pop((hit.thread_id, (hit.position or 0) + offset), None):
                yield offset, row


def _make_turn(row: Memory, offset: int, hit: Memory, excerpts: Excerpts) -> _NearTurn:
    """The row as a turn next to the hit, with its date if that is another one."""
    text = (
        excerpts.part_of(row.content, TURN_CHARS, read_chars=_READ_CHARS)
        if len(row.content) > TURN_CHARS
        else row.content
    )
    day, hit_day = (f"{each.moment:%Y-%m-%d}" for each in (row, hit))
    line = mark_turn(row, text, label=label_of(row), when=day if day != hit_day else "")
    return _NearTurn(row, offset, text, line, is_cut=text != row.content)


def _read_beside(hits: Sequence[Memory]) -> list[Memory]:
    """The rows in the places around those of the hits, in whatever state; one query."""
    padded = pad_keys(hits, least=_MIN_HITS)
    values = [
        value
        for hit in padded
        for value in (hit.thread_id or 0, (hit.position or 0) - TURN_REACH, (hit.position or 0) + TURN_REACH)
    ]
    rows = _places_query(len(padded)).rows(*values)
    threads = {hit.thread_id: hit.thread for hit in hits}
    for row in rows:
        row.thread = threads[row.thread_id]
    return rows


@cache
def _places_query(count: int) -> CompiledQuery[Memory]:
    # As an expression: a placeholder is outside the column's range, where Django expects no row.
    def bound(value: int) -> Value:
        return Value(value, output_field=BigIntegerField())

    def make(*values: int) -> QuerySet[Memory]:
        places = Q()
        for at in range(0, len(values), 3):
            thread, low, high = values[at : at + 3]
            places |= Q(thread=thread, position__gte=bound(low), position__lte=bound(high))
        return Memory.objects.only(*_COLUMNS).filter(places).order_by()

    return CompiledQuery(make, 3 * count)
