"""Whom a question names: whether the group speaks of them at all, and whether what was found was said by others."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from memories.language.cleaning import without_marks
from memories.language.word_forms import stands_inside
from memories.recall.adjustments import SPEAKERS, elsewhere_part, speaker_of
from memories.recall.candidates import Candidate
from memories.recall.question import Question
from memories.recall.weights import TUNING
from memories.search.base import RankingFields

NAME_CHARS = 5  # of a longer name so many decide: Deborah, Debora
# A name of the same first letter that has seven of ten letters in the same order is the same name, spelled otherwise.
SPELLED_ALIKE = 0.7
MOST_OTHER_LETTERS = 2
LOOKED_THROUGH = 300  # characters of each text
BEST_TURNS = 3
ROLES = frozenset().union(*SPEAKERS.values())  # "User:" labels nobody whom a question names
_WORD = re.compile(r"[^\W\d_][\w'’]{2,}")
_FOLLOWED = re.compile(r"(?:['’]s)? \w")
_GREETINGS = tuple(
    word + end
    for word in ("hey", "hi", "hello", "thanks", "you", "yes", "yeah", "no", "wow", "oh")
    for end in (" ", ", ")
)


def unknown_share(names: Collection[str], contents: Iterable[str]) -> float:
    """Give the share (0–1) of the names that no text has, whatever their endings and spelling; 0 where nothing is named."""
    unknown = set(names)
    texts: list[str] = []
    for content in contents:
        if not unknown:
            return 0.0
        texts.append(content)
        lowered = content.lower()
        unknown = {name for name in unknown if not _speaks_of(lowered, name)}
    if unknown:
        beginnings = "\n".join(text[:LOOKED_THROUGH] for text in texts)
        said = {without_marks(word) for word in set(_WORD.findall(beginnings)) if word[0].isupper()}
        unknown = {name for name in unknown if not is_spelled_otherwise(without_marks(name), said)}
        unknown = {name for name in unknown if not any(stands_inside(text, name) for text in texts)}
    return len(unknown) / len(names) if names else 0.0


def is_spelled_otherwise(name: str, words: Collection[str]) -> bool:
    """Say whether one of the words, in lower case, may be the same name: Mohammed and Muhammad, Akib and Aqib."""
    alike = [
        word for word in words if word[0] == name[0] and abs(len(word) - len(name)) <= MOST_OTHER_LETTERS
    ]
    return bool(get_close_matches(name, alike, n=1, cutoff=SPELLED_ALIKE))


def lead_of_others(
    question: Question,
    ranked: Sequence[tuple[int, float]],
    candidates: Mapping[int, Candidate],
    rows: Mapping[int, RankingFields],
    room: int | None = None,
) -> float:
    """Give how far turns of others lead those by or about the one speaker whom the question names; 0 where they do not.

    Strength is the mean of the best score and of the three best, without what ranking adds for the speaker and takes off what
    comes from elsewhere than the group asked in, `room`: that changes who is first, not who said it.
    """
    if not question.names:
        return 0.0
    turns = [
        (rows[key].content, score - elsewhere_part(rows[key], room))
        for key, score in ranked
        if candidates[key].is_turn
    ]
    said = [(speaker_of(content), content, score) for content, score in turns]
    named = (question.names & frozenset().union(*(speaker for speaker, _, _ in said))) - ROLES
    if len(named) != 1:
        return 0.0
    [name] = named
    own: list[float] = []
    others: list[float] = []
    for speaker, content, score in said:
        if name in speaker:
            own.append(score - TUNING.speaker_boost)
        elif speaker:
            (own if tells_of(content, name) else others).append(score)
    return max(0.0, _strength(others) - _strength(own))


def tells_of(text: str, name: str) -> bool:
    """Say whether a turn tells of somebody ("Maria says so", "Maria's car") and does not only address them ("Hey Maria!")."""
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
    best = sorted(scores, reverse=True)[:BEST_TURNS]
    return (best[0] + sum(best) / len(best)) / 2 if best else 0.0


def _speaks_of(lowered: str, name: str) -> bool:
    """Say whether a text in lower case has a word that begins like the name; all of a short name, or its plural."""
    beginning, is_whole = name[:NAME_CHARS], len(name) <= NAME_CHARS
    at = lowered.find(beginning)
    while at >= 0:
        rest = lowered[at + len(beginning) :][:2].removeprefix("s") if is_whole else ""
        if not lowered[max(at - 1, 0) : at].isalnum() and not rest[:1].isalnum():
            return True
        at = lowered.find(beginning, at + 1)
    return False
