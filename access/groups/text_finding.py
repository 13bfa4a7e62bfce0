"""What the guard found in a text that somebody sent, as every face shows it."""

from dataclasses import dataclass
from typing import Any, Final

from guard import Family, GuardTreatment, kind_of

DONE: Final = {
    GuardTreatment.ALLOW: "allowed",
    GuardTreatment.LABEL: "stored, and noted",
    GuardTreatment.MASK: "masked",
    GuardTreatment.QUARANTINE: "held back for a person",
    GuardTreatment.REFUSE: "refused",
}


@dataclass(frozen=True)
class TextFinding:
    """A finding in a text that somebody sent, and what became of it; it never holds the value.

    `field` is the path of the text, such as `metadata.note`; `span` counts the characters of the text as it was sent.
    """

    field: str
    kind: str
    span: tuple[int, int]
    confidence: float
    treatment: GuardTreatment

    @property
    def family(self) -> str:
        """The family of the kind."""
        return kind_of(self.kind).family.value

    @property
    def words(self) -> str:
        """The finding in words, for people and agents."""
        label = kind_of(self.kind).label
        done = (
            DONE[self.treatment]
            if self.family != Family.HIDDEN or self.treatment != GuardTreatment.MASK
            else "removed"
        )
        return f"{label} in {self.field} at {self.span[0]}-{self.span[1]}: {done}"

    def as_json(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "field": self.field,
            "kind": self.kind,
            "family": self.family,
            "start": self.span[0],
            "end": self.span[1],
            "confidence": self.confidence,
            "treatment": self.treatment.value,
            "words": self.words,
        }
