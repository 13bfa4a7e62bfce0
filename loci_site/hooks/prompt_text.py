"""A person's prompt as text: without what is not theirs to remember, and what of it is worth asking the memory."""

import re
from typing import Final

from memories.search.query_terms import content_words

MIN_CHARS: Final = 12  # "yes, go on" asks nothing
MAX_QUESTION_CHARS: Final = 800
_MIN_CONTENT_WORDS: Final = 2
_MAX_CODE_SHARE: Final = 0.5
# What Loci or a client put into a prompt: stored again, a memory would prove itself.
_OWN = (
    "loci", "memory", "memories", "checkpoint", "relations", "system-reminder", "task-notification",
    "hook_prompt", "environment_context", "private",
)  # fmt: skip
_FENCED = re.compile(
    "|".join(rf"<\s*{name}\b[^>]*>.*?(?:<\s*/\s*{name}\s*>|\Z)" for name in _OWN), re.I | re.S
)
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.S)
_CODE_LINE = re.compile(
    r"^(?:\s{4,}\S|.*[{};]\s*$|\s*(?:def|class|import|from|return|const|let|var|function)\s)"
)
_SWITCH = re.compile(r"^\s*/?loci[ :](off|on)\s*$", re.I)
# Words that point into the conversation: what they mean was said there and is not in the memory.
_POINTING = (
    r"\b(?:this|that|these|those|the (?:last|previous|first|second|third|other|same|next))"
    r" (?:[\w-]+ )?(?:file|function|method|class|loop|line|block|test|module|variable|edit|change|option|one|"
    r"version|answer|step|part|idea|error|output|code|snippet|expression)s?\b"
)
POINTS_HERE = re.compile(rf"{_POINTING}|\bagain\b", re.I)
# In a prompt these words also point at what is being written or drawn. A rule may well name "the first paragraph".
_THIS = re.compile(
    rf"{_POINTING}|\b(?:this|that|these|those) (?:[\w-]+ )?(?:comment|callback|sentence|paragraph|text|title|heading|"
    r"draft|message|e-?mail|reply|table|chart|picture|slide|cell|formula|query)s?\b",
    re.I,
)
_AGAIN = re.compile(r"\bagain\b", re.I)
_WHOLE_CLAUSE: Final = (
    4  # "the queue workers hang again after the deploy" says all by itself, "run the test again" does not
)
_CLAUSE_END = re.compile(r"(?<=[.!?])\s+|[,;\n]\s*|\s+(?:and|but)\s+")


def clean_prompt(text: str) -> str:
    """The text without injected blocks and what is marked as private; empty if it says #skip."""
    return "" if "#skip" in text else _FENCED.sub(" ", text).strip()


def without_code(text: str) -> str:
    plain = _CODE_BLOCK.sub("\n", text)
    return "\n".join(line for line in plain.splitlines() if not line.lstrip().startswith(">"))


def read_switch(text: str) -> bool | None:
    """True for "/loci off", False for "/loci on", None for anything else."""
    found = _SWITCH.match(text)
    return found[1].lower() == "off" if found else None


def is_command(text: str) -> bool:
    """Whether a prompt is a command to the client: it begins with a slash, an exclamation mark or a hash."""
    return text.lstrip().startswith(("/", "!", "#"))


def _is_mostly_code(text: str) -> bool:
    """Whether at least half of the text is code, in a block or by the look of its lines."""
    blocks = sum(len(block) for block in _CODE_BLOCK.findall(text))
    rest = _CODE_BLOCK.sub("", text).splitlines()
    lines = sum(len(line) for line in rest if _CODE_LINE.match(line))
    return blocks + lines >= _MAX_CODE_SHARE * len(text)


def question_of(prompt: str) -> str:
    """What of a cleaned prompt to ask the memory; empty if it asks nothing that could be stored.

    Clauses that point into the conversation ("this function", "run it again") are left out.
    """
    if len(prompt) < MIN_CHARS or is_command(prompt) or _is_mostly_code(prompt):
        return ""
    clauses = _CLAUSE_END.split(_CODE_BLOCK.sub(" ", prompt))
    question = ", ".join(clause.strip() for clause in clauses if not _points_here(clause)).strip(" ,")
    return question[:MAX_QUESTION_CHARS] if len(set(content_words(question))) >= _MIN_CONTENT_WORDS else ""


def _points_here(clause: str) -> bool:
    if _THIS.search(clause):
        return True
    return bool(_AGAIN.search(clause)) and len({*content_words(_AGAIN.sub("", clause))}) < _WHOLE_CLAUSE
