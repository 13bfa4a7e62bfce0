"""One ONNX session: token ids → unit vectors. Takes our own graph and the ready-made ones of the same model."""

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
    No arena and no memory plan: both keep the memory of the largest batch for ever (measured: 50 MB each).
    """

    def __init__(self, path: Path, *, exact_sums: bool = False) -> None:
        """Read the graph; `exact_sums` is for processors whose quick sums of bytes overflow, and costs time."""
        # Official builds (1.29 and later, Linux too) report their use over the network, keep an id of the device
        # in the user's cache folder and run a thread that aborts forked children. Read once, at the import.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        # A compiled library of 50 MB; a process that never embeds does not load it.
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
                f"The graph's inputs are not those of a sentence encoder: {sorted(self._inputs)}."
            )
        self._output, self._is_pooled = _choose_output(self._session)

    def run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Encode one batch of token ids, padded to its longest row: float32[n, 384], unit length."""
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        [output] = self._session.run([self._output], {name: feeds[name] for name in self._inputs})
        return _unit(output if self._is_pooled else _mean(output, mask))


def _choose_output(session: Any) -> tuple[str, bool]:
    """The pooled output where the graph has one, else the hidden states, which are pooled here."""
    outputs = {len(entry.shape): entry.name for entry in reversed(session.get_outputs())}
    if 2 in outputs:
        return outputs[2], True
    if 3 in outputs:
        return outputs[3], False
    raise ValueError("The graph gives neither hidden states nor sentence vectors.")


def _mean(hidden: Vectors, mask: npt.NDArray[np.int64]) -> Vectors:
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / weights.sum(axis=1), dtype=np.float32)


def _unit(vectors: Vectors) -> Vectors:
    if vectors.shape[1] != DIMENSIONS:
        raise ValueError(f"The graph gives vectors of {vectors.shape[1]} numbers, not {DIMENSIONS}.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)
