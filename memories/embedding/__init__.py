"""Text → float32[width] of unit length, computed locally; no database, and no network after installation."""

from memories.embedding.encoder import Encoder, Window
from memories.embedding.loader import (
    ModelStatus,
    configured_model_id,
    get_encoder, model_status,
    warm_up,
)
from memories.embedding.manifest import MINILM, MODEL_ID
from memories.embedding.model import ModelInstallFailed, ModelUnavailable

DIMENSIONS = MINILM.width

__all__ = [
    "DIMENSIONS",
    "MODEL_ID",
    "Encoder",
    "ModelInstallFailed",
    "ModelStatus",
    "ModelUnavailable",
    "Window",
    "configured_model_id",
    "get_encoder",
    "model_status",
    "warm_up",
]
