"""Understanding a question: its words, its vector, the dates and the names it speaks of."""

import re
from dataclasses import dataclass

from memories.embedding import Encoder
from memories.index.base import Vector
from memories.index.terms import STOP_WORDS, Match, match_for
from memories.recall.dates import MONTH_NUMBER, NamedDate, asks_when, named_dates

_NAME = re.compile(r"\b[A-Z][\w'’-]*\b")


@dataclass(frozen=True)
class Question:
    """A question, understood. `vector` is None without a model, `match` where there is no word to look for."""

    text: str
    match: Match | None
    vector: Vector | None
    dates: tuple[NamedDate, ...] = ()
    names: frozenset[str] = frozenset()
    asks_when: bool = False


def understand(text: str, *, encoder: Encoder | None) -> Question:
    """Give the question with its words, vector, dates, names (lower case), and whether it asks for a time."""
    return Question(
        text=text,
        match=match_for(text),
        vector=encoder.encode_query(text) if encoder else None,
        dates=named_dates(text),
        names=names_in(text),
        asks_when=asks_when(text),
    )


def names_in(text: str) -> frozenset[str]:
    """Find the words with a capital that are no question words or months, in lower case."""
    words = (re.sub(r"['’]s$", "", word.lower()) for word in _NAME.findall(text))
    return frozenset(w for w in words if w not in STOP_WORDS and w not in MONTH_NUMBER)
