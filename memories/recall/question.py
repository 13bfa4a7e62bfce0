"""Understanding a question: its words, its vector, the dates and the names it speaks of."""

import re
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum

from memories.embedding import Encoder
from memories.recall.dates import MONTH_NUMBER, NamedDate, asks_when, named_dates
from memories.recall.weights import TUNING, Tuning
from memories.search.base import Vector
from memories.search.query_terms import STOP_WORDS, Match, match_for

_FRAMES = [
    # What the answer shall look like.
    r"\b(?:please )?(?:mention|name|give|list|use)(?: only)?(?: and only)? (?:\w+|\d+) (?:items?|points?|sentences?)\b(?: only)?[.!?]?",
    r"\b(?:in (?:chronological )?order|step by step|in detail|in (?:one|a few) (?:words?|sentences?))\b",
    r"\b(?:a|an|the)? ?(?:(?:comprehensive|complete|full|brief|short|detailed|quick|clear|concise) )+(?:summary|overview|list|description|explanation|account|picture) of\b",
    r"\b(?:a|an|the) (?:summary|overview|list|description|account) of\b",
    r"\bthe order (?:in which|that)\b",
    r"\b(?:the )?(?:different|various) (?:aspects|parts|sides|topics) of\b",
    # Who is asked.
    r"^(?:please )?(?:can|could|would|will) you (?:please )?"
    r"(?:(?:list|tell|give|show|summari[sz]e|explain|describe|remind|outline|recall|walk|provide|find|say)(?: me| us)?(?: of| about| through| to)?(?: |$))?",
    r"^(?:please )?(?:list|tell|give|show|summari[sz]e|explain|describe|remind|outline)(?: me| us)?(?: of| about| to)?\b",
    r"^(?:do|can) you (?:remember|recall|know)(?: if| whether| that)?\b",
    # Where it was said.
    r"\b(?:through|throughout|across|during|over|in|from) (?:all )?(?:our|the|these|my) (?:previous |past |earlier |whole )?(?:conversations?|chats?|discussions?|sessions?|messages)\b",
    r"\b(?:that |which )?(?:I|we)(?:'ve| have| had)? (?:brought up|discussed|talked about|mentioned|told you(?: about)?|went over)\b",
]
_FRAME = re.compile("|".join(f"(?:{frame})" for frame in _FRAMES), re.I)
_OWN = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|my|mine|me|we|our)\b")
_YOURS = re.compile(
    r"\b(?:did|have|had|were) you\b|\byou(?:r| (?:recommend|suggest|advise|say|said|told|propose|provide|explain))",
    re.I,
)


class Speakers(StrEnum):
    """Who said what a question is about, where one speaks with an assistant."""

    USER = "user"
    ASSISTANT = "assistant"
    ANYONE = ""


def subject_of(question: str) -> str:
    """Give a question without the words that only say how it shall be answered; whole where nothing would be left."""
    bare = _FRAME.sub(" ", question.strip())
    bare = re.sub(r"\s+([,.?!])", r"\1", re.sub(r"\s{2,}", " ", bare)).strip(" ,.;:")
    return bare if len(bare.split()) > 1 else question


def said_by(question: str) -> Speakers:
    """Say whether a question is about what the one who asks said ("my", "I") or the assistant ("did you recommend")."""
    if _YOURS.search(question):
        return Speakers.ASSISTANT
    return Speakers.USER if _OWN.search(question) else Speakers.ANYONE


LATIN_END = "\u0250"
_NAME = re.compile(r"\b[A-Z][\w'’-]*\b")
_FIRST_WORD = re.compile(r"^\s*\w+")
_ENDING = re.compile(r"['’](?:s|m|d|ll|re|ve)$")  # Maria's, I'm


@dataclass(frozen=True)
class Question:
    """A question, understood. `match` is None where there is no word to look for.

    `vector` may still be being made; it is None without a model.
    """

    text: str
    match: Match | None
    vector: Future[Vector] | None
    dates: tuple[NamedDate, ...] = ()
    names: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()  # those of the names that are none for standing first
    asks_when: bool = False
    said_by: Speakers = Speakers.ANYONE
    readable: float = 1.0  # share of its letters in a script that the model was taught


def understand(text: str, *, encoder: Encoder | None, tuning: Tuning = TUNING) -> Question:
    """Give the question with its words, vector, dates, names (lower case), who said it, and whether it asks for a time."""
    subject = subject_of(text) if tuning.by_subject else text
    return Question(
        text=text,
        match=match_for(subject),
        vector=encoder.question_vector(subject) if encoder else None,
        dates=named_dates(text),
        names=names_in(text),
        named=names_in(_FIRST_WORD.sub("", text)),
        asks_when=asks_when(text),
        said_by=said_by(text),
        readable=readable_share(text),
    )


def readable_share(text: str) -> float:
    """Give the share (0–1) of the letters that are Latin: the model was taught on English, and others are noise to it."""
    if text.isascii():
        return 1.0
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter < LATIN_END for letter in letters) / len(letters) if letters else 1.0


def names_in(text: str) -> frozenset[str]:
    """Find the words with a capital that are no question words or months, in lower case."""
    words = (_ENDING.sub("", word.lower()) for word in _NAME.findall(text))
    return frozenset(w for w in words if w not in STOP_WORDS and w not in MONTH_NUMBER)
