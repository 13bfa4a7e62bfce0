"""What happens to each kind of finding: defaults, a group's own choice, and a floor below which no group goes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from guard.findings import Family, GuardFinding
from guard.kinds import KINDS, kind_of


class GuardTreatment(StrEnum):
    """What happens to a text with such a finding, from the mildest to the strictest."""

    ALLOW = "allow"  # stored as it is, and not reported
    LABEL = "label"  # stored as it is, and reported
    MASK = "mask"  # the value is replaced; hidden characters are removed
    QUARANTINE = "quarantine"  # stored, but a person decides before agents see it
    REFUSE = "refuse"  # not stored


STRICTNESS: Final = {treatment: rank for rank, treatment in enumerate(GuardTreatment)}
# By kind or family. A guessed secret is refused, since masking a wrong guess would damage the text unseen.
DEFAULTS: Final[Mapping[str, GuardTreatment]] = {
    Family.SECRET: GuardTreatment.MASK,
    Family.GUESSED: GuardTreatment.REFUSE,
    Family.PERSONAL: GuardTreatment.LABEL,
    Family.HIDDEN: GuardTreatment.MASK,
    "hidden-message": GuardTreatment.QUARANTINE,
    "look-alike-letters": GuardTreatment.LABEL,
    Family.INJECTION: GuardTreatment.QUARANTINE,
    Family.WORD: GuardTreatment.MASK,
}
NAMES: Final = (*(family.value for family in Family), *KINDS)


class UnknownRule(ValueError):
    """A policy names a kind or a treatment that does not exist; the message says which are allowed."""


@dataclass(frozen=True)
class Policy:
    """The rules of one group: its own by kind or family, and the instance's floor."""

    own: Mapping[str, GuardTreatment] = field(default_factory=dict)
    floor: Mapping[str, GuardTreatment] = field(default_factory=dict)

    def treatment(self, kind: str, *, allowed: frozenset[str] = frozenset()) -> GuardTreatment:
        """What happens to a finding of a kind; `allowed` are guessed kinds that the sender vouches for."""
        family = kind_of(kind).family
        least = self.floor.get(kind, self.floor.get(family, GuardTreatment.ALLOW))
        own = self.own.get(kind, self.own.get(family))
        if own is None:
            is_allowed = family is Family.GUESSED and kind in allowed
            own = GuardTreatment.LABEL if is_allowed else DEFAULTS.get(kind, DEFAULTS[family])
        return max(own, least, key=STRICTNESS.__getitem__)


def read_rules(rules: Mapping[str, str]) -> dict[str, GuardTreatment]:
    """Rules from text. Raises UnknownRule with the allowed words."""
    for name, treatment in rules.items():
        if name not in NAMES:
            families = ", ".join(Family)
            raise UnknownRule(f"'{name[:40]}' is no kind of finding. Use a family ({families}) or a kind.")
        if treatment not in STRICTNESS:
            raise UnknownRule(f"'{treatment[:40]}' is no treatment. Use {', '.join(GuardTreatment)}.")
    return {name: GuardTreatment(treatment) for name, treatment in rules.items()}


def read_pairs(pairs: Sequence[str]) -> dict[str, GuardTreatment]:
    """Rules from `kind=treatment` texts. Raises UnknownRule."""
    rules: dict[str, str] = {}
    for pair in pairs:
        name, sign, treatment = pair.partition("=")
        if not sign:
            raise UnknownRule(f"'{pair[:40]}' is no rule. Write kind=treatment, such as personal=mask.")
        rules[name.strip()] = treatment.strip()
    return read_rules(rules)


def strictest(
    policy: Policy, findings: Sequence[GuardFinding], *, allowed: frozenset[str] = frozenset()
) -> GuardTreatment:
    """The strictest treatment that any of the findings gets."""
    return max(
        (policy.treatment(each.kind, allowed=allowed) for each in findings),
        key=STRICTNESS.__getitem__,
        default=GuardTreatment.ALLOW,
    )
