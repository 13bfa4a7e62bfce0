"""Text → token ids with their offsets. The tokenizer file's own truncation and padding are switched off."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from .token_counts import TokenCounts, is_countable_by_words

LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class TokenSpan:
    """A token's character offsets and the index of its word."""

    start: int
    end: int
    word: int


class TextTokenizer:
    """The model's tokenizer. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        # Tokenizing is 1 % of the work; its thread pool would take cores from the encoder.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        # A compiled library, loaded only by processes that embed.
        from tokenizers import Tokenizer  # noqa: PLC0415

        self._tokenizer: Any = Tokenizer.from_file(str(path))
        # The published file truncates at 128 and pads everything to 128.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def ids(self, texts: Sequence[str], *, max_tokens: int) -> list[list[int]]:
        """Ids of each text with [CLS] and [SEP], truncated to `max_tokens` (the [SEP] stays)."""
        encodings = self._tokenizer.encode_batch_fast([_encodable(text) for text in texts])
        rows = [encoding.ids for encoding in encodings]
        return [ids if len(ids) <= max_tokens else [*ids[: max_tokens - 1], ids[-1]] for ids in rows]

    def count(self, text: str) -> int:
        """Number of tokens without [CLS] and [SEP], not truncated."""
        [count] = self.counts([text])
        return count

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, as count(); from cached word counts if the tokenizer allows."""
        return self._counter(texts)

    @cached_property
    def _counter(self) -> Callable[[Sequence[str]], list[int]]:
        if not is_countable_by_words(json.loads(self._tokenizer.to_str())):
            return self._count_all
        return TokenCounts(self._count_all, self._count_words).counts

    def _count_all(self, texts: Sequence[str]) -> list[int]:
        # One call for all: other threads run throughout, not only between texts.
        encodings = self._tokenizer.encode_batch_fast(
            [_encodable(text) for text in texts], add_special_tokens=False
        )
        return [len(encoding) for encoding in encodings]

    def _count_words(self, words: Sequence[str]) -> list[int]:
        """Number of tokens of each word; encoded as one text, since each text has more overhead than its words."""
        [encoding] = self._tokenizer.encode_batch([" ".join(words)], add_special_tokens=False)
        counted = Counter(encoding.word_ids)
        return [counted[at] for at in range(len(words))]

    def tokens(self, text: str) -> list[TokenSpan]:
        """Offsets of each token, without [CLS] and [SEP], not truncated."""
        [encoding] = self._tokenizer.encode_batch([_encodable(text)], add_special_tokens=False)
        words = (-1 if word is None else word for word in encoding.word_ids)
        return [
            TokenSpan(start, end, word) for (start, end), word in zip(encoding.offsets, words, strict=True)
        ]


def _encodable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot encode, replaced at equal length: the offsets stay valid."""
    return text if text.isascii() else LONE_SURROGATE.sub("\ufffd", text)
