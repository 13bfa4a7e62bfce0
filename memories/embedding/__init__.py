"""Text → float32[384] of unit length, computed locally; no database, and no network after installation."""

from .encoder import Encoder
from .errors import ModelInstallFailed, ModelUnavailable
from .loader import ModelStatus, configured_model_id, get_encoder, model_status, warm_up
from .model_id import DIMENSIONS, MODEL_ID
from .windows import Window

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
