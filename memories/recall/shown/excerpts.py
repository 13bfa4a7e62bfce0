"""Short parts of texts: whole sentences around the words of a question, within a number of tokens."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from access.limits.deadline import check_time
from memories.embedding import Encoder
from memories.language.word_forms import ROOT_CHARS, root
from memories.queries.quoting import escape
from memories.recall.adjustments import SPEAKER_LABEL
from memories.recall.budget import ELLIPSIS, count_tokens, cut_text

MAX_TRIES: Final = 6
READ_CHARS: Final = 20_000  # of a text, searched for the best part
_SENTENCE_END: Final = re.compile(r"[.!?;。！？]+[\"'”’)\]]*(?=\s)|\n")
_WORDS: Final = re.compile(r"\S+")
_BEFORE: Final = "… "


class Excerpts:
    """Shortens texts around the words that a question has."""

    def __init__(self, words: frozenset[str], encoder: Encoder | None) -> None:
        roots = sorted({root(word) for word in words} - {""})
        # A longer word's root is its beginning; a shorter one may have a plural s.
        forms = (re.escape(each) + ("" if len(each) == ROOT_CHARS else r"s*\b") for each in roots)
        self._pattern = re.compile(rf"\b(?:{'|'.join(forms)})") if roots else None
        self._encoder = encoder

    def shorten(self, text: str, tokens: int, limit: int) -> tuple[str, int]:
        """The best part of a text of `tokens` in at most `limit`, with … where something is left out, and its tokens.

        A turn keeps the name of its speaker. The part begins at a sentence, and ends at one unless that alone is too long.
        """
        room = len(text) * limit // max(tokens, 1)
        for _ in range(MAX_TRIES):
            check_time()
            part = self.part_of(text, max(room, 1))
            count = count_tokens(escape(part), self._encoder)
            if count <= limit:
                return part, count
            room = room * limit // max(count, 1) - 2
        part = cut_text(text, limit, self._encoder)
        return part, count_tokens(escape(part), self._encoder)

    def count_lines(self, lines: Sequence[str]) -> int:
        """The tokens of the lines."""
        return count_tokens("".join(f"{line}\n" for line in lines), self._encoder) if lines else 0

    def part_of(self, text: str, room: int, *, read_chars: int = READ_CHARS) -> str:
        """The sentences with most of the words, in about `room` characters, of the first `read_chars`."""
        label = SPEAKER_LABEL.match(text)
        start = label.end() if label else 0
        spans = sentence_spans(text, start, min(read_chars, len(text)))
        if not spans:
            return text[:room]
        named = text[:start]
        room -= len(named)
        first, last = self.window(text, spans, room)
        begin, end = spans[first][0], spans[last][1]
        if end - begin > room:
            begin, end = self.cut_around(text, begin, end, room)
        before = _BEFORE if begin > start else ""
        after = ELLIPSIS if text[end:].strip() else ""
        return f"{named}{before}{text[begin:end].strip()}{after}"

    def window(self, text: str, spans: Sequence[tuple[int, int]], room: int) -> tuple[int, int]:
        """The sentence with most of the words, and as many of those after and before it as there is room for."""
        shared = [self.count_words(text[start:end]) for start, end in spans]
        first = last = shared.index(max(shared))
        while True:
            if last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= room:
                last += 1
            elif first and spans[last][1] - spans[first - 1][0] <= room:
                first -= 1
            else:
                return first, last

    def cut_around(self, text: str, begin: int, end: int, room: int) -> tuple[int, int]:
        """The part of one long sentence around the first of the words, cut between words."""
        words = [(found.start(), found.end()) for found in _WORDS.finditer(text, begin, end)]
        match = self._pattern.search(text[begin:end].lower()) if self._pattern else None
        place = begin + match.start() if match else begin
        at = max(0, sum(start <= place for start, _ in words) - 1)
        first = at
        while first and words[at][1] - words[first - 1][0] <= room // 3:
            first -= 1
        last = first
        while last + 1 < len(words) and words[last + 1][1] - words[first][0] <= room:
            last += 1
        return words[first][0], min(words[last][1], words[first][0] + max(room, 1))

    def count_words(self, text: str) -> int:
        """How many of the words the text has, in whatever ending."""
        return len(set(self._pattern.findall(text.lower()))) if self._pattern else 0


def sentence_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The beginnings and ends of the sentences and lines between two places, without blank ones."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, start, end)]
    bounds = list(dict.fromkeys([start, *ends, end]))
    return [(one, other) for one, other in pairwise(bounds) if not text[one:other].isspace()]
