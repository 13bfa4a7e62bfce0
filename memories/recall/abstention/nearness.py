"""How close the best candidates come to a question, measured term by term."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memories.models import Memory
from memories.recall.abstention.filler import is_filler
from memories.recall.abstention.limits import group_level
from memories.recall.abstention.names import unknown_share, unknown_word_share
from memories.recall.abstention.shared_words import shared_word_shares
from memories.recall.abstention.speakers import lead_of_others
from memories.recall.adjustments import is_dated
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.weights import AbstentionLimits
from memories.search.base import RankingFields
from memories.store.pieces import embedded_text


@dataclass(frozen=True)
class Nearness:
    """How close the best candidates come to the question, term by term of AbstentionLimits."""

    nearest_cosine: float = 0.0
    shared_words: float = 0.0
    shared_by_first: float = 0.0
    level: float = 0.0
    unknown_names: float = 0.0
    unknown_words: float = 0.0
    others_lead: float = 0.0

    def reached(self, by: AbstentionLimits) -> float:
        """The weighted sum that is compared with `wanted`."""
        return (
            self.nearest_cosine
            + by.words * self.shared_words
            + by.first * self.shared_by_first
            + by.level * self.level
            + by.strangers * self.unknown_names
            + by.unknown * self.unknown_words
            + by.others * self.others_lead
        )


def measure_nearness(
    question: Question,
    ranking: Ranking,
    judged: Sequence[Memory],
    cosines: Mapping[int, float],
    limits: AbstentionLimits,
) -> Nearness:
    """The terms that `limits` weighs, for the judged memories; terms of weight 0 are not computed."""
    rows = ranking.rows
    shares = shared_word_shares(
        question.match, [_with_asked_date(memory, rows, question) for memory in judged]
    )
    # A filler shares nothing: five letters in common are no word of the question yet.
    shares = [
        0.0 if is_filler(memory.key, ranking, question) else share
        for memory, share in zip(judged, shares, strict=True)
    ]
    contents = [row.content for row in rows.values()]
    return Nearness(
        nearest_cosine=max((cosines[memory.key] for memory in judged if memory.key in cosines), default=0.0),
        shared_words=max(shares),
        shared_by_first=shares[0],
        level=group_level(cosines.values()) if limits.level else 0.0,
        unknown_names=unknown_share(question.person_names, contents) if limits.strangers else 0.0,
        unknown_words=unknown_word_share(question, contents) if limits.unknown else 0.0,
        others_lead=lead_of_others(question, ranking.scores, ranking.candidates, rows, ranking.group_key)
        if limits.others
        else 0.0,
    )


def _with_asked_date(memory: Memory, rows: Mapping[int, RankingFields], question: Question) -> str:
    """The content and tags, with its date in the words that the model reads if the question names that date."""
    content = " ".join([memory.content, *memory.tags])
    row = rows.get(memory.key) if question.dates else None
    if row is None or row.moment is None or not is_dated(row, question.dates):
        return content
    return f"{embedded_text(content, row.moment)} {row.moment:%Y-%m-%d} {question.time_words}"
