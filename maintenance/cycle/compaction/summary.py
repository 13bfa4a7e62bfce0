"""Summaries: what stands for several events. The default takes their own sentences; another one is a setting away."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from math import log, sqrt
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from access.errors import Unavailable
from memories.language.cleaning import fold
from memories.language.word_forms import root
from memories.search.query_terms import STOP_WORDS, words

MAX_SENTENCE_CHARS = 400
DATES_NAMED = 3  # of a sentence that was said more often, the first and the last day are named
# Carbonell & Goldstein 1998 (MMR): relevance against what is said already.
RELEVANCE = 0.7
IMPORTANCE_WEIGHT = 0.02  # for each step of importance above the middle
TELLING_WEIGHT = 0.1  # of a sentence with numbers or names
_SPEAKER = re.compile(r"^([\w .'’-]{1,40}): ")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[^\sa-z])|(?<=[。！？])|\n+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|dr|mr|mrs|ms|prof|st|no|vs|approx|e\.g|i\.e|etc|cf)\.$", re.I
)
_TELLING = re.compile(r"\d|(?<=[\w,;] )[A-Z][a-z]")


@dataclass(frozen=True)
class SummarySource:
    """An event to be summarised: its name, its text, when it happened, and its importance (1–10)."""

    id: UUID
    content: str
    at: datetime
    importance: int


@dataclass(frozen=True)
class SummaryLine:
    """A sentence of a summary, and the events that it is taken from."""

    text: str
    sources: tuple[UUID, ...]


@dataclass(frozen=True)
class Summary:
    """A summary's text, and its lines with their sources; an empty text says that there is none to be made."""

    text: str
    lines: tuple[SummaryLine, ...] = ()


class Summariser(Protocol):
    """Makes one text of several. The same events must give the same text, else a preview does not tell what comes."""

    def summarise(self, sources: Sequence[SummarySource], *, title: str, sentences: int) -> Summary:
        """Give a text of at most so many sentences that says which event each is from; `sources` are in order of time.

        It is called outside any transaction, and may take its time. `title` names the events: how many and when.
        """


@lru_cache
def _made(path: str) -> Summariser:
    try:
        maker = import_string(path)
        made: Summariser = maker()
    except Exception as fault:  # whatever a foreign module raises while it is imported
        raise Unavailable(
            f"maintenance.summariser '{path}' cannot be used: {type(fault).__name__}: {fault}",
            hint="Name a class by its dotted path, such as maintenance.cycle.compaction.summary.Extractive.",
        ) from fault
    if not callable(getattr(made, "summarise", None)):
        raise Unavailable(
            f"maintenance.summariser '{path}' has no method summarise().",
            hint="See Summariser in maintenance/cycle/compaction/summary.py.",
        )
    return made


def get_summariser() -> Summariser:
    """Give the summariser that the settings name. Raises Unavailable where it cannot be imported."""
    return _made(settings.LOCI.maintenance.summariser)


@dataclass(frozen=True)
class _Sentence:
    """A sentence, with who said it, the events that have it, and the weight of each of its words."""

    text: str
    speaker: str
    order: tuple[int, int]
    sources: tuple[int, ...]
    weights: dict[str, float]


class Extractive:
    """Chooses sentences of the events themselves, each with its date and who said it; no word is its own.

    First one for each event, by how much of the event it holds, how central it is and how little of it is said
    already; then others while there is room.
    """

    def summarise(self, sources: Sequence[SummarySource], *, title: str, sentences: int) -> Summary:
        """Give the sentences chosen, in order of time, a line each."""
        candidates = _candidates(sources)
        chosen = sorted(_chosen(candidates, sources, limit=sentences), key=lambda s: s.order)
        lines = tuple(
            SummaryLine(_line(s, sources), tuple(sources[at].id for at in s.sources)) for s in chosen
        )
        text = "\n".join([title, *(line.text for line in lines)]) if lines else ""
        return Summary(text, lines)


def split_sentences(text: str) -> list[str]:
    """Give the sentences of a text, trimmed; a line's end ends one too, a title's or an initial's dot does not."""
    parts: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if "\n" not in end[0] and _ABBREVIATION.search(text[start : end.start()]):
            continue
        parts.append(text[start : end.start()] + end[0].strip())
        start = end.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if words(part)]


def day_text(moment: datetime) -> str:
    """Give a date as memories are embedded with it: 8 May 2023."""
    return f"{moment.day} {moment:%B %Y}"


def span_text(first: datetime, last: datetime) -> str:
    """Give the days from the first to the last event."""
    days = dict.fromkeys([day_text(first), day_text(last)])
    return " to ".join(days)


def _candidates(sources: Sequence[SummarySource]) -> list[_Sentence]:
    """Give every sentence once, with all events that have it."""
    found: dict[tuple[str, str], tuple[str, tuple[int, int], list[int]]] = {}
    for at, source in enumerate(sources):
        label = _SPEAKER.match(source.content)
        speaker = label[1] if label else ""
        body = source.content[label.end() :] if label else source.content
        for order, text in enumerate(split_sentences(body)):
            _, _, known = found.setdefault((speaker, fold(text)), (text, (at, order), []))
            if at not in known:
                known.append(at)
    spread = Counter(word for text, _, _ in found.values() for word in set(_roots(text)))
    return [
        _Sentence(text, speaker, order, tuple(known), _weights(text, spread, total=len(found)))
        for (speaker, _), (text, order, known) in found.items()
    ]


def _roots(text: str) -> list[str]:
    return [root(word) for word in words(text) if word not in STOP_WORDS]


def _weights(text: str, spread: Counter[str], *, total: int) -> dict[str, float]:
    """Give TF-IDF weights of unit length over the sentences of all events."""
    raw = {word: n * log(1 + total / spread[word]) for word, n in Counter(_roots(text)).items()}
    length = sqrt(sum(weight * weight for weight in raw.values())) or 1.0
    return {word: weight / length for word, weight in raw.items()}


def _chosen(
    candidates: Sequence[_Sentence], sources: Sequence[SummarySource], *, limit: int
) -> list[_Sentence]:
    merits = _merits(candidates, sources)
    said = [0.0] * len(candidates)  # how much of each the chosen ones say already
    open_, left = set(range(len(sources))), set(range(len(candidates)))
    chosen: list[_Sentence] = []
    while left and len(chosen) < limit:
        pool = [at for at in left if open_ & set(candidates[at].sources)] or list(left)
        best = max(
            pool,
            key=lambda at: (
                RELEVANCE * merits[at] - (1 - RELEVANCE) * said[at],
                [-n for n in candidates[at].order],
            ),
        )
        left.discard(best)
        chosen.append(candidates[best])
        open_ -= set(candidates[best].sources)
        for at in left:
            said[at] = max(said[at], _cosine(candidates[at].weights, candidates[best].weights))
    return chosen


def _merits(candidates: Sequence[_Sentence], sources: Sequence[SummarySource]) -> list[float]:
    """Give what speaks for each sentence: how central it is, how much of its event it holds, what it tells."""
    centre: Counter[str] = Counter()
    whole: Counter[int] = Counter()
    for sentence in candidates:
        centre.update(sentence.weights)
        whole.update(dict.fromkeys(sentence.sources, len(sentence.weights)))
    length = sqrt(sum(weight * weight for weight in centre.values())) or 1.0
    centred = {word: weight / length for word, weight in centre.items()}
    merits = []
    for sentence in candidates:
        first = sentence.sources[0]
        share = len(sentence.weights) / (whole[first] or 1)
        importance = max(sources[at].importance for at in sentence.sources) - 5
        telling = TELLING_WEIGHT if _TELLING.search(sentence.text) else 0.0
        merits.append(_cosine(sentence.weights, centred) + share + telling + IMPORTANCE_WEIGHT * importance)
    return merits


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    if len(other) < len(one):
        one, other = other, one
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())


def _line(sentence: _Sentence, sources: Sequence[SummarySource]) -> str:
    moments = [sources[at].at for at in sentence.sources]
    days = list(dict.fromkeys(day_text(moment) for moment in moments))
    when = ", ".join(days) if len(days) <= DATES_NAMED else f"{days[0]} to {days[-1]}, {len(moments)} times"
    text = sentence.text
    if len(text) > MAX_SENTENCE_CHARS:
        text = text[:MAX_SENTENCE_CHARS].rsplit(None, 1)[0] + " …"
    return f"[{when}] {sentence.speaker}: {text}" if sentence.speaker else f"[{when}] {text}"
