"""Questions that collect ("which vendors have we tried?", "summarise …"): many short hits instead of ten whole ones."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from django.conf import settings

from memories.embedding import Encoder
from memories.language.word_tables import read_sections
from memories.models import Memory
from memories.recall.budget import (
    FittedAnswer,
    Frame,
    Notes,
    Portion,
    count_marks,
    count_memory_tokens,
    counting_encoder,
    fit,
)
from memories.recall.question import Question, RecallRequest
from memories.recall.shown.excerpts import Excerpts
from memories.recall.weights import (
    MAX_COLLECTED,
    MAX_LISTED,
    MIN_COLLECTED,
    MIN_HIT_TOKENS,
    USUAL_HIT_TOKENS,
)
from memories.types import Type

MAX_QUESTION_CHARS: Final = 600  # a longer text is no question of these forms
MAX_SENTENCES: Final = 6
_PARTS: Final = {
    "{plural}": r"(?:people|children|men|women|(?!news\b)[\w'’-]*[^\W\ds](?<![ui])s)",
    "{who}": r"(?:(?:we|i|you|they|he|she|both|everybody|everyone)\b|(?:our|my|the) (?:team|group)\b|(?-i:[A-Z])[\w'’-]*)",
}
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_SPACE: Final = re.compile(r"\s+")


class Collects(StrEnum):
    """Whether a question collects, and the order of its answer."""

    NOTHING = ""
    BEST_FIRST = "best first"
    OLDEST_FIRST = "oldest first"


def _compile(polite: Sequence[str], forms: Sequence[str]) -> re.Pattern[str]:
    """One pattern of all forms, at the beginning of a sentence after any polite words."""
    alternatives = "|".join(forms)
    for name, pattern in _PARTS.items():
        alternatives = alternatives.replace(name, pattern)
    return re.compile(rf"(?:(?:{'|'.join(polite)})\b,? ?){{0,4}}(?:{alternatives})(?!\w)", re.I)


_TABLE: Final = read_sections("collecting")
_MANY: Final = _compile(_TABLE["polite"], _TABLE["many"])
_IN_ORDER: Final = _compile(_TABLE["polite"], _TABLE["in order"])


def read_collecting(question: str) -> Collects:
    """Whether the question asks for many memories, and whether in their order in time."""
    if len(question) > MAX_QUESTION_CHARS:
        return Collects.NOTHING
    sentences = _SENTENCE.split(_SPACE.sub(" ", question.strip()))[:MAX_SENTENCES]
    if any(_IN_ORDER.match(sentence) for sentence in sentences):
        return Collects.OLDEST_FIRST
    return Collects.BEST_FIRST if any(_MANY.match(sentence) for sentence in sentences) else Collects.NOTHING


def usual_limit(question: Question, collects: Collects) -> int:
    """How many memories an answer has at most if the caller names no number."""
    usual = settings.LOCI.retrieval.max_results
    # A time that is asked for alone has no best memories, only newest.
    return max(usual, MAX_LISTED if question.is_time_alone else usual, MAX_COLLECTED if collects else usual)


@dataclass(frozen=True)
class AnswerLimits:
    """How an answer's memories are chosen: at most `limit`; names alone only if asked for, or if there is nothing else.

    `has_lines`: relations are told as lines, so there is something else. `keeps_far`: those far below the best are wanted too.
    """

    limit: int
    wants_names: bool
    has_lines: bool
    keeps_far: bool


def answer_limits(
    request: RecallRequest, question: Question, collects: Collects, *, has_lines: bool
) -> AnswerLimits:
    """The limits of a request's answer. A named number, and a question that collects, bring what is far below the best too."""
    return AnswerLimits(
        request.max_results or usual_limit(question, collects),
        wants_names=Type.ENTITY in request.narrowing.types,
        has_lines=has_lines,
        keeps_far=request.max_results is not None or bool(collects),
    )


@dataclass(frozen=True)
class Fitting:
    """How an answer is fitted: its tokens, who counts them, whether only beginnings are wanted, and the question's `words`."""

    token_budget: int
    encoder: Encoder | None
    summary_only: bool
    words: frozenset[str]

    def after(self, fitted: FittedAnswer) -> "Fitting":
        """The same with the tokens that this answer leaves."""
        return replace(self, token_budget=self.token_budget - fitted.tokens)


def fit_hits(memories: Sequence[Memory], frame: Frame, notes: Notes, fitting: Fitting) -> FittedAnswer:
    """The hits within the budget: in short if the question collects, unless the caller wants beginnings anyway."""
    if frame.collects and not fitting.summary_only:
        return fit_collected(memories, frame, notes, fitting)
    if frame.collects == Collects.OLDEST_FIRST:
        memories = sorted(memories, key=in_time)
    return fit(
        memories,
        frame,
        notes,
        token_budget=fitting.token_budget,
        encoder=fitting.encoder,
        summary_only=fitting.summary_only,
    )


def fit_collected(memories: Sequence[Memory], frame: Frame, notes: Notes, fitting: Fitting) -> FittedAnswer:
    """As many of the memories as the budget holds in short, each with the part of its text that has most of the words.

    Up to MAX_COLLECTED: fewer, down to MIN_COLLECTED, so that each has room for USUAL_HIT_TOKENS, and fewer still if they
    would have less than MIN_HIT_TOKENS. Texts that are shorter than that leave their room to the others.
    """
    counting = counting_encoder(fitting.encoder)
    fullest = replace(frame, is_cut=True, left_out=len(memories))
    room = fitting.token_budget - fullest.tokens(counting)
    counts = count_memory_tokens(memories, counting)
    marks = count_marks(memories, notes.show, counting)
    taken = choose_count(memories, counts, marks, room)
    level = share_room(
        [counts[memory.key] for memory in taken], room - sum(marks[memory.key] for memory in taken)
    )
    excerpts = Excerpts(fitting.words, counting)
    portions = []
    for memory in taken:
        text, tokens = memory.content, counts[memory.key]
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
    return memories[: min(*fitting, MAX_COLLECTED) if len(fitting) > 1 else MAX_COLLECTED]


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
