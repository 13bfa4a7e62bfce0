"""Text → float32[width] of unit length, computed locally; no database, and no network after installation."""

from memories.embedding.encoder import Encoder, Window
from memories.embedding.loader import (
    ModelStatus,
    configured_model,
    configured_model_id,
    get_encoder,
    model_status,
    unload,
    warm_up,
)
from memories.embedding.manifest import MODEL_ID
from memories.embedding.model import ModelInstallFailed, ModelUnavailable, TextRefused

__all__ = [
    "MODEL_ID",
    "Encoder",
    "ModelInstallFailed",
    "ModelStatus",
    "ModelUnavailable",
    "TextRefused",
    "Window",
    "configured_model",
    "configured_model_id",
    "get_encoder",
    "model_status",
    "unload",
    "warm_up",
]
