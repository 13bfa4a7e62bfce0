"""The model, its published files, the model id stored with every vector, and the errors of a model that is not there."""

from typing import Final

from access.errors import Unavailable

NAME: Final = "all-MiniLM-L6-v2"
REPOSITORY: Final = "sentence-transformers/all-MiniLM-L6-v2"
REVISION: Final = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
DIMENSIONS: Final = 384
MAX_TOKENS: Final = 256

# Published SHA-256 of the two files that determine the vectors; files from every source must match.
WEIGHTS_FILE: Final = "model.safetensors"
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_FILE: Final = "tokenizer.json"
TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

# Increased when the text embedded for a memory is composed differently.
_TEXT_RECIPE: Final = "r1"

# Name @ revision / window / pooling / recipe. Not a file's hash: fp32 and fp16 weights produce the same vectors, and
# 8-bit ones are so close (cosine 0.9992) that both kinds are compared with each other.
_BEFORE_WINDOW: Final = f"{NAME}@{REVISION[:8]}/"
_AFTER_WINDOW: Final = f"/mean/{_TEXT_RECIPE}"
MODEL_ID: Final = f"{_BEFORE_WINDOW}{MAX_TOKENS}{_AFTER_WINDOW}"


def model_id_of(window: int) -> str:
    """Id of the model with a window of this many tokens."""
    return f"{_BEFORE_WINDOW}{window}{_AFTER_WINDOW}"


def window_of(model_id: str) -> int | None:
    """Window (tokens) of a model that differs from ours in its window only; None for any other model."""
    window = model_id.removeprefix(_BEFORE_WINDOW).removesuffix(_AFTER_WINDOW)
    return int(window) if window.isdecimal() and model_id == model_id_of(int(window)) else None


class ModelUnavailable(Unavailable):
    """No encoder at the moment: not installed, failed to load, or still loading after the wait."""

    code = "model_unavailable"


class ModelInstallFailed(Unavailable):
    """No source has the model's files, or they are not the published model."""

    code = "model_install_failed"
