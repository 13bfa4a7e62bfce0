"""Proof: in a year of weekly cycles beside writers and readers nothing is lost, and the cost stays in proportion."""

from collections import Counter
from functools import partial
from typing import Any

from bench.proof.home import make_home, open_home
from bench.proof.proof import Finding, Workshop

WEEKS = 52
MEMORIES = 20_000
DEEP_EVERY = 13  # weeks: then every row is looked at by itself
SHOWN_WEEKS = (4, 13, 26, 39, 52)
# Cost per memory at the year's end, against that of its first quarter. Room for a busy machine, none for a square.
GROWTH_AT_MOST = 2.0
FEW = 3  # weeks of a quarter


def prove_year(workshop: Workshop) -> Finding:
    """Live the weeks one after the other, each in a process of its own; go on where an earlier run was stopped."""
    weeks, memories = workshop.pick((WEEKS, MEMORIES), (6, 600))
    path = workshop.folder / "home-year"
    home = open_home(path) if workshop.done() else make_home(path)

    def live(week: int) -> dict[str, Any]:
        is_deep = (week + 1) % DEEP_EVERY == 0 or week == weeks - 1
        seen: dict[str, Any] = home.ask(
            "proof.cycle.year_week:live_a_week", week=week, amount=memories // weeks, is_deep=is_deep
        )
        return seen

    found = workshop.steps({f"week {week + 1}": partial(live, week) for week in range(weeks)})
    rows = [*found.values()]
    finding = Finding.of(found, _numbers(rows))
    return Finding(finding.numbers, (*finding.faults, *_growth(rows)))


def _cost(row: dict[str, Any]) -> float:
    """The seconds that a day's cycle takes for each thousand live memories."""
    return float(1000 * row["day_s"] / max(row["live"], 1))


def _growth(rows: list[dict[str, Any]]) -> list[str]:
    quarter = len(rows) // 4
    if quarter < FEW:  # one week that writes a summary tells nothing
        return []
    early = sorted(map(_cost, rows[quarter : 2 * quarter]))[quarter // 2]
    late = sorted(map(_cost, rows[-quarter:]))[quarter // 2]
    if late <= GROWTH_AT_MOST * early:
        return []
    return [f"a cycle costs {late / early:.1f} times as much per memory at the end as in the second quarter"]


def _numbers(rows: list[dict[str, Any]]) -> dict[str, Any]:
    last = rows[-1]
    counts = sum((Counter(row["counts"]) for row in rows), Counter[str]())
    table = {
        f"after week {week}: live of all, cycle of a day later, its undo": (
            f"{row['live']:,} of {row['memories']:,}, {row['day_s']:.1f} s, {row['undo_s']:.1f} s"
        )
        for week, row in enumerate(rows, 1)
        if week in SHOWN_WEEKS
    }
    return {
        "weeks": len(rows),
        "memories stored": last["memories"],
        **{f"{name} in the year": count for name, count in sorted(counts.items())},
        **table,
        "cycle beside 4 writers and 4 readers, last week": f"{last['busy_s']:.1f} s",
        "longest write lock of a batch": f"{max(row['lock_ms'] for row in rows)} ms",
        "largest process": f"{max(row['rss_mb'] for row in rows)} MB",
        "runs taken back exactly": sum(not row["faults"] for row in rows),
    }
