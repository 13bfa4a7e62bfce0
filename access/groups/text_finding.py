"""What the guard found in a text that was sent, as every face shows it."""

from dataclasses import dataclass
from typing import Annotated, Final

from access.answers import Answer, ShownAs
from guard import Family, GuardTreatment, kind_of

MAX_LISTED: Final = 100  # findings in an answer: a list of thousands would be larger than the text
DONE: Final = {
    GuardTreatment.ALLOW: "allowed",
    GuardTreatment.LABEL: "stored, and noted",
    GuardTreatment.MASK: "masked",
    GuardTreatment.QUARANTINE: "held back for a person",
    GuardTreatment.REFUSE: "refused",
}


@dataclass(frozen=True)
class TextFinding:
    """A finding in a text that was sent, and what became of it; it never holds the value.

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


class FindingOut(Answer):
    """What the guard found in a text, and what became of it; never the value."""

    field: str
    kind: str
    family: str
    start: Annotated[int, ShownAs(lambda finding, _: finding.span[0])]
    end: Annotated[int, ShownAs(lambda finding, _: finding.span[1])]
    confidence: float
    treatment: Annotated[str, ShownAs("treatment.value")]
    words: str


# Absent if the guard found nothing.
Findings = Annotated[
    tuple[FindingOut, ...], ShownAs(lambda result, _: result.findings[:MAX_LISTED], is_absent=True)
]
MoreFindings = Annotated[
    int, ShownAs(lambda result, _: max(0, len(result.findings) - MAX_LISTED), is_absent=True)
]
