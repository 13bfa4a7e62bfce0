"""A judge: a sequence classifier of the user's own, as published for ONNX, that scores texts and pairs of texts on this machine.

None comes with Loci. onnxruntime and tokenizers are imported when the first one is loaded.
"""

import json
import logging
import math
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

PATIENT_S: Final = 5.0  # for loading and for scores; a store waits as long for those of its text
_MAX_WINDOWS: Final = 8  # of a long text; what is behind them is not looked at
_FILES: Final = ("model.onnx", "tokenizer.json", "config.json")
_MAX_TOKENS: Final = 512  # of a pair or window, where config.json allows more
_LEAST_TOKENS: Final = 4
_CHARS_PER_TOKEN: Final = 8  # a text is cut to so many before it is tokenized

logger = logging.getLogger(__name__)


class JudgeUse(StrEnum):
    """What a judge is asked."""

    RECALL = "recall"  # whether a memory answers a question
    CONFLICTS = "conflicts"  # whether two memories contradict each other
    INJECTIONS = "injections"  # whether a text gives an AI instructions


# Labels that mean yes. Without one, the last of one or two logits does, but for conflicts.
_YES: Final = {
    JudgeUse.RECALL: frozenset[str](),
    JudgeUse.CONFLICTS: frozenset({"contradiction"}),
    JudgeUse.INJECTIONS: frozenset({"injection", "jailbreak", "malicious", "unsafe"}),
}
# Set by hand: there were no weights to measure with. A finding costs a person's time, so it has to be surer.
_THRESHOLDS: Final = {JudgeUse.RECALL: 0.5, JudgeUse.CONFLICTS: 0.9, JudgeUse.INJECTIONS: 0.9}


class JudgeError(ValueError):
    """A judge cannot be used: wrong setting or folder, not loaded yet, out of time, or its model failed."""


class _Shape(NamedTuple):
    """What config.json says: how many logits there are, which mean yes, the score from which on it is sure, and the length."""

    labels: int
    yes: tuple[int, ...]
    threshold: float
    max_tokens: int


@lru_cache(maxsize=8)
def read_folders(pairs: tuple[str, ...]) -> dict[JudgeUse, Path]:
    """The folders of the setting judges.folders, USE=FOLDER each, by use. Raises JudgeError."""
    folders = {}
    for pair in pairs:
        use, _, folder = (part.strip() for part in pair.partition("="))
        if not folder or use not in set(JudgeUse):
            raise JudgeError(f"'{pair}' must be USE=FOLDER, where USE is {', '.join(JudgeUse)}")
        try:
            folders[JudgeUse(use)] = Path(folder).expanduser()
        except RuntimeError as error:  # there is no such home
            raise JudgeError(f"'{pair}': {error}") from None
    return folders


def read_shape(folder: Path, use: JudgeUse) -> _Shape:
    """What a folder's config.json says of its model. Raises JudgeError if the folder does not fit the use."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise JudgeError(f"{folder} has no {missing[0]}; a judge needs {', '.join(_FILES)}")
    path = folder / _FILES[2]
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        names = {int(at): str(name).casefold() for at, name in config.get("id2label", {}).items()}
        labels = len(names) or int(config.get("num_labels", 0))
        threshold = float(config.get("threshold", _THRESHOLDS[use]))
        max_tokens = min(int(config.get("max_position_embeddings", _MAX_TOKENS)), _MAX_TOKENS)
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        numbers = "num_labels, threshold and max_position_embeddings are numbers"
        raise JudgeError(f"{path}: {error}; id2label names labels by number, {numbers}") from None
    yes = tuple(at for at, name in names.items() if name in _YES[use] and labels > 1)
    if not yes and (labels not in (1, 2) or use is JudgeUse.CONFLICTS):
        allowed = [] if use is JudgeUse.CONFLICTS else ["num_labels must be 1 or 2"]
        allowed += [f"id2label must name {' or '.join(sorted(_YES[use]))}"] if _YES[use] else []
        raise JudgeError(
            f"{path} has {labels} labels ({', '.join(names.values())}); for {use} {', or '.join(allowed)}"
        )
    if not 0 < threshold <= 1:
        raise JudgeError(f"{path}: threshold is {threshold:g}; it must be above 0, at most 1")
    if max_tokens < _LEAST_TOKENS:
        raise JudgeError(
            f"{path}: max_position_embeddings is {max_tokens}; a pair needs {_LEAST_TOKENS} at least"
        )
    return _Shape(labels, yes or (-1,), threshold, max_tokens)


class Judge:
    """A loaded model. Runs on the caller's thread; safe to share between threads."""

    def __init__(self, folder: Path, use: JudgeUse) -> None:
        """Load a folder and score a pair, so that a model that does not fit fails here."""
        self._shape = read_shape(folder, use)
        self.threshold = self._shape.threshold
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once, at import
        # Compiled libraries, loaded only where a judge is set.
        import onnxruntime  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._new_run: Any = onnxruntime.RunOptions
        self._session: Any = onnxruntime.InferenceSession(
            str(folder / _FILES[0]), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._tokenizer: Any = Tokenizer.from_file(str(folder / _FILES[1]))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self._shape.max_tokens)
        self.score([("a", "a")])

    def score(self, texts: Sequence[str | tuple[str, str]], seconds: float = PATIENT_S) -> list[float]:
        """The probability of yes for each text or pair, 0–1, in order; what exceeds the model's length is not read.

        Raises:
            JudgeError: not all are scored in time, or the model fails.
        """
        run = self._new_run()
        run.log_severity_level = 4  # a run that is ended would be logged as an error
        # onnxruntime ends a run between two operators, so that one slow pair does not exceed the time either.
        watch = threading.Timer(seconds, setattr, (run, "terminate", True))
        watch.daemon = True
        watch.start()
        try:
            return [self._score_one(text, run) for text in texts]
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # onnxruntime and tokenizers raise their own types; a panic inside them is not an Exception.
            why = "out of time" if run.terminate else str(error)
            logger.info("A judge scored nothing: %s", why)
            raise JudgeError(why) from None
        finally:
            watch.cancel()

    def windows(self, text: str) -> list[tuple[int, int]]:
        """The parts of a text that score() reads whole, as spans of characters; the first few."""
        encoding = self._encode(text, windows=_MAX_WINDOWS)
        spans = [
            [span for span, word in zip(part.offsets, part.word_ids, strict=True) if word is not None]
            for part in (encoding, *encoding.overflowing)
        ]
        return [(own[0][0], own[-1][1]) for own in spans if own][:_MAX_WINDOWS]

    def _encode(self, *texts: str, windows: int = 1) -> Any:
        chars = windows * _CHARS_PER_TOKEN * self._shape.max_tokens
        # Half pairs of UTF-16 cannot be encoded; each becomes one character, so that spans stay.
        return self._tokenizer.encode(*(text[:chars].encode(errors="replace").decode() for text in texts))

    def _score_one(self, text: str | tuple[str, str], run: Any) -> float:
        import numpy as np  # noqa: PLC0415 - as above

        encoding = self._encode(*((text,) if isinstance(text, str) else text))
        feeds = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask}
        feeds["token_type_ids"] = encoding.type_ids
        rows = {name: np.array([feeds[name]], dtype=np.int64) for name in self._inputs}
        logits = [float(value) for value in np.ravel(self._session.run(None, rows, run)[0])]
        if len(logits) != self._shape.labels or not all(map(math.isfinite, logits)):
            raise JudgeError(f"the model returned {logits} for {self._shape.labels} labels")
        if len(logits) == 1:
            logits = [0.0, *logits]  # the logistic function
        weights = [math.exp(value - max(logits)) for value in logits]
        return sum(weights[at] for at in self._shape.yes) / sum(weights)


def _load(folder: Path, use: JudgeUse) -> Judge:
    try:
        return Judge(folder, use)
    except Exception as error:  # as in score()
        logger.warning("The judge at %s failed to load: %s", folder, error)
        raise


@lru_cache(maxsize=8)
def _loading(folder: Path, use: JudgeUse) -> Future[Judge]:
    """The judge of a folder, loaded once, in the background; not by a daemon thread, whose end inside onnxruntime aborts."""
    return ThreadPoolExecutor(1, thread_name_prefix="loci-judge").submit(_load, folder, use)


os.register_at_fork(after_in_child=_loading.cache_clear)  # a fork copies no thread that loads


def find_judge(pairs: tuple[str, ...], use: JudgeUse, seconds: float = PATIENT_S) -> Judge | None:
    """The judge that judges.folders names for a use, None without one; loading starts at the first call.

    Raises:
        JudgeError: it failed to load, or is not loaded in time.
    """
    folder = read_folders(pairs).get(use)
    if folder is None:
        return None
    loading = _loading(folder, use)
    try:
        error = loading.exception(seconds)  # result() would add to the error's traceback at each call
    except TimeoutError:
        raise JudgeError("it is still loading") from None
    if error is not None:
        raise JudgeError("it failed to load") from error  # which names paths of this machine
    return loading.result()
