"""Candidates that would only pad an answer."""

from math import log2

from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.weights import (
    ABOVE_FILLER,
    ELSEWHERE_SHARE,
    MAX_ELSEWHERE_SHARE,
    SHORT_WORDS,
    UNRELATED_MEAN,
    UNRELATED_SPREAD,
    WORDY,
)

# Why a candidate is not in the answer, wherever that is shown.
FILLER_REASON = "it shares no word with the question and is not close in meaning"
ELSEWHERE_REASON = "it is another group's, and far below the best"
FAR_BELOW_REASON = "it is far below the best (a request that names max_results gets it)"


def unwanted(key: int, ranking: Ranking, question: Question, *, keeps_far: bool = False) -> list[str]:
    """Why an answer has no use for a candidate, however good its rank; `keeps_far`: being far below the best is no reason."""
    found = [FILLER_REASON] if is_filler(key, ranking, question) else []
    if is_noise(key, ranking):
        found.append(ELSEWHERE_REASON)
    if not found and not keeps_far and is_far_below(key, ranking):
        found.append(FAR_BELOW_REASON)
    return found


def is_noise(key: int, ranking: Ranking) -> bool:
    """Whether a candidate is another group's memory and far below the best; the longer it is, the less far is enough.

    What proves a requested relation is none, nor is anything in a request to all groups.
    """
    row = ranking.rows.get(key)
    if row is None or ranking.group_key in (None, row.group_id) or key in ranking.requested:
        return False
    longer = max(0.0, log2(max(ranking.candidates[key].words, 1) / SHORT_WORDS))
    share = min(ELSEWHERE_SHARE + WORDY * longer, MAX_ELSEWHERE_SHARE)
    return ranking.score_by_key.get(key, 0.0) < share * ranking.best_score


def is_far_below(key: int, ranking: Ranking) -> bool:
    """Whether a candidate beyond the first few is too far from the best to stand beside it; what was requested never is."""
    if key not in ranking.rows or key in ranking.requested:
        return False
    return ranking.score_by_key.get(key, 0.0) < ranking.least_shown


def is_filler(key: int, ranking: Ranking, question: Question) -> bool:
    """Whether a candidate would only pad the answer; what proves a requested relation never does."""
    found = ranking.candidates[key]
    # A question that the model cannot read is close to anything.
    return key not in ranking.requested and is_padding(found.keyword, found.vector * question.readable)


def is_padding(keyword: float, cosine: float) -> bool:
    """Whether a text shares no word with the question and is no closer than unrelated texts are."""
    return not keyword and cosine < UNRELATED_MEAN + ABOVE_FILLER * UNRELATED_SPREAD
