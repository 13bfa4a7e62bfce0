"""The model at work: its tokenizer, and the session that makes unit vectors of token ids."""

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import numpy as np
import numpy.typing as npt

from access.errors import Unavailable


class ModelUnavailable(Unavailable):
    """No encoder at the moment: not installed, failed to load, or still loading."""

    code = "model_unavailable"


class ModelLoading(ModelUnavailable):
    """The encoder is still loading after the wait."""


class TextRefused(ModelUnavailable):
    """The endpoint refuses this text alone and answers others."""


class ModelInstallFailed(Unavailable):
    """No source has the model's files, or they are not the published model."""

    code = "model_install_failed"


_WORDS: Final = re.compile(r"[0-9A-Za-z]+|[^0-9A-Za-z\s]")
_PLAIN: Final = re.compile(r"[\t\n\r -Z\\-~]*")
MOST_CHARS: Final = 1_000_000  # of cached words: about 20 MB with their counts


class TokenCounts:
    """Token counts as `count` returns for texts, computed from what `count_words` returns for words.

    The published tokenizer splits plain text at white space and at each sign, and looks at each word alone. Safe to share
    between threads.
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


_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


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
        # Only such a tokenizer looks at each word alone.
        splits_words = type(self._tokenizer.model).__name__ == "WordPiece"
        self.counts = (
            TokenCounts(self._count_all, self._count_words).counts if splits_words else self._count_all
        )

    def ids(self, texts: Sequence[str], *, max_tokens: int) -> list[list[int]]:
        """Ids of each text with [CLS] and [SEP], truncated to `max_tokens` (the [SEP] stays)."""
        encodings = self._tokenizer.encode_batch_fast([_encodable(text) for text in texts])
        rows = [encoding.ids for encoding in encodings]
        return [ids if len(ids) <= max_tokens else [*ids[: max_tokens - 1], ids[-1]] for ids in rows]

    def count(self, text: str) -> int:
        """Number of tokens without [CLS] and [SEP], not truncated."""
        [count] = self.counts([text])
        return count

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
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


Vectors = npt.NDArray[np.float32]


def import_onnxruntime() -> Any:
    """A compiled library of 50 MB, loaded only by processes that embed."""
    # Official builds (1.29 and later, also on Linux) report usage over the network, keep a device id in the user's
    # cache folder and run a thread that aborts forked children. The variable is read once, at import.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime  # noqa: PLC0415

    return onnxruntime


QUESTION_S: Final = 3.0  # that a question waits for the vectors of an endpoint
STORE_S: Final = 10.0  # that a store waits for one batch


class VectorSession(Protocol):
    """Makes vectors, float32[n, width] of unit length, of batches of token ids with `batch_tokens` at most.

    `patience_s` is for an endpoint; None: no caller waits.
    """

    batch_tokens: ClassVar[int]

    def run(self, rows: Sequence[Sequence[int]], patience_s: float | None = None) -> Vectors: ...


class OnnxSession:
    """Runs the graph on the caller's thread. Safe to share between threads.

    One thread per run: with 16 callers on 2 cores, spinning pools cost three quarters of the throughput.
    No arena and no memory plan: each keeps the memory of the largest batch forever (measured: 50 MB each).
    """

    # Padding included. The largest run sets the process's peak memory: 2,048 used 210 MB more and was no faster.
    batch_tokens: ClassVar[int] = 1024

    def __init__(self, path: Path, *, exact_sums: bool = False) -> None:
        """Load the graph; `exact_sums` is slower, for processors whose fast sums of bytes overflow."""
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        if exact_sums:
            options.add_session_config_entry("session.x64quantprecision", "1")
        self._session: Any = onnxruntime.InferenceSession(
            str(path), sess_options=options, providers=["CPUExecutionProvider"]
        )

    def run(self, rows: Sequence[Sequence[int]], patience_s: float | None = None) -> Vectors:
        """Encode one batch of token ids, padded to its longest row: float32[n, width], unit length."""
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        [vectors] = self._session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})
        # The graph's own lengths are off by a rounding, which would show in the last digit of a score.
        return unit_rows(vectors)


def unit_rows(vectors: npt.NDArray[np.floating[Any]]) -> Vectors:
    """The vectors at unit length; ValueError for one without a direction."""
    with np.errstate(all="ignore"):
        unit = np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
    if not np.isfinite(unit).all():
        raise ValueError("a vector without a direction")
    return unit
