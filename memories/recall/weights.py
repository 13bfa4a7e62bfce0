"""The numbers of mode hybrid in one place, so that evaluation can take each step out and choose them anew."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Tuning:
    """Weights of the steps. One set for every kind of text, chosen over all development sets at once (docs/recall.md).

    Shares are meaning's weight against words, 0–1; the others are added to a fused score of about 0–1.
    """

    full_cosine: float = 0.6  # a cosine this high counts as much as the best keyword match
    turn_share: float = 0.45  # turns of a conversation are found by words: alone they mean little
    fact_share: float = 0.85  # a statement that stands alone is found by its meaning
    long_share: float = 0.55  # one vector per 256 tokens says less of a long text
    thread_share: float = 0.3  # of the thread's score in a turn's own
    beside_share: float = 0.1  # of the scores of what was stored right before and after it
    date_boost: float = 0.3  # all that the question says of a date fits the memory's
    time_boost: float = 0.1  # the question asks when, and the memory speaks of a time
    speaker_boost: float = 0.07  # the question names who speaks
    said_boost: float = 0.1  # the question says whether the one who asks or the assistant said it
    short_penalty: float = 0.04  # for each halving below 25 words: "Wow, nice!" answers nothing
    length_penalty: float = (
        0.15  # for each doubling of a turn beyond 100 words; the setting retrieval.length_penalty
    )
    elsewhere_penalty: float = 0.1  # another group's global memory, where one group is asked in
    # Of 0.05 to 0.2 and 0.2 to 0.5, by the questions of tests/memories/recall/test_relations.py. 0.5 finds one more of them, but a
    # relation shall push aside what has the question's own words no further than a date does.
    relation_boost: float = 0.15  # proves, or is the other end of, a relation of a named entity
    asked_boost: float = 0.3  # and the question has the relation's predicate, or names both ends
    by_relations: bool = True  # what hangs on the named entities comes among the candidates, with the boosts
    by_subject: bool = True  # searched without the words that only say how to answer
    by_script: bool = True  # meaning counts less where the model cannot read the question's script


TUNING = Tuning()
# What evaluation takes out, one at a time: the step's name and the numbers without it.
STEPS: dict[str, dict[str, Any]] = {
    "the thread": {"thread_share": 0.0},
    "what was stored beside": {"beside_share": 0.0},
    "the date": {"date_boost": 0.0},
    "the time": {"time_boost": 0.0},
    "the speaker": {"speaker_boost": 0.0},
    "who said it": {"said_boost": 0.0},
    "the subject alone": {"by_subject": False},
    "the penalty for long turns": {"length_penalty": 0.0},
    "the penalty for the very short": {"short_penalty": 0.0},
    "the group asked in": {"elsewhere_penalty": 0.0},
    "the relations": {"by_relations": False},
    "the share by kind": {"fact_share": 0.45, "long_share": 0.45},
}
# What cross-validation chooses from, one number at a time.
CHOICES: dict[str, tuple[float, ...]] = {
    "full_cosine": (0.5, 0.7),
    "turn_share": (0.35, 0.55),
    "fact_share": (0.75, 0.95),
    "long_share": (0.45, 0.65),
    "thread_share": (0.2, 0.4),
    "beside_share": (0.05, 0.15),
    "date_boost": (0.2, 0.4),
    "time_boost": (0.05, 0.15),
    "speaker_boost": (0.04, 0.1),
    "said_boost": (0.05, 0.15),
    "short_penalty": (0.02, 0.06),
    "length_penalty": (0.1, 0.2),
}


def without(step: str, tuning: Tuning = TUNING) -> Tuning:
    """Give the numbers with one of STEPS taken out."""
    return replace(tuning, **STEPS[step])
