"""Text → float32[384] of unit length, computed locally; no database, and no network after installation."""

from memories.embedding.encoder import Encoder, Window
from memories.embedding.loader import (
    ModelStatus,
    configured_model_id,
    get_encoder,
    model_status,
    unload,
    warm_up,
)
from memories.embedding.model import DIMENSIONS, MODEL_ID, ModelInstallFailed, ModelUnavailable

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
    "unload",
    "warm_up",
]
