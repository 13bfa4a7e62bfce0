"""Questions for a time of which nothing is stored."""

from collections.abc import Sequence

from django.utils import timezone

from memories.models import Memory
from memories.recall.abstention.shared_words import shared_word_shares
from memories.recall.dates.stored import is_past, is_true_at, mentions_any_of
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.weights import FACT_OF_A_DAY_SHARE
from memories.search.query_terms import Match, words


def is_time_empty(question: Question, ranking: Ranking, judged: Sequence[Memory]) -> bool:
    """Whether the question names a few days that are past, or a time and nothing else, of which nothing is stored.

    A memory of another day may still tell of it, or say what was true then. Without rows (modes for comparison) only a
    time alone is judged.
    """
    times, today = question.dates, timezone.localdate()
    if ranking.dated.all or not times or not (ranking.rows or question.is_time_alone):
        return False
    if not question.is_time_alone and not all(is_past(time, today) for time in times):
        return False
    if any(mentions_any_of(memory, times, today) for memory in judged):
        return False
    facts = [memory for memory in judged if is_true_at(memory, times, today)]
    return not any(share >= FACT_OF_A_DAY_SHARE for share in shares_beside_time(question, facts))


def shares_beside_time(question: Question, memories: Sequence[Memory]) -> list[float]:
    """The share of the question's words that each memory has, without the words that name the time.

    Of a single word ("Was there an incident on 3 May?") no fact says what was true then, so nothing is shared.
    """
    time = {*words(question.time_words)}
    terms = question.match.terms if question.match else ()
    others = tuple(term for term in terms if not time & {*term.split()})
    return shared_word_shares(
        Match(others) if len(others) > 1 else None, [memory.content for memory in memories]
    )
