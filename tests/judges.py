"""Judges that know words: a real classifier whose logits are sums of what each token weighs, so that its order is known."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from guard.judge import JudgeUse
from loci_site.config import Config

SLOW = "slowly"  # each of these words takes the model seconds


def publish_judge(folder: Path, weights: Mapping[str, Sequence[float]], **config: Any) -> Path:
    """A folder with a judge that adds up the logits of the second text's words, or of a text alone; others have none."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", SLOW, *weights]
    labels = len(next(iter(weights.values())))
    table = np.zeros((len(words), labels), dtype=np.float32)
    for at, word in enumerate(weights, start=words.index(SLOW) + 1):
        table[at] = weights[word]
    onnx.save(_model(table, words.index(SLOW)), str(folder / "model.onnx"))
    between = [{"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    first = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        *between,
    ]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    added = {name: {"id": name, "ids": [words.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"}, "decoder": None,
        "post_processor": {"type": "TemplateProcessing", "single": first, "pair": [*first, *second], "special_tokens": added},
        "model": {"type": "WordLevel", "vocab": {word: at for at, word in enumerate(words)}, "unk_token": "[UNK]"},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"num_labels": labels} | config), encoding="utf-8")
    return folder


def _model(table: np.ndarray, slow: int) -> onnx.ModelProto:
    """Logits: the rows of the table for the tokens of the last text, added up, and a long loop for each slow token."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["goes_on"]),
            helper.make_node("MatMul", ["held", "turn"], ["holds"]),
        ],
        "turning",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("held", TensorProto.FLOAT, [200, 200]),
        ],
        [
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("holds", TensorProto.FLOAT, [200, 200]),
        ],
    )
    nodes = [
        helper.make_node("Equal", ["input_ids", "slow"], ["is_slow"]),
        helper.make_node("Cast", ["is_slow"], ["slow_ones"], to=TensorProto.INT64),
        helper.make_node("ReduceSum", ["slow_ones"], ["count"], keepdims=0),
        helper.make_node("Mul", ["count", "rounds"], ["trips"]),
        helper.make_node("Loop", ["trips", "", "turn"], ["turned"], body=body),
        helper.make_node("ReduceMin", ["turned"], ["least"], keepdims=0),  # 0: off the diagonal
        # The tokens of the last text have the greatest type, 0 or 1.
        helper.make_node("ReduceMax", ["token_type_ids"], ["last"], keepdims=1),
        helper.make_node("Equal", ["token_type_ids", "last"], ["is_last"]),
        helper.make_node("Cast", ["is_last"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "end"], ["column"]),
        helper.make_node("Gather", ["table", "input_ids"], ["weighed"]),
        helper.make_node("Mul", ["weighed", "column"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "tokens"], ["sums"], keepdims=0),
        helper.make_node("Add", ["sums", "least"], ["logits"]),
    ]
    constants = {
        "slow": np.array([slow], dtype=np.int64),
        "rounds": np.array(100_000, dtype=np.int64),
        "turn": np.eye(200, dtype=np.float32),
        "end": np.array([-1], dtype=np.int64),
        "tokens": np.array([1], dtype=np.int64),
        "table": table,
    }
    graph = helper.make_graph(
        nodes,
        "words",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"])
            for name in ("input_ids", "token_type_ids")
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, table.shape[1]])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def with_judge(config: Config, use: JudgeUse, folder: Path, *, recall_ms: int = 60_000) -> Config:
    """The settings with this judge alone."""
    return replace(config, judges=replace(config.judges, folders=(f"{use}={folder}",), recall_ms=recall_ms))
