"""The memories that an answer shows, how many, which part of each, and why others are left out."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

from django.conf import settings

from access.limits.deadline import check_time
from access.visibility import Visibility
from memories.embedding import Encoder
from memories.language.word_forms import ROOT_CHARS, root
from memories.models import Memory
from memories.queries.quoting import escape
from memories.queries.visibility import is_visible, sees
from memories.recall.abstention import (
    NOTHING_RELEVANT,
    UNSURE,
    Confidence,
    asked_for,
    judge,
    reasons_against,
)
from memories.recall.budget import (
    ELLIPSIS,
    FittedAnswer,
    Fitting,
    Frame,
    Notes,
    Portion,
    collapse_alike,
    count_marks,
    count_memory_tokens,
    count_tokens,
    cut_text,
    fit,
    fit_best,
)
from memories.recall.collecting import Collects
from memories.recall.pipeline import Ranking
from memories.recall.question import Question, RecallRequest
from memories.recall.relations import ToldRelations
from memories.recall.scoring import SPEAKER_LABEL, Trace
from memories.recall.weights import (
    CANDIDATES,
    FAR_BELOW_COLLECTED,
    FAR_BELOW_SHARE,
    JUDGED_CANDIDATES,
    MAX_COLLECTED,
    MAX_LISTED,
    MAX_NEAREST,
    MIN_COLLECTED,
    MIN_HIT_TOKENS,
    USUAL_HIT_TOKENS,
)
from memories.search.rows import read_memories
from memories.store.withdrawn.left_out import LEFT_OUT_REASON, find_left_out, find_visible_coming
from memories.types import Type

MAX_TRIES: Final = 6
READ_CHARS: Final = 20_000  # of a text, searched for the best part
_SENTENCE_END: Final = re.compile(r"[.!?;。！？]+[\"'”’)\]]*(?=\s)|\n")
_WORDS: Final = re.compile(r"\S+")
_BEFORE: Final = "… "


class _Sentences(NamedTuple):
    """Where the sentences of a text are after the speaker's name, and how many of the question's words each has."""

    start: int
    spans: Sequence[tuple[int, int]]
    shared: Sequence[int]

    def window(self, room: int) -> tuple[int, int]:
        """The sentence with most of the words, and as many of those after and before it as there is room for."""
        spans = self.spans
        first = last = self.shared.index(max(self.shared))
        while True:
            if last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= room:
                last += 1
            elif first and spans[last][1] - spans[first - 1][0] <= room:
                first -= 1
            else:
                return first, last


class Excerpts:
    """Shortens texts around the words that a question has."""

    def __init__(self, words: frozenset[str], encoder: Encoder | None) -> None:
        self._words, self._encoder = words, encoder

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        """What begins each of the words; most answers cut no text."""
        roots = sorted({root(word) for word in self._words} - {""})
        # A longer word's root is its beginning; a shorter one may have a plural s.
        forms = (re.escape(each) + ("" if len(each) == ROOT_CHARS else r"s*\b") for each in roots)
        return re.compile(rf"\b(?:{'|'.join(forms)})") if roots else None

    def shorten(self, text: str, tokens: int, limit: int) -> tuple[str, int]:
        """The best part of a text of `tokens` in at most `limit`, with … where something is left out, and its tokens.

        A turn keeps the name of its speaker. The part begins at a sentence, and ends at one unless that alone is too long.
        """
        room = len(text) * limit // max(tokens, 1)
        read = self._read(text, READ_CHARS)
        for _ in range(MAX_TRIES):
            check_time()
            part = self._best_part(text, read, max(room, 1))
            count = count_tokens(escape(part), self._encoder)
            if count <= limit:
                return part, count
            room = room * limit // max(count, 1) - 2
        part = cut_text(text, limit, self._encoder)
        return part, count_tokens(escape(part), self._encoder)

    def part_of(self, text: str, room: int, *, read_chars: int) -> str:
        """The sentences with most of the words, in about `room` characters, of the first `read_chars`."""
        return self._best_part(text, self._read(text, read_chars), room)

    def _read(self, text: str, chars: int) -> _Sentences:
        """The sentences of the first characters after the speaker's name, and how many of the words each has."""
        label = SPEAKER_LABEL.match(text)
        start, end = label.end() if label else 0, min(chars, len(text))
        spans = _sentence_spans(text, start, end)
        lowered = text[:end].lower()
        if len(lowered) != end:  # a few letters are longer in lower case
            lowered = text[:end]
        begins, shared = [begin for begin, _ in spans], [set[str]() for _ in spans]
        for found in self._pattern.finditer(lowered, start) if self._pattern else ():
            if at := bisect_right(begins, found.start()):
                shared[at - 1].add(found[0])
        return _Sentences(start, spans, [*map(len, shared)])

    def _best_part(self, text: str, read: _Sentences, room: int) -> str:
        """The sentences with most of the words, and what stands around them, in about `room` characters."""
        if not read.spans:
            return text[:room]
        named = text[: read.start]
        room -= len(named)
        first, last = read.window(room)
        begin, end = read.spans[first][0], read.spans[last][1]
        if end - begin > room:
            begin, end = self.cut_around(text, begin, end, room)
        before = _BEFORE if begin > read.start else ""
        after = ELLIPSIS if text[end:].strip() else ""
        return f"{named}{before}{text[begin:end].strip()}{after}"

    def cut_around(self, text: str, begin: int, end: int, room: int) -> tuple[int, int]:
        """The part of one long sentence around the first of the words, cut between words."""
        words = [(found.start(), found.end()) for found in _WORDS.finditer(text, begin, end)]
        match = self._pattern.search(text[begin:end].lower()) if self._pattern else None
        place = begin + match.start() if match else begin
        at = max(0, sum(start <= place for start, _ in words) - 1)
        first = at
        while first and words[at][1] - words[first - 1][0] <= room // 3:
            first -= 1
        last = first
        while last + 1 < len(words) and words[last + 1][1] - words[first][0] <= room:
            last += 1
        return words[first][0], min(words[last][1], words[first][0] + max(room, 1))


def _sentence_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The beginnings and ends of the sentences and lines between two places, without blank ones."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, start, end)]
    bounds = list(dict.fromkeys([start, *ends, end]))
    return [(one, other) for one, other in pairwise(bounds) if not text[one:other].isspace()]


def _usual_limit(question: Question) -> int:
    """How many memories an answer has at most if the caller names no number."""
    usual = settings.LOCI.retrieval.max_results
    # A time that is asked for alone has no best memories, only newest.
    listed = MAX_LISTED if question.is_time_alone else usual
    collected = MAX_COLLECTED if question.collects else usual
    return max(usual, listed, collected, 2 * CANDIDATES if question.asks_for_all else usual)


@dataclass(frozen=True)
class _AnswerLimits:
    """How an answer's memories are chosen: at most `limit`; names alone only if asked for, or if there is nothing else.

    `has_lines`: relations are told as lines, so there is something else; `is_told`: they surely answer. `least_share` of the best score: what has less is
    left out; None if the caller names how many it wants.
    """

    limit: int
    wants_names: bool
    has_lines: bool
    is_told: bool
    least_share: float | None


def answer_limits(request: RecallRequest, question: Question, *, told: ToldRelations) -> _AnswerLimits:
    """The limits of a request's answer."""
    usual_share = FAR_BELOW_COLLECTED if question.collects else FAR_BELOW_SHARE
    return _AnswerLimits(
        request.max_results or _usual_limit(question),
        wants_names=Type.ENTITY in request.narrowing.types,
        has_lines=bool(told.lines),
        is_told=told.is_sure,
        least_share=None if request.max_results else usual_share,
    )


def fit_hits(memories: Sequence[Memory], frame: Frame, notes: Notes, fitting: Fitting) -> FittedAnswer:
    """The hits within the budget: in short if the question collects, unless the caller wants beginnings anyway.

    If there is room for none, a part of the best one, unless relations answer or nothing does.
    """
    if frame.collects and not fitting.summary_only:
        fitted = _fit_collected(memories, frame, notes, fitting)
    else:
        in_order = sorted(memories, key=in_time) if frame.collects == Collects.OLDEST_FIRST else memories
        fitted = fit(in_order, frame, notes, fitting)
    if memories and not (fitted.portions or frame.is_abstained or frame.relations):
        return fit_best(memories, frame, notes, fitting) or fitted
    return fitted


def _fit_collected(memories: Sequence[Memory], frame: Frame, notes: Notes, fitting: Fitting) -> FittedAnswer:
    """As many of the memories as the budget holds in short, each with the part of its text that has most of the words.

    Fewer, down to MIN_COLLECTED, so that each has room for USUAL_HIT_TOKENS, and fewer still if they
    would have less than MIN_HIT_TOKENS. Texts that are shorter than that leave their room to the others.
    """
    counting = fitting.encoder
    fullest = replace(frame, is_cut=True, left_out=len(memories))
    room = fitting.token_budget - fullest.tokens(counting)
    counts = count_memory_tokens(memories, counting, fitting.parts)
    marks = count_marks(memories, notes.show, counting)
    taken = choose_count(memories, counts, marks, room)
    level = share_room(
        [counts[memory.key] for memory in taken], room - sum(marks[memory.key] for memory in taken)
    )
    excerpts = Excerpts(fitting.words, counting)
    portions = []
    for memory in taken:
        text, tokens = fitting.parts.get(memory.key, memory.content), counts[memory.key]
        if tokens > level:
            text, tokens = excerpts.shorten(text, tokens, level)
        portions.append(Portion(memory, text, tokens + marks[memory.key], text != memory.content))
    if frame.collects == Collects.OLDEST_FIRST:
        portions.sort(key=lambda portion: in_time(portion.memory))
    chosen = {memory.key for memory in taken}
    left_out = [memory for memory in memories if memory.key not in chosen]
    is_cut = any(portion.is_cut for portion in portions)
    shown = replace(frame, count=len(portions), is_cut=is_cut, left_out=len(left_out))
    return FittedAnswer(
        portions, left_out, shown.tokens(counting) + sum(portion.tokens for portion in portions)
    )


def choose_count(
    memories: Sequence[Memory], counts: dict[int, int], marks: dict[int, int], room: int
) -> Sequence[Memory]:
    """The best of the memories, as many as have enough room each."""
    fitting, usual, least = [len(memories)], 0, 0
    for at, memory in enumerate(memories):
        count, mark = counts[memory.key], marks[memory.key]
        usual += mark + min(count, USUAL_HIT_TOKENS)
        least += mark + min(count, MIN_HIT_TOKENS)
        if least > room or (usual > room and at >= MIN_COLLECTED):
            fitting.append(at)
    return memories[: min(fitting)]


def share_room(counts: Sequence[int], room: int) -> int:
    """The most tokens that each text may have so that all fit: what short ones do not need is the others'."""
    level = 0
    for at, count in enumerate(sorted(counts)):
        level = room // (len(counts) - at)
        if count > level:
            return level
        room -= count
    return max(counts, default=0)


def in_time(memory: Memory) -> tuple[str, int, int]:
    """The order in which memories happened: by their own day or that of storing, within a thread by place."""
    return memory.moment.isoformat(), memory.position or 0, memory.key


_SAME_SCORE = 0.01  # scores this close say the same of two memories
ALIKE_REASON = "another one that is shown says the same"
AHEAD_REASON = "it is shown with the memory that it will replace"
OTHER_REASON = "the question asks for all of something else"
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
    limits: _AnswerLimits,
    trace: Trace,
    *,
    is_explained: bool,
) -> ChosenMemories:
    """The memories that answer; the closest few if none does and no relation answers either."""
    depth = len(ranking.scores) if question.asks_for_all else max(limits.limit, JUDGED_CANDIDATES)
    rows, ranking = _read_best(ranking, visibility, depth, trace)
    best = [rows[key] for key, _ in ranking.scores if key in rows]
    # A name that is not shown answers nothing.
    told = [m for m in best if limits.wants_names or not m.is_name_alone or m.key in ranking.requested]
    is_found, confidence, doubt = judge(question, ranking, told or best, trace)
    if is_found:
        memories, alike = _choose_and_fill(best, ranking, question, visibility, limits, trace)
    else:
        # The closest few, names alone only if there is nothing else.
        closest = [memory for memory in best if not memory.is_name_alone] or best
        memories, alike = [] if limits.has_lines else closest[:MAX_NEAREST], {}
    if is_explained:  # everything that keeps each other candidate out, so that no limit is raised in vain
        trace.order = [key for key, _ in ranking.scores]
        settled = {memory.key for memory in memories} | trace.dropped.keys()
        for at, (key, _) in enumerate(ranking.scores):
            if key not in settled:
                beyond = [f"beyond the first {limits.limit}"] if at >= limits.limit else []
                reasons = [*beyond, *reasons_against(key, ranking, question, least_share=limits.least_share)]
                trace.drop(key, " and ".join(reasons or [OTHER_REASON]) if is_found else NOTHING_RELEVANT)
    if limits.is_told:
        confidence, doubt = Confidence.HIGH, ""
    elif limits.has_lines and not is_found:
        doubt = UNSURE
    return ChosenMemories(memories, alike, ranking, is_found, confidence, doubt)


def _read_best(
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
    is_seen = sees(visibility)
    visible = {key: row for key, row in rows.items() if is_seen(row)}
    if len(visible) < len(keys):
        for key in keys:
            if key not in visible:
                trace.drop(key, CHANGED_REASON)
    return visible


def _choose_and_fill(
    best: Sequence[Memory],
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    limits: _AnswerLimits,
    trace: Trace,
) -> tuple[list[Memory], dict[int, list[Memory]]]:
    """_choose_answers() of the best memories; if names alone and equals took places, of twice as many, once."""
    chosen, alike = _choose_answers(best, ranking, question, visibility, limits, trace)
    depth = max(limits.limit, JUDGED_CANDIDATES)
    if len(best) == depth and (alike or any(memory.is_name_alone for memory in best)):
        rows, ranking = _read_best(ranking, visibility, 2 * depth, trace)
        more = [rows[key] for key, _ in ranking.scores if key in rows]
        chosen, alike = _choose_answers(more, ranking, question, visibility, limits, trace)
    for other in (memory for same in alike.values() for memory in same):
        trace.drop(other.key, ALIKE_REASON)
    return chosen, alike


def _choose_answers(
    best: Sequence[Memory],
    ranking: Ranking,
    question: Question,
    visibility: Visibility,
    limits: _AnswerLimits,
    trace: Trace,
) -> tuple[list[Memory], dict[int, list[Memory]]]:
    """The memories that answer, and their equals as in collapse_alike().

    Those with reasons_against() are left out, and so are names alone that no requested relation leads to, and what an answer
    tells next to the memory that it will replace.
    """
    close = [*asked_for(best, ranking, question, least_share=limits.least_share)] or [
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
    coming = {memory.key for memory in find_visible_coming(said, visibility).values()}
    for key in coming.intersection(memory.key for memory in said):
        trace.drop(key, AHEAD_REASON)
    said = [memory for memory in said if memory.key not in coming]
    return collapse_alike(said if question.is_time_alone else _own_first(said, ranking), limit=limits.limit)


def _own_first(memories: Sequence[Memory], ranking: Ranking) -> Sequence[Memory]:
    """The memories with the team's own before outside ones of nearly the same score."""
    if len({memory.outside for memory in memories}) < 2:
        return memories
    scores = dict(ranking.scores)
    return sorted(
        memories, key=lambda memory: (-round(scores.get(memory.key, 0.0) / _SAME_SCORE), memory.outside)
    )


# Each filter by name, and the fields of a Visibility without it.
_WITHOUT_FILTER: dict[str, dict[str, Any]] = {
    "types": {"types": frozenset()},
    "tags": {"tags": frozenset()},
    "scope": {"scope": ""},
    "min_confidence": {"min_confidence": 0.0},
    "min_importance": {"min_importance": 0},
    "thread": {"thread": ""},
    "source": {"source": ""},
    "after": {"after": None},
    "before": {"before": None},
    "include_orphans": {"orphans": frozenset()},
    "group": {"groups": None},
}


def excluding_filters(memory: Memory, visibility: Visibility) -> list[str]:
    """Names of the filters that exclude the memory on their own: without one of them it is inside the Visibility."""
    return [
        name for name, fields in _WITHOUT_FILTER.items() if is_visible(memory, replace(visibility, **fields))
    ]
