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

# Name @ revision / window / pooling / recipe. Not a file's hash: fp32 and fp16 weights give the same vectors.
MODEL_ID: Final = f"{NAME}@{REVISION[:8]}/{MAX_TOKENS}/mean/{TEXT_RECIPE}"
