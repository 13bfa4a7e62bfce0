"""Secrets: one pass over the text for the words that announce them, then the rules that those words belong to."""

from collections.abc import Iterable
from typing import Final

from guard.escapes import Reading, pieced_together, unescaped
from guard.findings import GuardFinding
from guard.patterns import Keywords
from guard.secrets.checks import CHECKS, is_filler
from guard.secrets.guesses import find_password, find_secret
from guard.secrets.rules import RULES, SecretRule

NEAR_CHARS: Final = 100  # a word that must stand near the value may be this far away
SURE: Final = 0.95
LIKELY: Final = 0.85  # the format is common, and a word near it names the provider
GUESSED: Final = 0.6
_WORDS = Keywords((word, number) for number, rule in enumerate(RULES) for word in rule.words)
_GUESSES: Final = {"password": find_password, "secret": find_secret}


def find_secrets(text: str) -> list[GuardFinding]:
    """The secrets in a text, also escaped, in pieces or in Base64; overlapping findings are left in, the surest rules first."""
    found = search(text)
    if (reading := unescaped(text)) is not None:
        found += _others(reading, found, at_least=GUESSED)
    if (reading := pieced_together(text)) is not None:
        found += _others(reading, found, at_least=SURE)
    return found


def _others(reading: Reading, found: list[GuardFinding], *, at_least: float) -> list[GuardFinding]:
    """What another reading of the text holds and the text itself does not show as surely."""
    others: list[GuardFinding] = []
    for each in search(reading.text):
        span = reading.span(each.span)
        known = (known.span for known in (*found, *others) if known.confidence >= each.confidence)
        if each.confidence >= at_least and not _overlaps(span, known):
            others.append(GuardFinding(each.kind, span, each.confidence))
    return others


def search(text: str) -> list[GuardFinding]:
    """The secrets in a text as it is written; overlapping findings are left in, the surest rules first."""
    found: list[GuardFinding] = []
    taken: list[tuple[int, int]] = []
    for number in sorted(_WORDS.owners(text)):
        rule = RULES[number]
        if rule.guess:
            spans = [span for span in _GUESSES[rule.guess](text) if not _overlaps(span, taken)]
            confidence = GUESSED
        else:
            spans = [span for span in rule.pattern.spans(text) if holds(rule, text, span)]
            confidence = LIKELY if rule.near else SURE
        for span in spans:
            if not _overlaps(span, taken):
                taken.append(span)
                found.append(GuardFinding(rule.kind, span, confidence))
    return found


def holds(rule: SecretRule, text: str, span: tuple[int, int]) -> bool:
    """True if what a rule's pattern found is a value and no placeholder, and stands near the right words."""
    start, end = span
    value = text[start:end]
    if is_filler(value):
        return False
    if rule.near:
        around = text[max(0, start - NEAR_CHARS) : end + NEAR_CHARS].lower()
        if not any(word in around for word in rule.near):
            return False
    return all(CHECKS[check](text, start, end) for check in rule.checks)


def _overlaps(span: tuple[int, int], taken: Iterable[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)
