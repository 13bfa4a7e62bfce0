"""Summaries of several events. The default quotes their own sentences; a setting names another summariser."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from math import log, sqrt
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

from access.errors import Unavailable
from memories.language.cleaning import fold
from memories.language.word_forms import bearing_words, root
from memories.search.query_terms import STOP_WORDS, words

_MAX_SENTENCE_CHARS = 400
_DAYS_NAMED = 5  # of a sentence with more days, only the first and the last are named
_RELEVANCE = 0.7  # weight of merit against redundancy: MMR, Carbonell & Goldstein 1998
_IMPORTANCE_WEIGHT = 0.02  # per step of importance above the middle (5)
_NUMBER_OR_NAME_WEIGHT = 0.1  # bonus of a sentence with numbers or names
_SPEAKER = re.compile(r"^([\w .'’-]{1,40}): ")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[^\sa-z])|(?<=[。！？])|\n+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|dr|mr|mrs|ms|prof|st|no|vs|approx|e\.g|i\.e|etc|cf)\.$", re.I
)
_TERM = re.compile(r"[^\W\d_][\w.-]{2,38}\w")
_TERMS_NAMED = 12
_NUMBER_OR_NAME = re.compile(r"\d|(?<=[\w,;] )[A-Z][a-z]")


@dataclass(frozen=True)
class SummarySource:
    """An event to summarise: its id, its text, when it happened, and its importance (1–10)."""

    id: UUID
    content: str
    at: datetime
    importance: int


@dataclass(frozen=True)
class _SummaryLine:
    """A sentence of a summary, and the events that it comes from."""

    text: str
    sources: tuple[UUID, ...]


@dataclass(frozen=True)
class Summary:
    """A summary's text, and its lines with their sources; an empty text means that no summary is possible."""

    text: str
    lines: tuple[_SummaryLine, ...] = ()


class _Summariser(Protocol):
    """Makes one text of several. The same events must yield the same text, else a preview differs from the run."""

    def summarise(self, sources: Sequence[SummarySource], *, title: str, sentences: int) -> Summary:
        """A text of at most `sentences` sentences, each naming its event; `sources` are in order of time.

        Called outside any transaction, so it may be slow. `title` describes the events: how many and when.
        """


def get_summariser() -> _Summariser:
    """The summariser that the settings name. Raises Unavailable if it cannot be used."""
    return _load_summariser(settings.LOCI.maintenance.summariser)


@lru_cache
def _load_summariser(path: str) -> _Summariser:
    """An instance of the class at a dotted path. Raises Unavailable if it cannot be used."""
    try:
        summariser: _Summariser = import_string(path)()
    except Exception as error:  # a foreign module may raise anything while it is imported
        raise Unavailable(
            f"maintenance.summariser '{path}' cannot be used: {type(error).__name__}: {error}",
            hint="Set a class by its dotted path, such as maintenance.cycle.compaction.summary.Extractive.",
        ) from error
    if not callable(getattr(summariser, "summarise", None)):
        raise Unavailable(
            f"maintenance.summariser '{path}' has no method summarise().",
            hint="See Summariser in maintenance/cycle/compaction/summary.py.",
        )
    return summariser


@dataclass(frozen=True)
class _SourceSentence:
    """A sentence with its speaker, the positions of the events that contain it, and the weight of each word.

    `order` is the position of its first event, and its own within that event.
    """

    text: str
    speaker: str
    order: tuple[int, int]
    sources: tuple[int, ...]
    weights: dict[str, float]


class Extractive:
    """Quotes sentences of the events, each with its date and speaker, and adds no words of its own.

    One sentence per event first, by its share of the event, its centrality, and its novelty among those already
    chosen; then others up to the limit.
    """

    def summarise(self, sources: Sequence[SummarySource], *, title: str, sentences: int) -> Summary:
        """The chosen sentences in order of time, one per line, below the title."""
        candidates = _collect_sentences(sources)
        chosen = sorted(_choose_sentences(candidates, sources, limit=sentences), key=lambda s: s.order)
        lines = tuple(
            _SummaryLine(_format_line(s, sources), tuple(sources[at].id for at in s.sources)) for s in chosen
        )
        text = "\n".join([title, *(line.text for line in lines)]) if lines else ""
        return Summary(text, lines)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, trimmed. A line break ends one; the dot of a title or an initial does not."""
    parts: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        if "\n" not in end[0] and _ABBREVIATION.search(text[start : end.start()]):
            continue
        parts.append(text[start : end.start()] + end[0].strip())
        start = end.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if words(part)]


def _day_text(moment: datetime) -> str:
    """A date as memories are embedded with it: 8 May 2023."""
    return f"{moment.day} {moment:%B %Y}"


def span_text(first: datetime, last: datetime) -> str:
    """The days of the first and last event: "8 May 2023 to 12 May 2023", or one day."""
    days = dict.fromkeys([_day_text(first), _day_text(last)])
    return " to ".join(days)


def _days_text(moments: Sequence[datetime]) -> str:
    """The days of some moments: "4, 5 and 8 May 2026"; of more than _DAYS_NAMED the first and last, and how many."""
    days = sorted({moment.date() for moment in moments})
    if len(days) > _DAYS_NAMED:
        return f"{_day_text(min(moments))} to {_day_text(max(moments))}, {len(days)} days"
    months = [
        (month, [str(day.day) for day in own]) for month, own in groupby(days, key=lambda d: f"{d:%B %Y}")
    ]
    return ", ".join(f"{_listed(numbers)} {month}" for month, numbers in months)


def _listed(parts: Sequence[str]) -> str:
    """The parts as a list in words."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def key_terms(texts: Sequence[str]) -> list[str]:
    """What texts are about: the words that most of them have, as they are written there most often; names first among equals."""
    spread, written = Counter[str](), dict[str, Counter[str]]()
    for text in texts:
        found = {root(fold(word)): word for word in _TERM.findall(text) if fold(word) not in STOP_WORDS}
        spread.update(found.keys())
        for base, word in found.items():
            written.setdefault(base, Counter())[word] += 1
    best = {base: forms.most_common(1)[0][0] for base, forms in written.items()}
    ranked = sorted(spread, key=lambda base: (-spread[base], not best[base][:1].isupper()))
    return [best[base] for base in ranked[:_TERMS_NAMED]]


def _collect_sentences(sources: Sequence[SummarySource]) -> list[_SourceSentence]:
    """Each distinct sentence once, with all events that contain it."""
    found: dict[tuple[str, str], tuple[str, tuple[int, int], list[int]]] = {}
    for at, source in enumerate(sources):
        label = _SPEAKER.match(source.content)
        speaker = label[1] if label else ""
        body = source.content[label.end() :] if label else source.content
        for order, text in enumerate(split_sentences(body)):
            _, _, known = found.setdefault((speaker, _told(text)), (text, (at, order), []))
            if at not in known:
                known.append(at)
    spread = Counter(word for text, _, _ in found.values() for word in set(_content_roots(text)))
    return [
        _SourceSentence(text, speaker, order, tuple(known), _tfidf_weights(text, spread, total=len(found)))
        for (speaker, _), (text, order, known) in found.items()
    ]


def _told(text: str) -> str:
    """What a sentence says, whatever its case, signs and small words."""
    return " ".join(bearing_words(fold(text))) or fold(text)


def _content_roots(text: str) -> list[str]:
    return [root(word) for word in words(text) if word not in STOP_WORDS]


def _tfidf_weights(text: str, spread: Counter[str], *, total: int) -> dict[str, float]:
    """TF-IDF weights of unit length; `spread` counts the sentences that have each root, out of `total`."""
    raw = {word: n * log(1 + total / spread[word]) for word, n in Counter(_content_roots(text)).items()}
    length = sqrt(sum(weight * weight for weight in raw.values())) or 1.0
    return {word: weight / length for word, weight in raw.items()}


def _choose_sentences(
    candidates: Sequence[_SourceSentence], sources: Sequence[SummarySource], *, limit: int
) -> list[_SourceSentence]:
    """Up to `limit` sentences by maximal marginal relevance; events without a sentence yet go first."""
    merits = _rate_sentences(candidates, sources)
    overlap = [0.0] * len(candidates)  # the highest cosine of each to a chosen one
    uncovered, left = set(range(len(sources))), set(range(len(candidates)))
    chosen: list[_SourceSentence] = []
    while left and len(chosen) < limit:
        pool = [at for at in left if uncovered & set(candidates[at].sources)] or list(left)
        best = max(
            pool,
            key=lambda at: (
                _RELEVANCE * merits[at] - (1 - _RELEVANCE) * overlap[at],
                [-n for n in candidates[at].order],
            ),
        )
        left.discard(best)
        chosen.append(candidates[best])
        uncovered -= set(candidates[best].sources)
        for at in left:
            overlap[at] = max(overlap[at], _sparse_dot(candidates[at].weights, candidates[best].weights))
    return chosen


def _rate_sentences(candidates: Sequence[_SourceSentence], sources: Sequence[SummarySource]) -> list[float]:
    """The merit of each sentence: centrality + share of its event + numbers or names + importance."""
    centre: Counter[str] = Counter()
    whole: Counter[int] = Counter()
    for sentence in candidates:
        centre.update(sentence.weights)
        whole.update(dict.fromkeys(sentence.sources, len(sentence.weights)))
    length = sqrt(sum(weight * weight for weight in centre.values())) or 1.0
    centred = {word: weight / length for word, weight in centre.items()}
    merits = []
    for sentence in candidates:
        share = len(sentence.weights) / (whole[sentence.sources[0]] or 1)
        importance = max(sources[at].importance for at in sentence.sources) - 5
        bonus = _NUMBER_OR_NAME_WEIGHT if _NUMBER_OR_NAME.search(sentence.text) else 0.0
        centrality = _sparse_dot(sentence.weights, centred)
        merits.append(centrality + share + bonus + _IMPORTANCE_WEIGHT * importance)
    return merits


def _sparse_dot(one: dict[str, float], other: dict[str, float]) -> float:
    """The dot product of two sparse vectors; of unit vectors their cosine."""
    if len(other) < len(one):
        one, other = other, one
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())


def _format_line(sentence: _SourceSentence, sources: Sequence[SummarySource]) -> str:
    """A sentence as a line of a summary: "[8 May 2023] Maria: …", cut at _MAX_SENTENCE_CHARS."""
    when = _days_text([sources[at].at for at in sentence.sources])
    text = sentence.text
    if len(text) > _MAX_SENTENCE_CHARS:
        text = text[:_MAX_SENTENCE_CHARS].rsplit(None, 1)[0] + " …"
    return f"[{when}] {sentence.speaker}: {text}" if sentence.speaker else f"[{when}] {text}"
