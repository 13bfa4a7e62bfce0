"""Proof: a diary is answered at every age as on its first day, from fewer rows and in fewer tokens."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.proof.home import make_home, open_home
from bench.proof.proof import Finding, Workshop

DIARIES: Final = Path(__file__).parent / "diaries"
# Names a folder with the same files about a chat, which may not be copied here.
_CHAT: Final = "LOCI_PROOF_CHAT"
WEEKS: Final = 52
# The numbers of weekly cycles after which the questions are asked, and how old the last entry is then.
DAYS: Final = {0: 0, 5: 31, 17: 120, WEEKS: 365}
KEPT_AT_LEAST: Final = 0.99
LIVE_AT_MOST: Final = 0.30
TOKENS_AT_MOST: Final = 0.50


def prove_diaries(workshop: Workshop) -> Finding:
    """Store each diary as it happened, let a year of weekly cycles pass, and ask the same questions again and again."""
    folders = [DIARIES / "tickets", DIARIES / "commits"]
    if chat := os.environ.get(_CHAT):
        folders.append(Path(chat).absolute())
    numbers: dict[str, Any] = {}
    faults: list[str] = []
    for folder in folders[: workshop.pick(3, 1)]:
        seen = _live_through(workshop, folder)
        numbers |= {f"{folder.name}: {what}": number for what, number in _numbers(seen).items()}
        faults += [f"{folder.name}: {fault}" for fault in _faults(seen)]
    return Finding(numbers, tuple(faults))


def _live_through(workshop: Workshop, folder: Path) -> dict[int, dict[str, Any]]:
    """What was seen of a diary after each of these numbers of weeks."""
    path = workshop.folder / f"home-{folder.name}"
    name = f"{folder.name}, stored"
    home = open_home(path) if name in workshop.done() else make_home(path)
    weeks = list(DAYS) if not workshop.is_quick else [0, 5]
    limit = workshop.pick(None, 100)

    def live(until: int, since: int) -> dict[str, Any]:
        seen: dict[str, Any] = home.ask(
            "proof.cycle.diary_year:live",
            folder=str(folder),
            since=since,
            until=until,
            day=DAYS[until],
            limit=limit,
        )
        return seen

    steps = {name: partial(home.ask, "proof.cycle.diary_year:store_all", folder=str(folder), limit=limit)}
    for since, until in zip([0, *weeks], weeks, strict=False):
        steps[f"{folder.name}, day {DAYS[until]}"] = partial(live, until, since)
    found = workshop.steps(steps)
    return {until: found[f"{folder.name}, day {DAYS[until]}"] for until in weeks}


def _numbers(seen: dict[int, dict[str, Any]]) -> dict[str, Any]:
    first = seen[0]
    table = {
        "entries": first["rows"],
        "questions": len(first["answered"]),
        "answered on day 0": len(_known(first)),
    }
    for weeks, then in seen.items():
        if weeks:
            kept = len(_known(first) & _known(then))
            table[f"day {DAYS[weeks]}: still answered; live rows; tokens of what collects"] = (
                f"{kept} of {len(_known(first))}; {then['live']} of {first['live']}; "
                f"{then['tokens'] / max(first['tokens'], 1):.0%}, of the entries {then['collected'] / max(first['collected'], 1):.0%}"
            )
    return table


def _known(seen: dict[str, Any]) -> set[str]:
    return {question for question, is_answered in seen["answered"].items() if is_answered}


def _faults(seen: dict[int, dict[str, Any]]) -> Iterator[str]:
    first, last = seen[0], seen[max(seen)]
    for weeks, then in seen.items():
        lost = sorted(_known(first) - _known(then))
        if len(lost) > (1 - KEPT_AT_LEAST) * len(_known(first)):
            yield f"day {DAYS[weeks]}: {len(lost)} of {len(_known(first))} are no longer answered: {'; '.join(lost[:5])}"
        if unfound := {*first["found"]} - {*then["found"]}:
            yield f"day {DAYS[weeks]}: {len(unfound)} entries are no longer found by their words: {', '.join(sorted(unfound)[:5])}"
        yield from (f"day {DAYS[weeks]}: {fault}" for fault in then["faults"])
    if max(seen) == WEEKS:
        if last["live"] > LIVE_AT_MOST * first["live"]:
            yield f"{last['live']} of {first['live']} rows are still listed"
        if last["tokens"] > TOKENS_AT_MOST * first["tokens"]:
            yield f"an answer that collects still has {last['tokens'] / first['tokens']:.0%} of its tokens"
