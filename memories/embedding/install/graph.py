"""Builds the ONNX graph from the published weights, including pooling and unit length.

BERT (Devlin et al. 2019), or MPNet, whose heads add a number for the distance of two tokens (Song et al. 2020); the mean over
the attended tokens or the first one, then L2.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from memories.embedding.manifest import Model
from memories.embedding.model import TextTokenizer, import_onnxruntime

_Tensors = Mapping[str, npt.NDArray[np.float32]]

# The format's own limit; a larger number means another kind of file.
_MAX_HEADER_BYTES: Final = 100_000_000


def read_tensors(path: Path) -> _Tensors:
    """Every float32 tensor of the file by name, as read-only views of a memory map.

    Raises:
        ValueError: not a safetensors file, or a tensor outside the file.
    """
    data = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(data[:8].tobytes(), "little")
    if length > min(_MAX_HEADER_BYTES, len(data) - 8):
        raise ValueError(f"{path.name} is not a safetensors file: its header is too long.")
    header = json.loads(data[8 : 8 + length].tobytes())
    body = data[8 + length :]
    return {
        name: _view_tensor(body, name, entry["shape"], *entry["data_offsets"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def _view_tensor(
    body: npt.NDArray[np.uint8], name: str, shape: list[int], start: int, end: int
) -> npt.NDArray[np.float32]:
    if not 0 <= start <= end <= len(body):
        raise ValueError(f"The tensor {name} is outside the file.")
    return body[start:end].view("<f4").reshape(shape)


Precision = Literal["8-bit", "fp16-weights", "fp32"]
PRECISIONS: Final[tuple[Precision, ...]] = ("8-bit", "fp16-weights", "fp32")

_OPSET: Final = 17
_OWN_OPERATORS: Final = "com.microsoft"  # onnxruntime's own, in each of its builds; used for 8 bits only
_IR_VERSION: Final = 8  # the file format of opset 17
_TINY: Final = 1e-12
# Added to the score of a padded position: far below any real score, but finite in float32.
_MASKED: Final = -1e9
# In 8 bits a number is -127 to 127 steps; the left factor is stored as an unsigned byte, offset by _MIDDLE.
STEPS: Final = 127
_MIDDLE: Final = 128
# A few of a token's numbers (Model.large) are up to fifteen times as large as the rest, in every layer of the weights. They
# would make the steps too coarse for the others, so they are multiplied separately in float32 (of MiniLM cosine 0.9992
# instead of 0.9974).
_LARGE_NUMBERS: Final = 4
_LARGE_TABLE: Final = 100_000  # tokens: a table of so many is most of the model
_BLOCK: Final = 32
_SENTENCES: Final = (
    "The staging server listens on port 8081.",
    "Maria wants the harbour report on the first Monday of each month, as a table.",
    "We decided to keep the nightly backup for thirty days because the auditors ask for the last month.",
)
_MPNET: Final = "encoder.relative_attention_bias.weight"
_MPNET_NAMES: Final = {
    ".attention.attn.q.": ".attention.self.query.",
    ".attention.attn.k.": ".attention.self.key.",
    ".attention.attn.v.": ".attention.self.value.",
    ".attention.attn.o.": ".attention.output.dense.",
    ".attention.LayerNorm.": ".attention.output.LayerNorm.",
}
_MPNET_FIRST_POSITION: Final = 2
_FARTHEST: Final = 128  # tokens: from here on MPNet's distances count the same


class _GraphWriter:
    """Collects nodes and constants; each method adds nodes and returns the name of their output."""

    def __init__(self, tensors: _Tensors, model: Model, *, precision: Precision) -> None:
        # onnx is large and only needed for the installation.
        import onnx  # noqa: PLC0415

        self.onnx = onnx
        self.tensors, self.model = tensors, model
        self.precision = precision
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.in_steps: dict[str, tuple[str, str]] = {}  # by input: the outputs with its bytes and their scale

    def add(self, operator: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Add one node; an unnamed output gets a name."""
        name = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Add a constant. Scalars stay 0-d: `np.ascontiguousarray` would make them 1-d."""
        self.initializers.append(self.onnx.numpy_helper.from_array(np.array(value, dtype=dtype), name))
        return name

    def weight(self, name: str, value: npt.NDArray[np.float32]) -> str:
        """Add a matrix: in half precision unless `fp32`, which halves the file; computed in float32."""
        if self.precision == "fp32":
            return self.constant(name, value)
        return self.widen(self.constant(f"{name}.fp16", value, np.float16))

    def widen(self, name: str) -> str:
        """Cast to float32."""
        return self.add("Cast", [name], to=self.onnx.TensorProto.FLOAT)

    def linear(self, inputs: str, name: str, *prefixes: str) -> str:
        """Multiply by the transposed weights of `prefixes`, side by side, and add their biases."""
        matrix = np.concatenate([self.tensors[f"{prefix}.weight"] for prefix in prefixes]).T
        bias = np.concatenate([self.tensors[f"{prefix}.bias"] for prefix in prefixes])
        if self.precision == "8-bit":
            product = self._product_of_bytes(inputs, name, matrix)
        else:
            product = self.add("MatMul", [inputs, self.weight(f"{name}.weight", matrix)])
        return self.add("Add", [product, self.constant(f"{name}.bias", bias)])

    def _product_of_bytes(self, inputs: str, name: str, matrix: npt.NDArray[np.float32]) -> str:
        """Multiply by float32[k, n] in 8 bits with a scale per token and per column; the sums are exact.

        A text's vector therefore does not depend on the other texts of its batch.
        """
        large_rows = [*self.model.large] if self._has_large(matrix, name) else []
        has_large, rest = bool(large_rows), matrix.copy()
        rest[large_rows] = 0
        scales = np.abs(rest).max(axis=0) / STEPS
        bytes_, scale = self._to_bytes(inputs, has_large=has_large)
        names = [
            bytes_,
            self.constant(f"{name}.bytes", np.rint(rest / scales), np.int8),
            "one",
            self.constant(f"{name}.scales", scales),
            "middle",
        ]
        product = self.add("Mul", [self.add("MatMulIntegerToFloat", names, domain=_OWN_OPERATORS), scale])
        if not has_large:
            return product
        large = self.add("Gather", [inputs, "large"], axis=-1)
        large = self.add("MatMul", [large, self.constant(f"{name}.large", matrix[large_rows])])
        return self.add("Add", [product, large])

    def _has_large(self, matrix: npt.NDArray[np.float32], name: str) -> bool:
        """Inputs from a layer norm have the large numbers."""
        return matrix.shape[0] == self.model.width and not name.endswith("attention.output")

    def _to_bytes(self, inputs: str, *, has_large: bool) -> tuple[str, str]:
        """Outputs with each token's numbers as bytes and with the step size; added once per input."""
        if inputs not in self.in_steps:
            rest = self.add("Mul", [inputs, "not_large"]) if has_large else inputs
            largest = self.add("ReduceMax", [self.add("Abs", [rest])], axes=[-1], keepdims=1)
            scale = self.add("Mul", [self.add("Max", [largest, "tiny"]), "one_step"])
            # The cast truncates; adding half a step makes it round to the nearest step.
            steps = self.add("Add", [self.add("Div", [rest, scale]), "middle_and_half"])
            self.in_steps[inputs] = self.add("Cast", [steps], to=self.onnx.TensorProto.UINT8), scale
        return self.in_steps[inputs]

    def layer_norm(self, inputs: str, prefix: str) -> str:
        """Normalise the last axis with the weights of `prefix`."""
        names = [
            self.constant(f"{prefix}.{part}", self.tensors[f"{prefix}.{part}"]) for part in ("weight", "bias")
        ]
        return self.add("LayerNormalization", [inputs, *names], axis=-1, epsilon=self.model.epsilon)


def build_graph(weights: Path, target: Path, *, model: Model, precision: Precision) -> None:
    """Write the ONNX file to `target`.

    Inputs are `input_ids` and `attention_mask` (int64[n, tokens]), the output is `embedding` (float32[n, width], unit
    length). Of MiniLM, `fp32` produces the published model's vectors (90 MB); `fp16-weights` halves the file and still computes in
    float32 (cosine 0.9999999). `8-bit` (34 MB) multiplies bytes, in half the time or less (mean cosine 0.9992).
    """
    writer = _write_graph(weights, model, precision)
    target.write_bytes(_build_model_proto(writer).SerializeToString())


def _write_graph(weights: Path, model: Model, precision: Precision) -> _GraphWriter:
    """The graph's nodes and constants."""
    writer = _GraphWriter(_named_alike(read_tensors(weights)), model, precision=precision)
    _add_constants(writer)
    hidden = _embed_tokens(writer)
    mask = writer.widen("attention_mask")
    # [n, 1, 1, tokens]: 0 for attended tokens, a large negative number for padding.
    padding = writer.add("Sub", ["one", writer.add("Unsqueeze", [mask, "axes_one_two"])])
    scores_mask = writer.add("Mul", [padding, "masked"])
    if _MPNET in writer.tensors:
        scores_mask = writer.add("Add", [scores_mask, _add_distances(writer)])
    for layer in range(model.layers):
        hidden = _add_encoder_layer(writer, hidden, scores_mask, f"encoder.layer.{layer}")
    _add_pooling(writer, hidden, mask)
    return writer


def find_large(weights: Path, tokenizer: Path, model: Model) -> tuple[int, ...]:
    """The numbers of a token that are by far the largest after the layer norms of a few sentences (Model.large)."""
    writer = _write_graph(weights, model, "fp32")
    norms = [node.output[0] for node in writer.nodes if node.op_type == "LayerNormalization"]
    proto = _build_model_proto(writer)
    shape = ["batch", "tokens", model.width]
    proto.graph.output.extend(
        writer.onnx.helper.make_tensor_value_info(name, writer.onnx.TensorProto.FLOAT, shape)
        for name in norms
    )
    session = import_onnxruntime().InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    sizes = np.zeros(model.width)
    for ids in TextTokenizer(tokenizer).ids(_SENTENCES, max_tokens=model.max_tokens):
        inputs = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), dtype=np.int64)}
        sizes += sum(np.abs(hidden[0]).mean(axis=0) for hidden in session.run(norms, inputs))
    return tuple(np.argsort(-sizes)[:_LARGE_NUMBERS].tolist())


def _named_alike(tensors: _Tensors) -> _Tensors:
    """MPNet's tensors by the names that BERT's have; BERT's as they are."""
    if _MPNET not in tensors:
        return {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
    found = {}
    for name, tensor in tensors.items():
        for theirs, ours in _MPNET_NAMES.items():
            name = name.replace(theirs, ours)
        found[name.removeprefix("mpnet.")] = tensor
    return found


def _add_constants(writer: _GraphWriter) -> None:
    """Constants that several nodes share."""
    model, head_size = writer.model, writer.model.width // writer.model.heads
    writer.constant("one", 1.0)
    writer.constant("half", 0.5)
    writer.constant("sqrt_two", np.sqrt(2.0))
    writer.constant("head_scale", 1 / np.sqrt(head_size))
    writer.constant("masked", _MASKED)
    writer.constant("tiny", _TINY)
    if writer.precision == "8-bit":
        writer.constant("one_step", 1 / STEPS)
        writer.constant("middle", _MIDDLE, np.uint8)
        writer.constant("middle_and_half", _MIDDLE + 0.5)
        writer.constant("large", model.large, np.int64)
        writer.constant("not_large", ~np.isin(np.arange(model.width), model.large))
    writer.constant("zero_index", [0], np.int64)
    writer.constant("axis_one", [1], np.int64)
    writer.constant("axis_two", [2], np.int64)
    writer.constant("axes_one_two", [1, 2], np.int64)
    writer.constant("by_head", [0, 0, model.heads, head_size], np.int64)
    writer.constant("merged", [0, 0, model.width], np.int64)


def _embed_tokens(writer: _GraphWriter) -> str:
    """Word + position + token type 0 (a single text has no other), then the layer norm."""
    tensors = writer.tensors
    table = tensors["embeddings.word_embeddings.weight"]
    half = writer.precision != "fp32"
    if writer.precision == "8-bit" and len(table) > _LARGE_TABLE:
        words = _look_up_in_blocks(writer, table)
    else:
        # Gather before the cast, so that the large table stays in half precision in memory as well.
        words = writer.add(
            "Gather", [writer.constant("words", table, np.float16 if half else np.float32), "input_ids"]
        )
        words = writer.widen(words) if half else words
    positions = tensors["embeddings.position_embeddings.weight"]
    if _MPNET in tensors:
        positions = positions[_MPNET_FIRST_POSITION:]
    else:
        positions = positions + tensors["embeddings.token_type_embeddings.weight"][0]
    length = writer.add("Shape", ["input_ids"], start=1, end=2)
    positions_used = writer.add(
        "Slice", [writer.weight("positions", positions), "zero_index", length, "zero_index"]
    )
    return writer.layer_norm(writer.add("Add", [words, positions_used]), "embeddings.LayerNorm")


def _look_up_in_blocks(writer: _GraphWriter, table: npt.NDArray[np.float32]) -> str:
    """The tokens' rows of a table kept in 4 bits, with a scale for each 32 numbers: the largest of them is -8 steps.

    A table that came in such blocks, as e5-small's does, loses nothing.
    """
    blocks = table.reshape(len(table), -1, _BLOCK)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=2, keepdims=True), axis=2)
    scales = np.where(largest, largest, 1) / -8
    steps = np.clip(np.rint(blocks / scales) + 8, 0, 15).astype(np.uint8).reshape(len(table), -1)
    pairs = writer.constant("words.pairs", steps[:, ::2] | steps[:, 1::2] << 4, np.uint8)
    names = [pairs, "input_ids", writer.constant("words.scales", scales[:, :, 0])]
    return writer.add(
        "GatherBlockQuantized", names, domain=_OWN_OPERATORS,
        bits=4, block_size=_BLOCK, gather_axis=0, quantize_axis=1,
    )  # fmt: skip


def _add_encoder_layer(writer: _GraphWriter, hidden: str, score_mask: str, prefix: str) -> str:
    """One transformer layer: attention and feed-forward, each with a residual and a layer norm."""
    attended = _add_attention(writer, hidden, score_mask, prefix)
    hidden = writer.layer_norm(writer.add("Add", [attended, hidden]), f"{prefix}.attention.output.LayerNorm")
    inner = writer.linear(hidden, f"{prefix}.intermediate", f"{prefix}.intermediate.dense")
    outer = writer.linear(_add_gelu(writer, inner), f"{prefix}.output", f"{prefix}.output.dense")
    return writer.layer_norm(writer.add("Add", [outer, hidden]), f"{prefix}.output.LayerNorm")


def _add_attention(writer: _GraphWriter, hidden: str, score_mask: str, prefix: str) -> str:
    """Multi-head self-attention with its output projection."""
    query, key, value = (
        writer.add(
            "Transpose",
            [
                writer.add(
                    "Reshape",
                    [writer.linear(hidden, f"{prefix}.{part}", f"{prefix}.attention.self.{part}"), "by_head"],
                )
            ],
            perm=order,
        )
        for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
    )
    scores = writer.add("MatMul", [writer.add("Mul", [query, "head_scale"]), key])
    weights = writer.add("Softmax", [writer.add("Add", [scores, score_mask])], axis=-1)
    heads = writer.add("Transpose", [writer.add("MatMul", [weights, value])], perm=[0, 2, 1, 3])
    merged = writer.add("Reshape", [heads, "merged"])
    return writer.linear(merged, f"{prefix}.attention.output", f"{prefix}.attention.output.dense")


def _add_distances(writer: _GraphWriter) -> str:
    """MPNet's number for each head and each distance of two tokens, float32[1, heads, tokens, tokens]."""
    most = writer.model.max_tokens
    distance = np.arange(1 - most, most)  # of the token looked at from the one that looks
    table = writer.tensors[_MPNET]
    half, exact = len(table) // 2, len(table) // 4
    far = np.log(np.maximum(np.abs(distance), 1) / exact) / np.log(_FARTHEST / exact) * (half - exact)
    near = np.where(np.abs(distance) < exact, np.abs(distance), np.minimum(exact + far.astype(int), half - 1))
    by_distance = writer.constant("by_distance", table[near + half * (distance > 0)])
    steps = writer.constant("steps", np.arange(most), np.int64)
    length = writer.add("Shape", ["input_ids"], start=1, end=2)
    places = writer.add("Slice", [steps, "zero_index", length, "zero_index"])
    columns, rows = (writer.add("Unsqueeze", [places, axis]) for axis in ("zero_index", "axis_one"))
    apart = writer.add("Sub", [columns, rows])
    index = writer.add("Add", [apart, writer.constant("most_before", most - 1, np.int64)])
    heads_first = writer.add("Transpose", [writer.add("Gather", [by_distance, index])], perm=[2, 0, 1])
    return writer.add("Unsqueeze", [heads_first, "zero_index"])


def _add_gelu(writer: _GraphWriter, inputs: str) -> str:
    """x/2 · (1 + erf(x / √2)), spelled so that onnxruntime fuses it."""
    erf = writer.add("Erf", [writer.add("Div", [inputs, "sqrt_two"])])
    return writer.add("Mul", [writer.add("Mul", [inputs, writer.add("Add", [erf, "one"])]), "half"])


def _add_pooling(writer: _GraphWriter, hidden: str, mask: str) -> None:
    """Mean over the attended tokens, or the first one; then unit length."""
    if writer.model.pooling == "cls":
        mean = writer.add(
            "Squeeze", [writer.add("Slice", [hidden, "zero_index", "axis_one", "axis_one"]), "axis_one"]
        )
    else:
        mean = _add_mean(writer, hidden, mask)
    length = writer.add("Max", [writer.add("ReduceL2", [mean], axes=[1], keepdims=1), "tiny"])
    writer.add("Div", [mean, length], "embedding")


def _add_mean(writer: _GraphWriter, hidden: str, mask: str) -> str:
    column = writer.add("Unsqueeze", [mask, "axis_two"])
    total = writer.add("ReduceSum", [writer.add("Mul", [hidden, column]), "axis_one"], keepdims=0)
    count = writer.add("Max", [writer.add("ReduceSum", [column, "axis_one"], keepdims=0), "tiny"])
    return writer.add("Div", [total, count])


def _build_model_proto(writer: _GraphWriter) -> Any:
    """The checked ONNX model of the writer's nodes."""
    helper, types = writer.onnx.helper, writer.onnx.TensorProto
    inputs = [
        helper.make_tensor_value_info(name, types.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("embedding", types.FLOAT, ["batch", writer.model.width])
    operators = [helper.make_opsetid("", _OPSET)]
    if writer.precision == "8-bit":
        operators.append(helper.make_opsetid(_OWN_OPERATORS, 1))
    graph = helper.make_graph(writer.nodes, "loci-encoder", inputs, [output], writer.initializers)
    model = helper.make_model(graph, opset_imports=operators, ir_version=_IR_VERSION, producer_name="loci")
    writer.onnx.checker.check_model(model)
    return model
