"""Whose words the best turns are: what another person said does not answer for the one who is named."""

import re
from collections.abc import Mapping, Sequence

from memories.recall.adjustments import SPEAKERS, elsewhere_adjustment, speaker_of
from memories.recall.candidates import Candidate
from memories.recall.question import Question
from memories.recall.weights import BEST_TURNS, TUNING
from memories.search.base import RankingFields

ROLES = frozenset().union(*SPEAKERS.values())  # "User:" is nobody's name
_FOLLOWED = re.compile(r"(?:['’]s)? \w")
_GREETINGS = tuple(
    word + end
    for word in ("hey", "hi", "hello", "thanks", "you", "yes", "yeah", "no", "wow", "oh")
    for end in (" ", ", ")
)


def lead_of_others(
    question: Question,
    ranked: Sequence[tuple[int, float]],
    candidates: Mapping[int, Candidate],
    rows: Mapping[int, RankingFields],
    group_key: int | None = None,
) -> float:
    """How far other speakers' turns lead those by or about the one speaker that the question names; 0 if they do not.

    The speaker boost and the penalty outside `group_key`, the one group of the request, are taken out first: they change
    who ranks first, not whose words answer.
    """
    if not question.names:
        return 0.0
    turns = [
        (rows[key].content, score - elsewhere_adjustment(rows[key], group_key))
        for key, score in ranked
        if candidates[key].is_turn
    ]
    spoken = [(speaker_of(content), content, score) for content, score in turns]
    named = (question.names & frozenset().union(*(speaker for speaker, _, _ in spoken))) - ROLES
    if len(named) != 1:
        return 0.0
    [name] = named
    own: list[float] = []
    others: list[float] = []
    for speaker, content, score in spoken:
        if name in speaker:
            own.append(score - TUNING.speaker_boost)
        elif speaker:
            (own if is_about(content, name) else others).append(score)
    return max(0.0, _strength(others) - _strength(own))


def is_about(text: str, name: str) -> bool:
    """Whether a turn is about the person ("Maria says so", "Maria's car") and does not only greet them ("Hey Maria!")."""
    lowered = text.lower()
    at = lowered.find(name)
    while at >= 0:
        is_word = not lowered[max(at - 1, 0) : at].isalnum()
        is_followed = _FOLLOWED.match(lowered, at + len(name)) is not None
        if is_word and is_followed and not lowered.endswith(_GREETINGS, 0, at):
            return True
        at = lowered.find(name, at + 1)
    return False


def _strength(scores: Sequence[float]) -> float:
    """Mean of the best score and of the mean of the three best; 0 without scores."""
    best = sorted(scores, reverse=True)[:BEST_TURNS]
    return (best[0] + sum(best) / len(best)) / 2 if best else 0.0
