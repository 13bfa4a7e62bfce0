"""Token counts of texts from cached counts of their words: most words of a text have occurred before.

The tokenizer splits plain text at white space and at every punctuation mark and encodes each word alone, so a text has as
many tokens as its words together. Text that is not plain ASCII goes to the tokenizer, and so does an opening bracket:
special tokens such as [SEP], which the tokenizer matches first, begin with it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

_WORDS: Final = re.compile(r"[0-9A-Za-z]+|[^0-9A-Za-z\s]")
_PLAIN: Final = re.compile(r"[\t\n\r -Z\\-~]*")
MOST_CHARS: Final = 1_000_000  # of cached words: about 20 MB with their counts


class TokenCounts:
    """Token counts as `count` returns for texts, computed from what `count_words` returns for words.

    Safe to share between threads.
    """

    def __init__(
        self, count: Callable[[Sequence[str]], list[int]], count_words: Callable[[Sequence[str]], list[int]]
    ) -> None:
        self._count, self._count_words = count, count_words
        self._known: dict[str, int] = {}
        self._chars = 0

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text."""
        words = [_WORDS.findall(text) if _PLAIN.fullmatch(text) else None for text in texts]
        known = self._learn({word for found in words if found for word in found})
        sums = [-1 if found is None else sum(map(known.__getitem__, found)) for found in words]
        rest = [at for at, found in enumerate(words) if found is None]
        for at, count in zip(rest, self._count([texts[at] for at in rest]) if rest else [], strict=True):
            sums[at] = count
        return sums

    def _learn(self, words: set[str]) -> dict[str, int]:
        """Counts with at least these words. A full cache is replaced, never emptied: other threads may still read it."""
        if self._chars > MOST_CHARS:
            self._known, self._chars = {}, 0
        known = self._known
        fresh = [word for word in words if word not in known]
        if fresh:
            known.update(zip(fresh, self._count_words(fresh), strict=True))
            self._chars += sum(map(len, fresh))
        return known


def is_countable_by_words(config: dict[str, Any]) -> bool:
    """True if the tokenizer of this configuration splits texts as described above."""
    kinds = [(config[part] or {}).get("type") for part in ("normalizer", "pre_tokenizer")]
    special = [token["content"] for token in config["added_tokens"]]
    return kinds == ["BertNormalizer", "BertPreTokenizer"] and all(word.startswith("[") for word in special)
