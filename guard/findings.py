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
    WORD = "word"


class Door(StrEnum):
    """Where a text comes in; the faces set it, no argument of a call does."""

    PERSON = "person"  # typed in the browser
    PROMPT = "prompt"  # typed to an agent, as the prompt hook heard it
    AGENT = "agent"  # stored by an agent or a program, in its own words
    JOB = "job"  # made by Loci from what it stores
    OUTSIDE = "outside"  # files, web pages, output of tools, captures, exports of others

    @property
    def is_typed(self) -> bool:
        """True if a person wrote the text here and now: to such a text, its author is not a stranger."""
        return self in (Door.PERSON, Door.PROMPT)


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
