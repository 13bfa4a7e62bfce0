"""What the vectors are made of: the model, its published files and the id that every stored vector carries."""

from typing import Final

NAME: Final = "all-MiniLM-L6-v2"
REPOSITORY: Final = "sentence-transformers/all-MiniLM-L6-v2"
REVISION: Final = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
DIMENSIONS: Final = 384
MAX_TOKENS: Final = 256

# Published SHA-256 of the two files that decide the vectors; whatever the source, they must match.
WEIGHTS_FILE: Final = "model.safetensors"
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_FILE: Final = "tokenizer.json"
TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

# Raised when the text that is embedded for a memory is put together differently.
TEXT_RECIPE: Final = "r1"

# Name @ revision / window / pooling / recipe. Not a file's hash: fp32 and fp16 weights give the same vectors, and those of 8
# bits are so near (cosine 0.9992) that both kinds are compared with each other.
_BEFORE_WINDOW: Final = f"{NAME}@{REVISION[:8]}/"
_AFTER_WINDOW: Final = f"/mean/{TEXT_RECIPE}"
MODEL_ID: Final = f"{_BEFORE_WINDOW}{MAX_TOKENS}{_AFTER_WINDOW}"


def model_id_of(window: int) -> str:
    """Give the id of the model that reads windows of so many tokens."""
    return f"{_BEFORE_WINDOW}{window}{_AFTER_WINDOW}"


def window_of(model_id: str) -> int | None:
    """Give the window of a model that differs from ours in nothing else; None for any other model."""
    window = model_id.removeprefix(_BEFORE_WINDOW).removesuffix(_AFTER_WINDOW)
    return int(window) if window.isdecimal() and model_id == model_id_of(int(window)) else None
