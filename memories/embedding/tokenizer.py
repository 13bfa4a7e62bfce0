"""Text → token ids with their places in the text. The tokenizer file's own cut and padding are switched off."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from .token_counts import TokenCounts

LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class TokenSpan:
    """One token's place: character offsets, and the word it belongs to."""

    start: int
    end: int
    word: int


class TextTokenizer:
    """The model's tokenizer. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        # Its thread pool would take cores from the encoder, and it is 1 % of the work.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        # A compiled library; a process that never embeds does not load it.
        from tokenizers import Tokenizer  # noqa: PLC0415

        self._tokenizer: Any = Tokenizer.from_file(str(path))
        # The published file says: cut at 128, and pad everything to 128.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def ids(self, texts: Sequence[str], *, max_tokens: int) -> list[list[int]]:
        """Give each text's ids with [CLS] and [SEP], cut to `max_tokens` (the [SEP] stays)."""
        encodings = self._tokenizer.encode_batch_fast([_encodable(text) for text in texts])
        return [_cut(encoding.ids, max_tokens) for encoding in encodings]

    def count(self, text: str) -> int:
        """Give the number of tokens without [CLS] and [SEP], uncut."""
        [count] = self.counts([text])
        return count

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Give each text's number of tokens, as count() does, by the words where the tokenizer lets it."""
        return self._by_words(texts)

    @cached_property
    def _by_words(self) -> Callable[[Sequence[str]], list[int]]:
        if not _cuts_at_marks(self._tokenizer):
            return self._count_all
        return TokenCounts(self._count_all, self._count_words).counts

    def _count_all(self, texts: Sequence[str]) -> list[int]:
        # One call for all: other threads run meanwhile, and not only between texts.
        encodings = self._tokenizer.encode_batch_fast(
            [_encodable(text) for text in texts], add_special_tokens=False
        )
        return [len(encoding) for encoding in encodings]

    def _count_words(self, words: Sequence[str]) -> list[int]:
        """Give each word's number of tokens; as one text, since each text takes longer than its words."""
        [encoding] = self._tokenizer.encode_batch([" ".join(words)], add_special_tokens=False)
        counted = Counter(encoding.word_ids)
        return [counted[at] for at in range(len(words))]

    def tokens(self, text: str) -> list[TokenSpan]:
        """Give each token's place in the text, without [CLS] and [SEP], uncut."""
        [encoding] = self._tokenizer.encode_batch([_encodable(text)], add_special_tokens=False)
        words = (-1 if word is None else word for word in encoding.word_ids)
        return [
            TokenSpan(start, end, word) for (start, end), word in zip(encoding.offsets, words, strict=True)
        ]


def _encodable(text: str) -> str:
    """Half a surrogate pair cannot be written as UTF-8; a replacement of equal length keeps the offsets true."""
    return text if text.isascii() else LONE_SURROGATE.sub("\ufffd", text)


def _cuts_at_marks(tokenizer: Any) -> bool:
    """Say whether it cuts texts as memories/embedding/token_counts.py takes for granted."""
    said = json.loads(tokenizer.to_str())
    kinds = [(said[part] or {}).get("type") for part in ("normalizer", "pre_tokenizer")]
    special = [token["content"] for token in said["added_tokens"]]
    return kinds == ["BertNormalizer", "BertPreTokenizer"] and all(word.startswith("[") for word in special)


def _cut(ids: list[int], max_tokens: int) -> list[int]:
    return ids if len(ids) <= max_tokens else [*ids[: max_tokens - 1], ids[-1]]
