"""The texts to train with: templates with alternatives, `{one|two}`, under headings that name their manner.

`\\n` is a line break. What follows `b64:`, `hex:`, `rot:`, `rev:`, `leet:`, `space:` or `dash:`, to the end of the alternative or
sentence, is disguised in that way.
"""

import base64
import codecs
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TEXTS: Final = Path(__file__).parent / "templates"
WORDINGS: Final = 6  # of one template
_ALTERNATIVES: Final = re.compile(r"\{([^{}]*)\}")
_BAR: Final = re.compile(r"(?<!\\)\|")
_OPEN, _CLOSE = "\ue000", "\ue001"  # braces of the text itself
_LEET: Final = str.maketrans("aeiost", "431057")
_DISGUISES: Final[dict[str, Callable[[str], str]]] = {
    "b64": lambda text: base64.b64encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "rot": lambda text: codecs.encode(text, "rot13"),
    "rev": lambda text: text[::-1],
    "leet": lambda text: text.translate(_LEET),
    "space": lambda text: "   ".join(" ".join(word) for word in text.split()),
    "dash": lambda text: " ".join(
        f"{word[: len(word) // 2]}-{word[len(word) // 2 :]}" for word in text.split()
    ),
}
_DISGUISED: Final = re.compile(rf"\b({'|'.join(_DISGUISES)}):([^.{{}}]+)")


@dataclass(frozen=True)
class TrainingText:
    """A text with its manner, and the template it was made of."""

    text: str
    manner: str
    template: str


def read_texts(path: Path, *, wordings: int = WORDINGS) -> list[TrainingText]:
    """Several wordings of each template in a file or a folder of files, the same ones every time."""
    if path.is_dir():
        return [text for each in sorted(path.glob("*.txt")) for text in read_texts(each, wordings=wordings)]
    chance = random.Random(path.name)
    made: list[TrainingText] = []
    manner = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and "{" not in line:
            manner = line[2:]
        elif line:
            texts: dict[str, None] = {}
            for _ in range(wordings * 3):
                texts[worded(line, chance)] = None
                if len(texts) == wordings:
                    break
            made += (TrainingText(text, manner, line) for text in texts)
    return made


def surrounded(
    texts: Sequence[TrainingText], others: Sequence[TrainingText], share: float, chance: random.Random
) -> list[TrainingText]:
    """A share of the texts once more, each between one to three of the others, as it would be in a document."""
    made: list[TrainingText] = []
    for each in chance.sample(list(texts), round(share * len(texts))):
        around = [other.text for other in chance.sample(list(others), chance.randint(1, 3))]
        at = chance.randint(0, len(around))
        sentences = [*around[:at], each.text, *around[at:]]
        made.append(TrainingText(chance.choice((" ", " ", "\n")).join(sentences), each.manner, each.template))
    return made


def worded(template: str, chance: random.Random) -> str:
    """One wording of a template."""

    def choose(match: re.Match[str]) -> str:
        choices = _BAR.split(match[1])
        if len(choices) < 2:
            return f"{_OPEN}{match[1]}{_CLOSE}"
        return _DISGUISED.sub(_disguise, chance.choice(choices).replace("\\|", "|"))

    while (chosen := _ALTERNATIVES.sub(choose, template)) != template:
        template = chosen
    text = _DISGUISED.sub(_disguise, template).replace(_OPEN, "{").replace(_CLOSE, "}").replace("\\n", "\n")
    return re.sub(
        r" +([.,!?;:])", r"\1", re.sub(r"  +", lambda gap: gap[0] if len(gap[0]) > 2 else " ", text)
    ).strip()


def _disguise(match: re.Match[str]) -> str:
    return _DISGUISES[match[1]](match[2].strip())
