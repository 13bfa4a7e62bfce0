"""One ONNX session: token ids → unit vectors. Accepts our own graph and ready-made ones of the same model."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .model_id import DIMENSIONS

Vectors = npt.NDArray[np.float32]

KNOWN_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class OnnxSession:
    """Runs the graph on the caller's thread. Safe to share between threads.

    One thread per run: with 16 callers on 2 cores, spinning pools cost three quarters of the throughput.
    No arena and no memory plan: each keeps the memory of the largest batch forever (measured: 50 MB each).
    """

    def __init__(self, path: Path, *, exact_sums: bool = False) -> None:
        """Load the graph; `exact_sums` is slower, for processors whose fast sums of bytes overflow."""
        # Official builds (1.29 and later, also on Linux) report usage over the network, keep a device id in the user's
        # cache folder and run a thread that aborts forked children. The variable is read once, at import.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        # A compiled library of 50 MB, loaded only by processes that embed.
        import onnxruntime  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        if exact_sums:
            options.add_session_config_entry("session.x64quantprecision", "1")
        self._session: Any = onnxruntime.InferenceSession(
            str(path), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = frozenset(entry.name for entry in self._session.get_inputs())
        if not {"input_ids", "attention_mask"} <= self._inputs <= KNOWN_INPUTS:
            raise ValueError(
                f"The graph does not have a sentence encoder's inputs, but {sorted(self._inputs)}."
            )
        self._output, self._is_pooled = choose_output(self._session)

    def run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Encode one batch of token ids, padded to its longest row: float32[n, 384], unit length."""
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        [output] = self._session.run([self._output], {name: feeds[name] for name in self._inputs})
        return normalize(output if self._is_pooled else pool_mean(output, mask))


def choose_output(session: Any) -> tuple[str, bool]:
    """Name of the output, and whether it is pooled; without a pooled output the hidden states are pooled here."""
    outputs = {len(entry.shape): entry.name for entry in reversed(session.get_outputs())}
    if 2 in outputs:
        return outputs[2], True
    if 3 in outputs:
        return outputs[3], False
    raise ValueError("The graph outputs neither hidden states nor sentence vectors.")


def pool_mean(hidden: Vectors, mask: npt.NDArray[np.int64]) -> Vectors:
    """Mean of the hidden states over the tokens that are not padding."""
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)


def normalize(vectors: Vectors) -> Vectors:
    """The vectors scaled to unit length."""
    if vectors.shape[1] != DIMENSIONS:
        raise ValueError(f"The graph outputs vectors of {vectors.shape[1]} numbers, not {DIMENSIONS}.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
