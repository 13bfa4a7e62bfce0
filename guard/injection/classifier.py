"""A slot for a classifier of instructions to an AI: a folder that the operator puts there. Without one, nothing is loaded.

The folder has `model.onnx` (inputs input_ids, attention_mask and maybe token_type_ids; one row of logits), `tokenizer.json`, and
`classifier.toml` with `threshold` (0–1), `label` (the logit that means an instruction; default the last) and `max_tokens`.
"""

import math
import os
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from guard.findings import GuardFinding

KIND: Final = "injected-instruction"
FILES: Final = ("model.onnx", "tokenizer.json", "classifier.toml")
MAX_WINDOWS: Final = 8  # of a long text; what is behind them is not looked at
DEFAULT_TOKENS: Final = 256


class ClassifierError(ValueError):
    """The folder of the classifier lacks a file, or a value in it is not allowed."""


class InjectionClassifier:
    """A text classifier that runs on the caller's thread. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.threshold, self.label, self.max_tokens = read_options(folder)
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once, at import
        # Compiled libraries, loaded only where a classifier is set.
        import onnxruntime  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            str(folder / FILES[0]), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._tokenizer: Any = Tokenizer.from_file(str(folder / FILES[1]))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def find(self, text: str) -> list[GuardFinding]:
        """A finding for the most suspicious window of the text, if its score reaches the threshold."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        starts = range(0, len(encoding.ids), self.max_tokens)
        scored = [
            (self.score(encoding.ids[at : at + self.max_tokens]), encoding.offsets[at : at + self.max_tokens])
            for at in list(starts)[:MAX_WINDOWS]
        ]
        score, offsets = max(scored, key=lambda each: each[0], default=(0.0, []))
        if score < self.threshold:
            return []
        return [GuardFinding(KIND, (offsets[0][0], offsets[-1][1]), round(score, 3))]

    def score(self, ids: list[int]) -> float:
        """The probability that a window of token ids contains an instruction to an AI."""
        import numpy as np  # noqa: PLC0415 - as above

        row = np.array([ids], dtype=np.int64)
        feeds = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        [logits, *_] = self._session.run(None, {name: feeds[name] for name in self._inputs})
        values = [float(value) for value in logits[0]]
        if len(values) == 1:
            return 1 / (1 + math.exp(-values[0]))
        largest = max(values)
        weights = [math.exp(value - largest) for value in values]
        return weights[self.label] / sum(weights)


def read_options(folder: Path) -> tuple[float, int, int]:
    """Threshold, label and window of classifier.toml. Raises ClassifierError."""
    for name in FILES:
        if not (folder / name).is_file():
            raise ClassifierError(f"{folder} has no {name}")
    try:
        options = tomllib.loads((folder / FILES[2]).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ClassifierError(f"{FILES[2]}: {error}") from None
    threshold = options.get("threshold")
    label, tokens = options.get("label", -1), options.get("max_tokens", DEFAULT_TOKENS)
    if not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise ClassifierError(f"{FILES[2]}: threshold must be a number above 0, at most 1")
    if not isinstance(label, int) or not isinstance(tokens, int) or tokens < 1:
        raise ClassifierError(f"{FILES[2]}: label and max_tokens must be whole numbers")
    return float(threshold), label, tokens


@lru_cache(maxsize=2)
def load_classifier(folder: str) -> InjectionClassifier | None:
    """The classifier of a folder, loaded once; None for "". Raises ClassifierError."""
    return InjectionClassifier(Path(folder)) if folder else None
