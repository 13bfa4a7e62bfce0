"""Split texts into pieces and embed them, before any transaction begins."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, lru_cache
from string import punctuation
from typing import Any

import numpy as np
from django.db import connection
from django.db.models.functions import Length
from numpy.typing import NDArray

from memories.draft import Draft
from memories.embedding import Encoder, ModelUnavailable, Window, get_encoder
from memories.embedding.long_texts import (
    MAX_WINDOWS,
    TOO_LONG,
    LongText,
    embed_long_text,
    known_vectors,
)
from memories.embedding.model import ModelLoading
from memories.models import IndexState, Memory, Piece
from memories.search.schema import set_width
from memories.types import Type
from storage.bulk import ManyInsert
from storage.call_state import CallState
from storage.compiled_queries import CompiledQuery, read_rows

log = logging.getLogger(__name__)
PIECES = ManyInsert(Piece)
_INDEX_STATE = CompiledQuery(lambda name: IndexState.objects.filter(name=name).values_list("value"))


# The state of the indexes that a block reads once.
_HELD_STATE: CallState[Mapping[str, str]] = CallState("loci_index_state")
_STATE_NAMES = ("model", "default_scope", "withdrawn")
# Of each database, as of the last time that all values were read.
_last_models: dict[str, str] = {}


@dataclass(frozen=True)
class EmbeddedText:
    """A text's pieces with their vectors (float32[n, width]); if they are computed later, one piece and no vector.

    `owed_because` is the reason for that; empty if no model is available.
    """

    spans: tuple[Window, ...]
    vectors: NDArray[np.float32]
    model: str
    owed_because: str = ""

    @property
    def is_owed(self) -> bool:
        """True if the text is not embedded yet."""
        return not self.model

    @property
    def pieces(self) -> Iterator[tuple[tuple[int, int], NDArray[np.float32]]]:
        """The span of each piece in the text, and its vector; none if not embedded yet."""
        if not self.is_owed:
            yield from (
                ((span.start, span.end), vector)
                for span, vector in zip(self.spans, self.vectors, strict=True)
            )

    @cached_property
    def blobs(self) -> list[bytes | None]:
        """Each piece's vector as stored in its row; None if not embedded yet."""
        if self.is_owed:
            return [None] * len(self.spans)
        return [vector.astype("<f4").tobytes() for vector in self.vectors]


@dataclass(frozen=True)
class Passage:
    """A text to embed; for an event, also when it happened."""

    content: str
    happened_at: datetime | None = None


def passage_of(text: Memory | Draft) -> Passage:
    """The passage to embed for a memory or draft.

    Only events are embedded with their date: a fact is the same on any day, and its restatement must be found near.
    """
    return Passage(text.content, text.valid_from if text.type == Type.EPISODIC else None)


def embedded_text(text: str, valid_from: datetime | None) -> str:
    """The text that the model embeds for a piece: its date written out, then its text (recipe r1 of the model's id)."""
    return f"{_date_prefix(valid_from)}{text}"


def available_encoder(*, timeout_s: float | None = None) -> Encoder | None:
    """The encoder; None if no model is available, and the reason is logged.

    While the index holds vectors of another model or window than the chosen one (until all are re-embedded), this is the
    encoder of that one if it is installed, so that new vectors can be compared with the stored ones.
    """
    return encoder_for_index(timeout_s=timeout_s)[0]


def encoder_for_index(
    *, timeout_s: float | None = None, is_checked_later: bool = False
) -> tuple[Encoder | None, str]:
    """The encoder as available_encoder() returns it, and the id of the model whose vectors the index holds.

    `is_checked_later`: the caller reads the index's state afterwards, so that the model of the last time will do.
    """
    last = _last_models.get(str(connection.settings_dict["NAME"]), "") if is_checked_later else ""
    indexed = last or indexed_model()
    try:
        encoder = get_encoder(indexed, timeout_s=timeout_s)
    except ModelUnavailable as absent:
        _log_absent(str(absent), logging.INFO if isinstance(absent, ModelLoading) else logging.WARNING)
        return None, indexed
    found = encoder.of_model(indexed)
    if last and found is None:  # perhaps of another model since then
        return encoder_for_index(timeout_s=timeout_s)
    return found or encoder, indexed


@lru_cache(maxsize=1)  # each caller meets the same reason while the model loads: one line is enough
def _log_absent(reason: str, level: int) -> None:
    log.log(level, "no embedding model: %s", reason)


def embed_passage(passage: Passage, *, encoder: Encoder | None) -> EmbeddedText:
    """Split and embed the text of one store or edit.

    The vectors are owed without an encoder, beyond MAX_WINDOWS windows, while too many long texts wait, and if making them
    fails. In a server, a long text is embedded outside the database thread (memories.embedding.long_texts).
    """
    if encoder is None:
        return _owed_text(passage)
    key = (embedded_text(passage.content, passage.happened_at), encoder.model_id)
    found = known_vectors(key)
    if found is None:
        if _exceeds_windows(passage.content, encoder):
            return _owed_text(passage, because=TOO_LONG)
        [spans] = _cut_all([passage], encoder)
        if len(spans) > MAX_WINDOWS:
            return _owed_text(passage, because=TOO_LONG)
        texts = texts_of(passage, spans)
        found = embed_long_text(LongText(key, encoder, spans, texts))
    if found.vectors is None:
        return _owed_text(passage, because=found.owed_because)
    return EmbeddedText(tuple(found.spans), found.vectors, encoder.model_id)


def _exceeds_windows(text: str, encoder: Encoder) -> bool:
    """True if the text cannot fit MAX_WINDOWS windows; splitting it to find out would take many times as long."""
    limit = MAX_WINDOWS * encoder.max_tokens
    if len(text) <= limit:
        return False
    # Each mark is a token: so much is known in a fiftieth of the time that the tokenizer takes.
    return sum(map(text.count, punctuation)) > limit or encoder.count_tokens(text) > limit


def _owed_text(passage: Passage, *, because: str = "") -> EmbeddedText:
    """A text whose vectors are computed later: one piece without a vector."""
    empty = np.zeros((0, 0), dtype=np.float32)
    return EmbeddedText((Window(0, len(passage.content), 0),), empty, "", because)


def texts_of(passage: Passage, spans: Sequence[Window]) -> list[str]:
    """The texts that the model embeds for the windows of a passage."""
    return [embedded_text(passage.content[span.start : span.end], passage.happened_at) for span in spans]


def embed_passages(
    passages: Sequence[Passage], *, encoder: Encoder | None, patience_s: float | None = None
) -> list[EmbeddedText]:
    """Split and embed texts, in order. Without an encoder, each is one piece without a vector."""
    if encoder is None:
        return [_owed_text(passage) for passage in passages]
    cuts = _cut_all(passages, encoder)
    texts = [text for passage, spans in zip(passages, cuts, strict=True) for text in texts_of(passage, spans)]
    vectors = encoder.encode(texts, patience_s=patience_s)
    result, at = [], 0
    for spans in cuts:
        result.append(EmbeddedText(tuple(spans), vectors[at : at + len(spans)], encoder.model_id))
        at += len(spans)
    return result


def embed_or_owe(
    passages: Sequence[Passage], *, encoder: Encoder | None, patience_s: float | None = None
) -> list[EmbeddedText]:
    """The same as embed_passages(); if making the vectors fails, all are owed."""
    try:
        return embed_passages(passages, encoder=encoder, patience_s=patience_s)
    except ModelUnavailable:
        return embed_passages(passages, encoder=None)


def piece_rows(memory: Memory, embedded: EmbeddedText) -> list[Piece]:
    """The unsaved Piece rows of a memory."""
    return [
        Piece(
            memory=memory,
            ordinal=ordinal,
            start=span.start,
            end=span.end,
            tokens=span.tokens,
            embedding=embedded.blobs[ordinal],
            model=embedded.model,
        )
        for ordinal, span in enumerate(embedded.spans)
    ]


def whole_tokens(keys: Sequence[int], model: str) -> dict[int, int]:
    """Token counts by memory key, as this model counts them, of the memories whose text is a single piece."""
    found = read_rows(_tokens_of_whole_texts, keys)
    return {key: tokens for key, tokens, of in found if of == model}


@cache
def _tokens_of_whole_texts(count: int) -> CompiledQuery[tuple[int, int, str]]:
    pieces = Piece.objects.filter(ordinal=0, start=0, end=Length("memory__content")).order_by()
    columns = ("memory_id", "tokens", "model")
    return CompiledQuery(lambda *keys: pieces.filter(memory__in=keys).values_list(*columns), count)


def insert_pieces(rows: Sequence[tuple[Memory, EmbeddedText]]) -> None:
    """Insert the pieces of stored memories, in order and inside a transaction; the first model to write claims the index."""
    if (first := next((embedded for _, embedded in rows if embedded.model), None)) is not None:
        claim_index(first.model, first.vectors.shape[1])
    if rows:
        PIECES.add_columns(_piece_columns(rows))


def _piece_columns(rows: Sequence[tuple[Memory, EmbeddedText]]) -> dict[str, list[Any]]:
    """The pieces of stored memories as columns, with the values of piece_rows()."""
    names = ("memory_id", "ordinal", "start", "end", "tokens", "embedding", "model")
    pieces = [
        (memory.key, ordinal, span.start, span.end, span.tokens, blob, embedded.model)
        for memory, embedded in rows
        for ordinal, (span, blob) in enumerate(zip(embedded.spans, embedded.blobs, strict=True))
    ]
    return {name: [*column] for name, column in zip(names, zip(*pieces, strict=True), strict=True)}


def read_index_state(groups: Collection[int] = ()) -> Mapping[str, str]:
    """Values of the indexes by name: `model`, and `withdrawn`, the stamp of the withdrawn texts; one query.

    With the stamps of these groups (by key); empty for a group that has none of its own.
    """
    stamps = [stamp_name(group) for group in groups]
    held = _HELD_STATE.get()
    if held is not None and held.keys() >= {*stamps}:
        return held
    found = dict.fromkeys(stamps, "") | dict(read_rows(_state_query, [*_STATE_NAMES, *stamps]))
    _last_models[str(connection.settings_dict["NAME"])] = found.get("model", "")
    return found


@cache
def _state_query(count: int) -> CompiledQuery[tuple[str, str]]:
    states = IndexState.objects.order_by()
    return CompiledQuery(lambda *names: states.filter(name__in=names).values_list("name", "value"), count)


def stamp_name(group: int) -> str:
    """The name of the stamp of a group's withdrawn texts, where groups have stamps of their own (withdrawn.sql)."""
    return f"withdrawn {group}"


@contextmanager
def one_index_state(state: Mapping[str, str]) -> Iterator[None]:
    """Use this state of the indexes in the whole block: for a writer's transaction or one answer."""
    with _HELD_STATE.holding(state):
        yield


def indexed_model() -> str:
    """The id of the model whose vectors the index holds; empty before the first one."""
    held = _HELD_STATE.get()
    if held is not None:
        return held.get("model", "")
    found = _INDEX_STATE.first("model")
    return found[0] if found else ""


def claim_index(model: str, width: int) -> None:
    """Make `model` the index's model if it has none yet, inside the transaction that writes the first vector."""
    if not indexed_model() and IndexState.objects.get_or_create(name="model", defaults={"value": model})[1]:
        set_width(connection, width)


def as_vector(blob: bytes | memoryview | None) -> NDArray[np.float32]:
    """A stored embedding as float32[width]; the caller leaves out pieces without one."""
    return np.frombuffer(blob or b"", dtype="<f4")


def _cut_all(passages: Sequence[Passage], encoder: Encoder) -> list[list[Window]]:
    """The spans of each text that fit the encoder's window, leaving space for the date before each."""
    prefixes = [_date_prefix(passage.happened_at) for passage in passages]
    tokens = {prefix: encoder.count_tokens(prefix) if prefix else 0 for prefix in set(prefixes)}
    texts = [passage.content for passage in passages]
    return encoder.split_many(texts, reserves=[tokens[prefix] for prefix in prefixes])


def _date_prefix(moment: datetime | None) -> str:
    """The date as the model reads it before an event's text; empty without one."""
    return f"[{moment.day} {moment:%B %Y}] " if moment else ""
