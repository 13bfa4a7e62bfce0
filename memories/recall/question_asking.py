"""What a question says about its answer and not about its subject: how it is asked for, and who said what is sought.

Such words are rare in what is remembered, so they would weigh more than the subject's own. English so far.
"""

import re
from enum import StrEnum

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
