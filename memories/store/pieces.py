"""Cutting a text into pieces and giving each its vector, before any transaction begins."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any

import numpy as np
from django.db.models.functions import Length
from numpy.typing import NDArray

from memories.draft import Draft
from memories.embedding import DIMENSIONS, Encoder, ModelUnavailable, Window, get_encoder
from memories.models import IndexState, Memory, Piece
from memories.queries.by_key import read_rows
from memories.types import Type
from storage.bulk_insert import MIN_BULK_ROWS, ManyInsert, can_insert_columns, copy_row
from storage.compiled_queries import CompiledQuery

log = logging.getLogger(__name__)
PIECES = ManyInsert(Piece)
_INDEX_STATE = CompiledQuery(lambda name: IndexState.objects.filter(name=name).values_list("value"))


@dataclass(frozen=True)
class EmbeddedText:
    """A text's pieces with their vectors (float32[n, 384]); without a model one piece and no vector."""

    spans: tuple[Window, ...]
    vectors: NDArray[np.float32]
    model: str

    @property
    def is_owed(self) -> bool:
        """True where the vectors are still to be made."""
        return not self.model

    @cached_property
    def blobs(self) -> list[bytes | None]:
        """Each piece's vector as its row holds it; None where it is owed."""
        if self.is_owed:
            return [None] * len(self.spans)
        return [vector.astype("<f4").tobytes() for vector in self.vectors]


@dataclass(frozen=True)
class Passage:
    """A text to be embedded; of an event also when it happened."""

    content: str
    happened_at: datetime | None = None


def passage_of(said: Memory | Draft) -> Passage:
    """Give what is to be embedded of a memory or draft.

    Only an event is embedded with its date: a fact says the same on any day, and its restatement must be found near.
    """
    return Passage(said.content, said.valid_from if said.type == Type.EPISODIC else None)


def embedded_text(text: str, valid_from: datetime | None) -> str:
    """Give what the model reads of a piece: its date written out, then its text (recipe r1 of the model's id)."""
    return f"{_date_prefix(valid_from)}{text}"


def available_encoder(*, timeout_s: float | None = None) -> Encoder | None:
    """Give the encoder, or None where there is none to be had now; why is logged.

    Where the index holds vectors of another window than the settings ask for, until all are made anew, it is the
    encoder of those: what it makes can be compared with them.
    """
    return encoder_for_index(timeout_s=timeout_s)[0]


def encoder_for_index(*, timeout_s: float | None = None) -> tuple[Encoder | None, str]:
    """Give what available_encoder() does, and the id of the model whose vectors the index holds."""
    indexed = indexed_model()
    try:
        encoder = get_encoder(timeout_s=timeout_s)
    except ModelUnavailable as absent:
        log.warning("no embedding model: %s", absent)
        return None, indexed
    return encoder.of_model(indexed) or encoder, indexed


def embed_passages(passages: Sequence[Passage], *, encoder: Encoder | None) -> list[EmbeddedText]:
    """Cut and embed texts, in order. Without an encoder each is one piece whose vector is owed."""
    if encoder is None:
        return [_owed(passage) for passage in passages]
    cuts = cut_all(passages, encoder)
    texts = [
        embedded_text(passage.content[span.start : span.end], passage.happened_at)
        for passage, spans in zip(passages, cuts, strict=True)
        for span in spans
    ]
    vectors = encoder.encode(texts)
    result, at = [], 0
    for spans in cuts:
        result.append(EmbeddedText(tuple(spans), vectors[at : at + len(spans)], encoder.model_id))
        at += len(spans)
    return result


def piece_rows(memory: Memory, embedded: EmbeddedText) -> list[Piece]:
    """Give the unsaved Piece rows of a memory."""
    return [
        copy_row(
            _example(),
            {
                "ordinal": ordinal,
                "start": span.start,
                "end": span.end,
                "tokens": span.tokens,
                "embedding": embedded.blobs[ordinal],
                "model": embedded.model,
            },
            {"memory": memory},
        )
        for ordinal, span in enumerate(embedded.spans)
    ]


def whole_tokens(keys: Sequence[int], model: str) -> dict[int, int]:
    """Give the number of tokens, as this model counts them, of those of the memories whose text is one piece, by key."""
    found = read_rows(_tokens_of_whole_texts, keys)
    return {key: tokens for key, tokens, of in found if of == model}


@cache
def _tokens_of_whole_texts(count: int) -> CompiledQuery[tuple[int, int, str]]:
    pieces = Piece.objects.filter(ordinal=0, start=0, end=Length("memory__content")).order_by()
    columns = ("memory_id", "tokens", "model")
    return CompiledQuery(lambda *keys: pieces.filter(memory__in=keys).values_list(*columns), count)


def insert_pieces(rows: Sequence[tuple[Memory, EmbeddedText]]) -> None:
    """Insert the pieces of stored memories, in order; the index is the first model's where it is nobody's yet."""
    claim_index(next((embedded.model for _, embedded in rows if embedded.model), ""))
    if len(rows) < MIN_BULK_ROWS or not can_insert_columns():
        PIECES.add([piece for memory, embedded in rows for piece in piece_rows(memory, embedded)])
        return
    PIECES.add_columns(piece_columns(rows))


def piece_columns(rows: Sequence[tuple[Memory, EmbeddedText]]) -> dict[str, list[Any]]:
    """Give the columns of the pieces of stored memories, as piece_rows() gives their rows."""
    names = ("memory_id", "ordinal", "start", "end", "tokens", "embedding", "model")
    pieces = [
        (memory.key, ordinal, span.start, span.end, span.tokens, blob, embedded.model)
        for memory, embedded in rows
        for ordinal, (span, blob) in enumerate(zip(embedded.spans, embedded.blobs, strict=True))
    ]
    return {name: [*column] for name, column in zip(names, zip(*pieces, strict=True), strict=True)}


@cache
def _example() -> Piece:
    return Piece()


def indexed_model() -> str:
    """Give the id of the model whose vectors the index holds; empty before the first one."""
    found = _INDEX_STATE.first("model")
    return found[0] if found else ""


def claim_index(model: str) -> None:
    """Make `model` the index's model where there is none yet; inside the transaction that writes its first vector."""
    if model and not indexed_model():
        IndexState.objects.get_or_create(name="model", defaults={"value": model})


def as_vector(blob: bytes | memoryview | None) -> NDArray[np.float32]:
    """Give a stored embedding as float32[384]; the caller has left out those that are owed."""
    return np.frombuffer(blob or b"", dtype="<f4")


def cut_all(passages: Sequence[Passage], encoder: Encoder) -> list[list[Window]]:
    """Give the spans of each text that fit the encoder's window, with room for the date written before each."""
    prefixes = [_date_prefix(passage.happened_at) for passage in passages]
    tokens = {prefix: encoder.count_tokens(prefix) if prefix else 0 for prefix in set(prefixes)}
    texts = [passage.content for passage in passages]
    return encoder.split_many(texts, reserves=[tokens[prefix] for prefix in prefixes])


def _owed(passage: Passage) -> EmbeddedText:
    empty = np.zeros((0, DIMENSIONS), dtype=np.float32)
    return EmbeddedText((Window(0, len(passage.content), 0),), empty, "")


def _date_prefix(moment: datetime | None) -> str:
    return f"[{moment.day} {moment:%B %Y}] " if moment else ""
