"""Reads what a folder says of the model in it, as sentence-transformers publishes models."""

import json
import re
from pathlib import Path
from typing import Any, Final

from memories.embedding.loader import sha256_of
from memories.embedding.manifest import TOKENIZER_FILE, WEIGHTS_FILE, WIDTHS, Model
from memories.embedding.model import ModelInstallFailed

_KINDS: Final = ("bert", "mpnet")
_HEAD: Final = re.compile(r"---\n(.*?)\n---", re.S)
_LANGUAGE: Final = re.compile(r"^language:(?: *([a-z]{2,3})$|((?:\n *- *[a-z]{2,3}$)+))", re.M)


def describe_folder(folder: Path) -> Model:
    """The model of a folder with its weights, tokenizer and configuration, whose hashes it has from now on.

    Raises:
        ModelInstallFailed: a file is missing, or it is a model of another kind.
    """
    try:
        return _read_folder(folder)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ModelInstallFailed(
            f"{folder} is not a model that Loci can build: {error}",
            hint=f"A folder needs {WEIGHTS_FILE}, {TOKENIZER_FILE} and config.json of a model of the BERT or MPNet kind.",
        ) from error


def _read_folder(folder: Path) -> Model:
    config = _read_json(folder / "config.json")
    kind, width, positions = config["model_type"], config["hidden_size"], config["max_position_embeddings"]
    if kind not in _KINDS or width % WIDTHS:
        raise ValueError(
            f"it is {kind}, {width} wide; it must be one of {', '.join(_KINDS)} and a multiple of {WIDTHS} wide"
        )
    prompts = _read_json(folder / "config_sentence_transformers.json", {}).get("prompts") or {}
    pooling = _read_json(folder / "1_Pooling" / "config.json", {})
    readme = folder / "README.md"
    found = _HEAD.match(readme.read_text(encoding="utf-8")) if readme.is_file() else None
    head = found[1] if found else ""
    licence = re.search(r"^license: *(\S+)", head, re.M)
    language = _LANGUAGE.search(head)
    hashes = {name: sha256_of(folder / name) for name in (TOKENIZER_FILE, WEIGHTS_FILE)}
    return Model(
        name=folder.resolve().name,
        revision=hashes[WEIGHTS_FILE],
        licence=licence[1] if licence else "unknown",
        languages=tuple(re.findall(r"\b[a-z]{2,3}\b", language[1] or language[2])) if language else (),
        width=width,
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        epsilon=config["layer_norm_eps"],
        max_tokens=positions - 2 if kind == "mpnet" else positions,
        sha256=hashes,
        pooling="cls" if pooling.get("pooling_mode_cls_token") else "mean",
        question_prefix=prompts.get("query", ""),
        text_prefix=prompts.get("document", prompts.get("passage", "")),
    )


def _read_json(file: Path, default: dict[str, Any] | None = None) -> dict[str, Any]:
    if default is not None and not file.is_file():
        return default
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
