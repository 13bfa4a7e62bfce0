"""Instructions to an AI inside a text, by phrases of several languages. A hint for a person, never proof."""

import tomllib
from pathlib import Path
from typing import Final

from guard.findings import Finding
from guard.hidden import LOOK_ALIKES, without_hidden
from guard.patterns import Keywords, Pattern

DATA: Final = Path(__file__).parent / "data" / "injection.toml"


def _read(path: Path) -> tuple[tuple[str, tuple[str, ...], Pattern, float], ...]:
    with path.open("rb") as file:
        rules = tomllib.load(file)["rule"]
    return tuple(
        (rule["kind"], tuple(rule["words"]), Pattern(rule["pattern"]), float(rule.get("confidence", 0.8))) for rule in rules
    )


_RULES: Final = _read(DATA)
_WORDS = Keywords((word, number) for number, (_, words, _, _) in enumerate(_RULES) for word in words)


def find_injections(text: str) -> list[Finding]:
    """Phrases that give an AI instructions; hidden characters and look-alike letters do not hide them."""
    plain, places = without_hidden(text)
    found = _search(plain)
    if not found and not plain.isascii():
        latin = plain.translate(LOOK_ALIKES)
        found = _search(latin) if latin != plain else []
    if places is None:
        return found
    return [
        Finding(each.kind, (places[each.span[0]], places[each.span[1] - 1] + 1), each.confidence) for each in found
    ]


def _search(text: str) -> list[Finding]:
    numbers = _WORDS.owners(text)
    return [
        Finding(kind, span, confidence)
        for kind, _, pattern, confidence in (_RULES[number] for number in sorted(numbers))
        for span in pattern.spans(text)
    ]
