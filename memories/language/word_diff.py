"""What differs between two texts, word by word: what stays, what goes, what comes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final

SAME: Final = "same"
GONE: Final = "gone"
NEW: Final = "new"
# Words are compared in quadratic time, 0.2 s for twice as many at the worst. Longer changes go by sentences.
MAX_WORDS: Final = 600
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_TOKENS = re.compile(r"\w+(?:[.,:'’\-/]\w+)*|\s+|[^\w\s]")


@dataclass(frozen=True)
class DiffPart:
    """A stretch of text: `same` in both, `gone` (only in the first) or `new` (only in the second)."""

    kind: str
    text: str


def diff_words(before: str, after: str) -> tuple[DiffPart, ...]:
    """Give the parts in reading order; those that are not new make the first text, those not gone the second.

    A number or a name with its dots and dashes is one word. White space between two changed words changes with them.
    """
    one, other = _TOKENS.findall(before), _TOKENS.findall(after)
    start = _shared(one, other)
    end = _shared(one[start:][::-1], other[start:][::-1])
    middle = one[start : len(one) - end], other[start : len(other) - end]
    if max(map(len, middle)) > MAX_WORDS:
        middle = _sentences(middle[0]), _sentences(middle[1])
    parts = [(SAME, "".join(one[:start])), *_between(*middle), (SAME, "".join(one[len(one) - end :]))]
    return tuple(_joined(part for part in parts if part[1]))


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Give how many tokens two lists begin with together."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def _sentences(tokens: Sequence[str]) -> list[str]:
    """Give the sentences, each with the blank after it."""
    text = "".join(tokens)
    ends = [found.end() for found in _SENTENCES.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if start < end]


def _between(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[str, str]]:
    matcher = SequenceMatcher(_is_space, one, other, autojunk=False)
    gone, new = "", ""
    for operation, a, b, c, d in matcher.get_opcodes():
        same = "".join(one[a:b])
        # A blank between two changes is no common ground: the reader sees one change.
        if operation == "equal" and (not _is_space(same) or not (gone or new)):
            yield from ((GONE, gone), (NEW, new), (SAME, same))
            gone, new = "", ""
        else:
            gone, new = gone + same, new + "".join(other[c:d])
    yield from ((GONE, gone), (NEW, new))


def _is_space(token: str) -> bool:
    return token.isspace()


def _joined(parts: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> Iterator[DiffPart]:
    for kind, same in groupby(parts, key=lambda part: part[0]):
        yield DiffPart(kind, "".join(text for _, text in same))
