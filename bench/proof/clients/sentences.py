"""Distinct things to remember, made from a number: the same number gives the same text, two numbers two texts."""

from dataclasses import asdict, dataclass
from typing import Any

PEOPLE = ("Anna", "Bruno", "Chiara", "Deniz", "Emeka", "Freya", "Goran", "Hana", "Ines", "Jonas", "Kofi")
DEEDS = (
    "moved the ledger to",
    "measured the latency of",
    "wrote the runbook for",
    "found the leak in",
    "turned off alerts of",
    "reviewed the budget of",
    "agreed on a deadline for",
)
THINGS = (
    "the billing service",
    "the search cluster",
    "the mobile build",
    "the invoice archive",
    "the training pipeline",
    "the staging database",
    "the customer portal",
    "the warehouse scanner",
    "the payroll export",
    "the map renderer",
    "the release notes",
    "the load balancer",
    "the consent form",
)
REASONS = (
    "because the auditors asked",
    "after the outage in spring",
    "before the contract ends",
    "since nobody owned it",
    "so that night shifts sleep",
)
TYPES = ("semantic", "episodic", "procedural")
GROUPS = ("harbour", "orchard")


@dataclass(frozen=True)
class Job:
    """One memory to be stored, as the arguments of store_memory."""

    content: str
    type: str
    group: str
    scope: str
    thread: str

    def arguments(self) -> dict[str, Any]:
        """What a client sends; an empty thread is left out."""
        return {name: value for name, value in asdict(self).items() if value}


def sentence(number: int) -> str:
    """The text with this number."""
    words = (series[number % len(series)] for series in (PEOPLE, DEEDS, THINGS, REASONS))
    person, deed, thing, reason = words
    return f"{person} {deed} {thing} {reason}, ticket {10_000 + number}."


def jobs(amount: int, *, start: int = 0, threads: int = 4) -> list[Job]:
    """`amount` memories in two groups, of three types; those of type episodic belong to `threads` threads."""
    return [_job(number, threads) for number in range(start, start + amount)]


def _job(number: int, threads: int) -> Job:
    type_ = TYPES[number % len(TYPES)]
    thread = f"talk {number // len(TYPES) % threads}" if type_ == "episodic" else ""
    return Job(sentence(number), type_, GROUPS[number % len(GROUPS)], "group", thread)
