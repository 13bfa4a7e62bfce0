"""What a detector returns."""

from dataclasses import dataclass
from enum import StrEnum


class Family(StrEnum):
    """Families of kinds; a policy may name a family or a kind."""

    SECRET = "secret"  # noqa: S105 - a family's name
    GUESSED = "guessed-secret"
    PERSONAL = "personal"
    HIDDEN = "hidden"
    INJECTION = "injection"


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding: its name in policies and answers, its family, and its label for people."""

    name: str
    family: Family
    label: str


@dataclass(frozen=True)
class GuardFinding:
    """A place in a text: the kind, the span in characters and the confidence (0–1). It never holds the value."""

    kind: str
    span: tuple[int, int]
    confidence: float
