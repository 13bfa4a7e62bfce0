"""Counting the tokens of texts by their words: most words of a text stood in one before.

The tokenizer cuts a plain text at white space, takes each mark for itself and cuts every word alone, so a text has as many
tokens as its words together. What is no plain ASCII goes to the tokenizer, and so does an opening bracket: with it begin
the special tokens, such as [SEP], that it looks for first.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

_WORDS: Final = re.compile(r"[0-9A-Za-z]+|[^0-9A-Za-z\s]")
_PLAIN: Final = re.compile(r"[\t\n\r -Z\\-~]*")
MOST_CHARS: Final = 1_000_000  # of the words that are kept: some 20 MB with their numbers


class TokenCounts:
    """Gives the numbers of tokens that `count` gives of texts, by those that `count_words` gives of words.

    Threads may share it.
    """

    def __init__(
        self, count: Callable[[Sequence[str]], list[int]], count_words: Callable[[Sequence[str]], list[int]]
    ) -> None:
        self._count, self._count_words = count, count_words
        self._known: dict[str, int] = {}
        self._chars = 0

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Give each text's number of tokens."""
        words = [_WORDS.findall(text) if _PLAIN.fullmatch(text) else None for text in texts]
        known = self._learned({word for found in words if found for word in found})
        sums = [-1 if found is None else sum(map(known.__getitem__, found)) for found in words]
        rest = [at for at, found in enumerate(words) if found is None]
        for at, count in zip(rest, self._count([texts[at] for at in rest]) if rest else [], strict=True):
            sums[at] = count
        return sums

    def _learned(self, words: set[str]) -> dict[str, int]:
        """Give numbers that hold those of these words; words are never taken out of what a thread was given."""
        if self._chars > MOST_CHARS:
            self._known, self._chars = {}, 0
        known = self._known
        fresh = [word for word in words if word not in known]
        if fresh:
            known.update(zip(fresh, self._count_words(fresh), strict=True))
            self._chars += sum(map(len, fresh))
        return known
