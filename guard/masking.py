"""Masks in the place of values: `[aws-access-key:3f9c]`. The fingerprint is keyed, so two values stay two facts."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Final

from guard.findings import Family, GuardFinding
from guard.hidden import in_plain_sight
from guard.policy import kind_of

_ORDER: Final = {
    Family.SECRET: 0, Family.GUESSED: 1, Family.HIDDEN: 2, Family.WORD: 3, Family.INJECTION: 4, Family.PERSONAL: 5,
}  # fmt: skip


def without_overlaps(findings: Iterable[GuardFinding]) -> list[GuardFinding]:
    """The findings in order of place; of those that overlap, the one of the graver family, then the surer, then longer."""
    kept: list[GuardFinding] = []
    ranked = sorted(
        findings,
        key=lambda f: (_ORDER[kind_of(f.kind).family], -f.confidence, f.span[0] - f.span[1], f.span[0]),
    )
    taken: list[tuple[int, int]] = []
    for finding in ranked:
        start, end = finding.span
        at = bisect_right(taken, start, key=itemgetter(0))
        is_free = (at == 0 or taken[at - 1][1] <= start) and (at == len(taken) or end <= taken[at][0])
        if is_free:
            taken.insert(at, finding.span)
            kept.append(finding)
    return sorted(kept, key=lambda f: f.span)


def mask(
    text: str, findings: Iterable[GuardFinding], *, fingerprint: Callable[[str], str], spells: bool = True
) -> str:
    """The text with each value replaced by its kind and keyed fingerprint; hidden characters go, or with `spells` are spelt out.

    `fingerprint` maps a value to a few hexadecimal digits.
    """
    parts: list[str] = []
    at = 0
    for finding in without_overlaps(findings):
        start, end = finding.span
        value = text[start:end]
        is_hidden = kind_of(finding.kind).family is Family.HIDDEN
        shown = (
            (in_plain_sight(value) if spells else "")
            if is_hidden
            else f"[{finding.kind}:{fingerprint(value)}]"
        )
        parts += (text[at:start], shown)
        at = end
    parts.append(text[at:])
    return "".join(parts)
