"""A model of random weights, of any width, whose tokens are letters: equal texts have equal vectors, and that is all it knows."""

import hashlib
import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from memories.embedding.install import install_model
from memories.embedding.install.sources import FolderSource
from memories.embedding.loader import ModelFolder, model_folder
from memories.embedding.manifest import TOKENIZER_FILE, WEIGHTS_FILE, Model

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?:-"
TOKENS = 64


def write_tensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """The tensors as a safetensors file."""
    header, body = {}, b""
    for name, tensor in tensors.items():
        data = np.ascontiguousarray(tensor, dtype="<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": tensor.shape,
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def write_tokenizer(path: Path) -> int:
    """A tokenizer of letters; returns the size of its vocabulary."""
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    vocabulary = {name: place for place, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(path))
    return len(names)


def random_tensors(words: int, width: int) -> dict[str, np.ndarray]:
    """One layer of random weights, by BERT's names."""
    dice = np.random.default_rng(width)
    shapes = {
        "embeddings.word_embeddings": (words, width),
        "embeddings.position_embeddings": (TOKENS, width),
        "embeddings.token_type_embeddings": (2, width),
    }
    layer = "encoder.layer.0"
    for part in ("query", "key", "value"):
        shapes[f"{layer}.attention.self.{part}"] = (width, width)
    shapes[f"{layer}.attention.output.dense"] = (width, width)
    shapes[f"{layer}.intermediate.dense"] = (2 * width, width)
    shapes[f"{layer}.output.dense"] = (width, 2 * width)
    tensors = {f"{name}.weight": dice.normal(size=shape) / 8 for name, shape in shapes.items()}
    tensors |= {f"{name}.bias": np.zeros(shape[0]) for name, shape in shapes.items() if layer in name}
    for norm in ("embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"):
        tensors |= {f"{norm}.weight": np.ones(width), f"{norm}.bias": np.zeros(width)}
    return tensors


def small_model(folder: Path, width: int, **values: object) -> Model:
    """A model of this width; writes its two files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    words = write_tokenizer(folder / TOKENIZER_FILE)
    write_tensors(folder / WEIGHTS_FILE, random_tensors(words, width))
    names = (TOKENIZER_FILE, WEIGHTS_FILE)
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    shape = {"width": width, "layers": 1, "heads": 4, "max_tokens": TOKENS, "sha256": hashes}
    return Model(
        **{"name": f"small-{width}", "revision": "1", "licence": "-", "calibrated": True, **shape, **values}
    )


def install_small(home: Path, width: int) -> ModelFolder:
    """Install a model of this width under a home folder."""
    files = home / f"files-{width}"
    model, folder = small_model(files, width), model_folder(home, f"small-{width}")
    install_model(folder, [FolderSource(files, model)], model=model, precision="8-bit")
    return folder


def publish(folder: Path) -> Path:
    """A folder as sentence-transformers publishes one, with a model 64 wide."""
    small_model(folder, 64)
    shape = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "layer_norm_eps": 1e-12}
    config = {"model_type": "bert", "max_position_embeddings": TOKENS, **shape}
    (folder / "config.json").write_text(json.dumps(config))
    prompts = {"prompts": {"query": "ask: ", "passage": "text: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    (folder / "README.md").write_text("---\nlanguage:\n- en\n- de\nlicense: mit\n---\n# A model\n")
    return folder
