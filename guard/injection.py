"""Instructions to an AI inside a text, by phrases of several languages. A hint for a person, never proof."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from guard.findings import GuardFinding
from guard.hidden import LOOK_ALIKES
from guard.patterns import Keywords, Pattern
from guard.signals import SIGNS

DATA: Final = Path(__file__).parent / "data" / "injection.toml"


def _read(path: Path) -> tuple[tuple[str, tuple[str, ...], Pattern, float], ...]:
    with path.open("rb") as file:
        rules = tomllib.load(file)["rule"]
    return tuple(
        (rule["kind"], tuple(rule["words"]), Pattern(rule["pattern"]), float(rule.get("confidence", 0.8)))
        for rule in rules
    )


_RULES: Final = _read(DATA)
_WORDS = Keywords((word, number) for number, (_, words, _, _) in enumerate(_RULES) for word in words)


def find_injections(text: str) -> list[GuardFinding]:
    """Phrases that give an AI instructions; look-alike letters do not hide them."""
    found = _search(text)
    if not found and not text.isascii():
        latin = text.translate(LOOK_ALIKES)
        found = _search(latin) if latin != text else []
    return found


def _search(text: str) -> list[GuardFinding]:
    numbers = _WORDS.owners(text)
    phrases = (
        GuardFinding(kind, span, confidence)
        for kind, _, pattern, confidence in (_RULES[number] for number in sorted(numbers))
        for span in pattern.spans(text)
    )
    return merged((*phrases, *SIGNS.find(text)))


def merged(findings: Iterable[GuardFinding]) -> list[GuardFinding]:
    """The findings in order of place; those of one kind that overlap are one."""
    found: list[GuardFinding] = []
    for each in sorted(findings, key=lambda each: (each.kind, each.span)):
        last = found[-1] if found else None
        if last is not None and last.kind == each.kind and each.span[0] <= last.span[1]:
            span = (last.span[0], max(last.span[1], each.span[1]))
            found[-1] = GuardFinding(each.kind, span, max(last.confidence, each.confidence))
        else:
            found.append(each)
    return found
