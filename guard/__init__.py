"""Sensitive and hostile text: secrets, personal data, hidden characters, injected instructions. Text in, findings out.

Pure: no database, no settings, no network. Each finding names a kind, a span and a confidence, never the value.
`find()` runs in linear time: every pattern goes through RE2, or is a fixed number of lookups per character.
"""

import re

from guard.findings import Door, Family, FindingKind, GuardFinding
from guard.hidden import find_hidden, without_hidden
from guard.injection import find_injections
from guard.masking import mask, without_overlaps
from guard.personal import find_personal
from guard.policy import DEFAULTS, KINDS, WORD, GuardTreatment, Policy, has_instruction, kind_of
from guard.secrets import find_secrets

__all__ = [
    "DEFAULTS",
    "KINDS",
    "Door",
    "Family",
    "FindingKind",
    "GuardFinding",
    "GuardTreatment",
    "Policy",
    "find",
    "find_secrets",
    "has_instruction",
    "kind_of",
    "mask",
    "without_overlaps",
]  # fmt: skip

_HALF_PAIR = re.compile("[\ud800-\udfff]")


def find(text: str, door: Door = Door.AGENT, words: re.Pattern[str] | None = None) -> list[GuardFinding]:
    """Everything sensitive or hostile in a text that comes in at a door, in order; hidden characters do not hide the rest.

    `words` finds what a group masks besides (guard.policy.Policy.words).
    Secrets and personal data do not overlap (the surer finding stays); they may overlap with instructions and with hidden
    characters.
    """
    if not text.isascii():
        text = _HALF_PAIR.sub("\ufffd", text)  # RE2 reads UTF-8, which has no lone surrogates
    plain, places = without_hidden(text)
    found = [*find_secrets(plain), *find_personal(plain)]
    if words is not None:
        found += (GuardFinding(WORD, match.span(), 1.0) for match in words.finditer(plain))
    if len(found) > 1:
        found = without_overlaps(found)
    found += find_injections(plain, door)
    if places is not None:
        found = [
            GuardFinding(each.kind, (places[each.span[0]], places[each.span[1] - 1] + 1), each.confidence)
            for each in found
        ]
    if not text.isascii():
        found += find_hidden(text)
    return sorted(found, key=lambda each: each.span) if len(found) > 1 else found
