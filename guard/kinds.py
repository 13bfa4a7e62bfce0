"""The kinds that the detectors know, by name."""

from typing import Final

from guard.findings import Family, Kind
from guard.secrets.rules import RULES

HIDDEN_KINDS: Final = (
    Kind("hidden-text", Family.HIDDEN, "hidden characters"),
    Kind("hidden-message", Family.HIDDEN, "a hidden message"),
    Kind("look-alike-letters", Family.HIDDEN, "letters of two scripts in one word"),
)
PERSONAL_KINDS: Final = (
    Kind("email-address", Family.PERSONAL, "e-mail address"),
    Kind("phone-number", Family.PERSONAL, "phone number"),
    Kind("card-number", Family.PERSONAL, "card number"),
    Kind("iban", Family.PERSONAL, "bank account (IBAN)"),
    Kind("national-id", Family.PERSONAL, "national identity or tax number"),
    Kind("ip-address", Family.PERSONAL, "public IP address"),
)
INJECTION_KINDS: Final = (
    Kind("injected-instruction", Family.INJECTION, "an instruction to an AI"),
    Kind("prompt-markup", Family.INJECTION, "markup of a prompt"),
)
SECRET_KINDS: Final = tuple(
    dict.fromkeys(
        Kind(rule.kind, Family.GUESSED if rule.is_guess else Family.SECRET, rule.label) for rule in RULES
    )
)
KINDS: Final = {kind.name: kind for kind in (*SECRET_KINDS, *PERSONAL_KINDS, *HIDDEN_KINDS, *INJECTION_KINDS)}


def kind_of(name: str) -> Kind:
    """The kind of this name."""
    return KINDS[name]
