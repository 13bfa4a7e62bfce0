"""What the doctor says: one finding for each check, and all of them together."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class CheckStatus(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTICE = "notice"  # worth knowing, nothing is broken
    WRONG = "wrong"
    SKIPPED = "skipped"  # a quick look leaves it out


@dataclass(frozen=True)
class Finding:
    """One check: what was looked at, how it is, what to do about it (empty where nothing), and how long it took."""

    check: str
    verdict: CheckStatus
    detail: str
    advice: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found, and what was repaired before that."""

    findings: tuple[Finding, ...]
    repairs: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """True where nothing is wrong."""
        return all(finding.verdict is not CheckStatus.WRONG for finding in self.findings)


REPAIR = "run 'loci doctor --repair'"
MAX_NAMED = 5


def stale_or_ok(check: str, stale: Iterable[object], *, said: str, fine: str) -> Finding:
    """Give the finding of a check of what repair() makes anew: how many rows are stale, and what is `said` of them."""
    count = sum(1 for _ in stale)
    return wrong(check, f"{count} {said}", REPAIR) if count else ok(check, fine)


def ok(check: str, detail: str) -> Finding:
    """Give the finding of a check that found nothing."""
    return Finding(check, CheckStatus.OK, detail)


def wrong(check: str, detail: str, advice: str) -> Finding:
    """Give the finding of a check that found something broken."""
    return Finding(check, CheckStatus.WRONG, detail, advice)


def notice(check: str, detail: str, advice: str = "") -> Finding:
    """Give a finding that is worth knowing."""
    return Finding(check, CheckStatus.NOTICE, detail, advice)


def first_of(named: list[str]) -> str:
    """Name the first few, and say how many more there are."""
    more = len(named) - MAX_NAMED
    return ", ".join(named[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
