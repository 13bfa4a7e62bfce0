"""Questions for an amount of money that no memory about the thing has."""

import re
from collections.abc import Sequence

from memories.language.word_tables import parse_words, read_sections
from memories.models import Memory
from memories.recall.abstention.filler import is_filler
from memories.recall.abstention.shared_words import shared_word_shares
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.search.query_terms import Match

_ASKS = re.compile(
    r"\bhow much\b.*\b(?:pay|pays|paid|costs?|charges?|charged|spend|spent|earns?|owe|owes)\b"
    r"|\bwhat (?:do|does|did)\b.*\b(?:costs?|charge)\b"
    r"|\b(?:price|budget|salary|rent|cost|costs|fee) (?:of|for|per)\b",
    re.I,
)
_AMOUNT = re.compile(
    r"[€$£¥%]|\b(?:euros?|eur|usd|gbp|dollars?|pounds?|cents?|pence|bucks|kronor|kroner|sek|nok|dkk|chf|francs?|yen|yuan"
    r"|rupees?|z[lł]oty|pln|free|gratis|nothing|million|billion|grand)\b|\d+ ?k\b",
    re.I,
)
_ASKING_WORDS = parse_words(read_sections("question_words")["for an amount"])


def lacks_amount(question: Question, ranking: Ranking, judged: Sequence[Memory]) -> bool:
    """Whether the question asks for an amount of money, and of the statements that have most of its words none has one.

    Turns are left out: who answers in a conversation rarely repeats the question's words.
    """
    if not ranking.rows or question.match is None or not _ASKS.search(question.text):
        return False
    things = Match(tuple(term for term in question.match.terms if term not in _ASKING_WORDS))
    told = [
        memory
        for memory in judged
        if not ranking.candidates[memory.key].is_turn and not is_filler(memory.key, ranking, question)
    ]
    shares = shared_word_shares(things, [" ".join([memory.content, *memory.tags]) for memory in told])
    most = max(shares, default=0.0)
    about = [memory for memory, share in zip(told, shares, strict=True) if share == most] + told[:1]
    return most > 0 and not any(_AMOUNT.search(memory.content) for memory in about)
