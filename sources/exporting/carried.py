"""What a line of an export carries next to its row: its seal, and the vectors of its text.

A seal proves to the store that wrote the line that its text passed the guard here. With vectors an import need not embed.
"""

import base64
from typing import Any, Final

import numpy as np
from django.utils.crypto import constant_time_compare, salted_hmac

from memories.embedding import DIMENSIONS, Window, configured_model_id
from memories.models import Piece
from memories.store.pieces import EmbeddedText
from storage.canonical_json import canonical_json

SEAL: Final = "checked"
_SALT: Final = "loci.guard.export"
# What a seal covers: the texts, and what says how they are treated.
_SEALED: Final = (
    "id", "content", "trust", "outside", "tags", "metadata", "source", "slug", "guard", "group", "title", "instructions",
)  # fmt: skip
UNIT_TOLERANCE = 1e-3  # allowed difference of a vector's length from 1


def seal_of(kind: str, record: dict[str, Any]) -> str:
    """The seal of a row's record; only this store's key makes it."""
    covered = canonical_json([kind, *(record.get(name) for name in _SEALED)])
    return salted_hmac(_SALT, covered, algorithm="sha256").hexdigest()


def has_seal(kind: str, record: dict[str, Any], seal: Any) -> bool:
    """True if this store wrote the line, and nobody changed it."""
    return isinstance(seal, str) and constant_time_compare(seal, seal_of(kind, record))


def piece_record(piece: Piece) -> dict[str, Any]:
    """A piece as JSON values; its vector as base64 of little-endian float32."""
    blob = None if piece.embedding is None else base64.b64encode(bytes(piece.embedding)).decode()
    return {
        "start": piece.start,
        "end": piece.end,
        "tokens": piece.tokens,
        "model": piece.model,
        "embedding": blob,
    }


def carried_pieces(content: str, pieces: Any) -> EmbeddedText | None:
    """The pieces that a line carries for a text; None unless all are valid and made by the configured model."""
    try:
        model = configured_model_id()
        if not pieces or any(piece["model"] != model for piece in pieces):
            return None
        vectors = np.frombuffer(b"".join(base64.b64decode(p["embedding"]) for p in pieces), dtype="<f4")
        spans = tuple(Window(int(p["start"]), int(p["end"]), int(p["tokens"])) for p in pieces)
    except (KeyError, TypeError, ValueError):
        return None
    fits = all(0 <= span.start < span.end <= len(content) and span.tokens >= 0 for span in spans)
    if not fits or vectors.size != len(spans) * DIMENSIONS:
        return None
    vectors = vectors.reshape(-1, DIMENSIONS)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    # NaN fails this comparison as well.
    is_unit = bool((np.abs(np.sqrt(squares) - 1) <= UNIT_TOLERANCE).all())
    return EmbeddedText(spans, vectors, model) if is_unit else None
