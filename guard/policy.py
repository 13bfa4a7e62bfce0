"""What happens to each kind of finding: defaults, a group's own choice, and a floor below which no group goes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from guard.findings import Family, FindingKind
from guard.secrets import RULES

HIDDEN_KINDS: Final = (
    FindingKind("hidden-text", Family.HIDDEN, "hidden characters"),
    FindingKind("hidden-message", Family.HIDDEN, "a hidden message"),
    FindingKind("look-alike-letters", Family.HIDDEN, "letters of two scripts in one word"),
)
PERSONAL_KINDS: Final = (
    FindingKind("email-address", Family.PERSONAL, "e-mail address"),
    FindingKind("phone-number", Family.PERSONAL, "phone number"),
    FindingKind("card-number", Family.PERSONAL, "card number"),
    FindingKind("iban", Family.PERSONAL, "bank account (IBAN)"),
    FindingKind("national-id", Family.PERSONAL, "national identity or tax number"),
    FindingKind("ip-address", Family.PERSONAL, "public IP address"),
)
INJECTION_KINDS: Final = (
    FindingKind("injected-instruction", Family.INJECTION, "an instruction to an AI"),
    FindingKind("prompt-markup", Family.INJECTION, "markup of a prompt"),
    FindingKind("instruction-like", Family.INJECTION, "words that read like an instruction to an AI"),
)
WORD: Final = "word"
WORD_KINDS: Final = (FindingKind(WORD, Family.WORD, "a word that the group masks"),)
_SECRET_KINDS: Final = tuple(
    dict.fromkeys(
        FindingKind(rule.kind, Family.GUESSED if rule.guess else Family.SECRET, rule.label) for rule in RULES
    )
)
KINDS: Final = {
    kind.name: kind
    for kind in (*_SECRET_KINDS, *PERSONAL_KINDS, *HIDDEN_KINDS, *INJECTION_KINDS, *WORD_KINDS)
}


def kind_of(name: str) -> FindingKind:
    """The kind of this name."""
    return KINDS[name]


def has_instruction(kinds: Iterable[str]) -> bool:
    """True if one of the kinds, by name, is an instruction to an AI: found by patterns, by signs or by a classifier."""
    return any(kind_of(name).family is Family.INJECTION for name in kinds)


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
NAMES: Final = frozenset({*(family.value for family in Family), *KINDS} - {WORD})
_MIN_WORD: Final = 2  # characters of a word to mask
_WITHOUT_SPACES: Final = "\u2e80"  # scripts from here on divide no words


class UnknownRule(ValueError):
    """A policy names a kind or a treatment that does not exist; the message says which are allowed."""


@dataclass(frozen=True)
class Policy:
    """The rules of one group: its own by kind or family, the instance's floor, and the words of both that are masked."""

    own: Mapping[str, GuardTreatment] = field(default_factory=dict)
    floor: Mapping[str, GuardTreatment] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """What finds the words, whole and in any case; None without any. Scripts without spaces have no whole words."""
        parts = (
            f"(?<!\\w){re.escape(word)}(?!\\w)" if word < _WITHOUT_SPACES else re.escape(word)
            for word in sorted(self.words, key=len, reverse=True)
        )
        return re.compile("|".join(parts), re.IGNORECASE) if self.words else None

    def treatment(self, kind: str, *, allowed: frozenset[str] = frozenset()) -> GuardTreatment:
        """What happens to a finding of a kind; `allowed` are guessed kinds that the sender vouches for."""
        family = kind_of(kind).family
        least = self.floor.get(kind, self.floor.get(family, GuardTreatment.ALLOW))
        own = self.own.get(kind, self.own.get(family))
        if own is None:
            is_allowed = family is Family.GUESSED and kind in allowed
            own = GuardTreatment.LABEL if is_allowed else DEFAULTS.get(kind, DEFAULTS[family])
        return max(own, least, key=STRICTNESS.__getitem__)


def read_pairs(pairs: Sequence[str]) -> tuple[dict[str, GuardTreatment], tuple[str, ...]]:
    """The treatments of `kind=treatment` texts, and the words of `word=…` texts. Raises UnknownRule with the allowed words."""
    rules, words = dict[str, GuardTreatment](), list[str]()
    for pair in pairs:
        name, sign, told = (part.strip() for part in pair.partition("="))
        if not sign:
            raise UnknownRule(f"'{pair[:40]}' is not a rule. Write kind=treatment, such as personal=mask.")
        if name == WORD and len(told) < _MIN_WORD:
            raise UnknownRule(f"A word to mask has at least {_MIN_WORD} characters.")
        if name == WORD:
            words.append(told)
            continue
        if name not in NAMES:
            families = ", ".join(family for family in Family if family != WORD)
            raise UnknownRule(
                f"'{name[:40]}' is not a kind of finding. Use a family ({families}), a kind, or {WORD}=TEXT."
            )
        if told not in STRICTNESS:
            raise UnknownRule(f"'{told[:40]}' is not a treatment. Use {', '.join(GuardTreatment)}.")
        rules[name] = GuardTreatment(told)
    return rules, tuple(dict.fromkeys(words))
