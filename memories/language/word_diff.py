"""Word-by-word difference between two texts: same, gone and new parts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final

SAME: Final = "same"
GONE: Final = "gone"
NEW: Final = "new"
# Comparing words takes quadratic time, 0.2 s at worst for twice this many. Longer changes are compared by sentence.
MAX_WORDS: Final = 600
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_TOKENS = re.compile(r"\w+(?:[.,:'’\-/]\w+)*|\s+|[^\w\s]")


@dataclass(frozen=True)
class DiffPart:
    """A part of the texts: `same` (in both), `gone` (only in the first) or `new` (only in the second)."""

    kind: str
    text: str


def diff_words(before: str, after: str) -> tuple[DiffPart, ...]:
    """Parts in reading order; all but the new ones make up the first text, all but the gone ones the second.

    A number or a name with its dots and dashes is one word. White space between two changed words changes with them.
    """
    one, other = _TOKENS.findall(before), _TOKENS.findall(after)
    start = _common_prefix_length(one, other)
    end = _common_prefix_length(one[start:][::-1], other[start:][::-1])
    middle = one[start : len(one) - end], other[start : len(other) - end]
    if max(map(len, middle)) > MAX_WORDS:
        middle = _join_sentences(middle[0]), _join_sentences(middle[1])
    parts = [(SAME, "".join(one[:start])), *_diff_tokens(*middle), (SAME, "".join(one[len(one) - end :]))]
    joined = groupby((part for part in parts if part[1]), key=lambda part: part[0])
    return tuple(DiffPart(kind, "".join(text for _, text in group)) for kind, group in joined)


def _common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Number of tokens that both lists begin with."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def _join_sentences(tokens: Sequence[str]) -> list[str]:
    """Sentences of the tokens' text, each with its trailing white space."""
    text = "".join(tokens)
    ends = [found.end() for found in _SENTENCES.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if start < end]


def _diff_tokens(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Kind and text of each part; neighbouring parts may be of one kind, and a text may be empty."""
    matcher = SequenceMatcher(str.isspace, one, other, autojunk=False)
    gone, new = "", ""
    for operation, a, b, c, d in matcher.get_opcodes():
        same = "".join(one[a:b])
        # White space between two changes belongs to them: the reader sees one change.
        if operation == "equal" and (not same.isspace() or not (gone or new)):
            yield from ((GONE, gone), (NEW, new), (SAME, same))
            gone, new = "", ""
        else:
            gone, new = gone + same, new + "".join(other[c:d])
    yield from ((GONE, gone), (NEW, new))
