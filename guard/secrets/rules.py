"""The rules for secrets, read from guard/data/secrets.toml."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from guard.patterns import Pattern

DATA: Final = Path(__file__).parent.parent / "data"


@dataclass(frozen=True)
class SecretRule:
    """How one kind of secret is written; `guess` names a detector for values that only the words before them give away."""

    kind: str
    label: str
    words: tuple[str, ...]
    pattern: Pattern
    near: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    guess: str = ""
    is_guess: bool = field(default=False)


def read_rules(path: Path = DATA / "secrets.toml") -> tuple[SecretRule, ...]:
    """The rules in the order of the file: where two find the same, the first one names it."""
    with path.open("rb") as file:
        rules = tomllib.load(file)["rule"]
    return tuple(
        SecretRule(
            rule["kind"],
            rule["label"],
            tuple(rule["words"]),
            Pattern(rule.get("pattern", "")),
            tuple(rule.get("near", ())),
            tuple(rule.get("checks", ())),
            rule.get("guess", ""),
            "guess" in rule,
        )
        for rule in rules
    )


RULES: Final = read_rules()
