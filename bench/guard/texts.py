"""The texts to train with: templates with alternatives, `{one|two}`, under headings that name their manner."""

import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TEXTS: Final = Path(__file__).parent / "templates"
WORDINGS: Final = 6  # of one template
_ALTERNATIVES: Final = re.compile(r"\{([^{}]*)\}")
_BAR: Final = re.compile(r"(?<!\\)\|")
_OPEN, _CLOSE = "\ue000", "\ue001"  # braces of the text itself


@dataclass(frozen=True)
class TrainingText:
    """A text with its manner, and the template it was made of."""

    text: str
    manner: str
    template: str


def read_texts(path: Path, *, wordings: int = WORDINGS) -> list[TrainingText]:
    """Several wordings of each template in a file, the same ones every time."""
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


def worded(template: str, chance: random.Random) -> str:
    """One wording of a template."""

    def choose(match: re.Match[str]) -> str:
        choices = _BAR.split(match[1])
        return (
            chance.choice(choices).replace("\\|", "|") if len(choices) > 1 else f"{_OPEN}{match[1]}{_CLOSE}"
        )

    while (chosen := _ALTERNATIVES.sub(choose, template)) != template:
        template = chosen
    text = template.replace(_OPEN, "{").replace(_CLOSE, "}")
    return re.sub(r" +([.,!?;:])", r"\1", re.sub(r"  +", " ", text)).strip()
