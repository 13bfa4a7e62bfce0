"""The kinds that the detectors know, by name."""

from collections.abc import Iterable
from typing import Final

from guard.findings import Family, FindingKind
from guard.secrets.rules import RULES

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
SECRET_KINDS: Final = tuple(
    dict.fromkeys(
        FindingKind(rule.kind, Family.GUESSED if rule.is_guess else Family.SECRET, rule.label)
        for rule in RULES
    )
)
KINDS: Final = {
    kind.name: kind for kind in (*SECRET_KINDS, *PERSONAL_KINDS, *HIDDEN_KINDS, *INJECTION_KINDS, *WORD_KINDS)
}


def kind_of(name: str) -> FindingKind:
    """The kind of this name."""
    return KINDS[name]


def has_instruction(kinds: Iterable[str]) -> bool:
    """True if one of the kinds, by name, is an instruction to an AI: found by patterns, by signs or by a classifier."""
    return any(kind_of(name).family is Family.INJECTION for name in kinds)
