"""How near the best candidates must come to a question, by the kind of text that they are."""

from collections.abc import Iterable, Sequence
from math import log, sqrt

from memories.recall.adjustments import speaker_of
from memories.recall.candidates import Candidate
from memories.recall.pipeline import Ranking
from memories.recall.weights import (
    ABOVE_NEAREST,
    CROWD,
    CROWD_CHARS,
    FACTS,
    FEW,
    LONG,
    LONG_TEXT_WORDS,
    TALK,
    UNKNOWN,
    UNRELATED_MEAN,
    UNRELATED_SPREAD,
    AbstentionLimits,
)


def choose_limits(ranking: Ranking, judged: Sequence[int], *, vectors: int) -> AbstentionLimits:
    """The limits for the kind of text that most of the judged are, or those for few texts or unknown ones."""
    if vectors < CROWD and sum(len(row.content) for row in ranking.rows.values()) < CROWD_CHARS:
        return FEW
    if not ranking.rows:
        return UNKNOWN
    talk = [key for key in judged if is_talk(ranking.candidates[key], ranking.rows[key].content)]
    if len(talk) * 2 < len(judged):
        return FACTS
    long = sum(ranking.candidates[key].words > LONG_TEXT_WORDS for key in talk)
    return LONG if long * 2 >= len(talk) else TALK


def is_talk(candidate: Candidate, content: str) -> bool:
    """Whether a text is long or a speaker's turn; a thread's text without a speaker may well be a fact."""
    return candidate.words > LONG_TEXT_WORDS or (candidate.is_turn and bool(speaker_of(content)))


def group_level(cosines: Iterable[float]) -> float:
    """The cosine of the last of a crowd: any text of the group comes so close, the closer the more there are."""
    nearest = sorted(cosines, reverse=True)[:CROWD]
    return nearest[-1] if nearest else 0.0


def small_store_limit(candidates: int) -> float:
    """The limit for the nearest of so few candidates: more than the nearest unrelated text reaches, at most that of FACTS.

    The expected greatest of n normal values lies about sqrt(2 ln n) spreads above their mean.
    """
    nearest = sqrt(2 * log(max(candidates, 2)))
    return min(UNRELATED_MEAN + UNRELATED_SPREAD * (nearest + ABOVE_NEAREST), FACTS.wanted)
