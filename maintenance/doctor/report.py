"""Findings of the doctor: one per check, and the diagnosis that collects them."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.utils.translation import gettext, gettext_noop


class CheckStatus(StrEnum):
    """Outcome of a check."""

    OK = "ok"
    NOTICE = "notice"  # worth knowing, nothing is broken
    WRONG = "wrong"
    SKIPPED = "skipped"  # not part of a quick examination


@dataclass(frozen=True)
class Finding:
    """Result of one check: what was found, what to do about it (empty if nothing), and the duration in seconds."""

    check: str
    verdict: CheckStatus
    detail: str
    advice: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Diagnosis:
    """All findings, and the repairs made before the checks ran."""

    findings: tuple[Finding, ...]
    repairs: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """True if nothing is wrong."""
        return all(finding.verdict is not CheckStatus.WRONG for finding in self.findings)


# Texts are in the language of the page that asks; elsewhere, so in commands, that is English.
REPAIR = gettext_noop("run 'loci doctor --repair'")
MAX_NAMED = 5


def stale_or_ok(check: str, stale: Iterable[object], *, problem: str, fine: str) -> Finding:
    """Finding about derived rows: wrong with the `problem`, which has a place for their {count}, else ok with `fine`."""
    count = sum(1 for _ in stale)
    return wrong(check, problem.format(count=count), gettext(REPAIR)) if count else ok(check, fine)


def ok(check: str, detail: str) -> Finding:
    """Finding of a check that passed."""
    return Finding(check, CheckStatus.OK, detail)


def wrong(check: str, detail: str, advice: str) -> Finding:
    """Finding of something broken."""
    return Finding(check, CheckStatus.WRONG, detail, advice)


def notice(check: str, detail: str, advice: str = "") -> Finding:
    """Finding that is worth knowing, with nothing broken."""
    return Finding(check, CheckStatus.NOTICE, detail, advice)


def first_of(names: list[str]) -> str:
    """The first five names, and the number of further ones."""
    more = len(names) - MAX_NAMED
    named = gettext(", ").join(names[:MAX_NAMED])
    return gettext("{named} and {more} more").format(named=named, more=more) if more > 0 else named
