"""Proof: in a year of weekly cycles beside writers and readers nothing is lost, and the cost stays in proportion."""

import json
import sys
from typing import Any

from tqdm import tqdm

from bench.proof.home import Home, make_home, open_home, run
from bench.proof.proof import Finding, Workshop

WEEKS = 52
MEMORIES = 20_000
DEEP_EVERY = 13  # weeks: then every row is looked at by itself
SHOWN_WEEKS = (4, 13, 26, 39, 52)
# Cost per memory at the year's end, against that of its first quarter. Room for a busy machine, none for a square.
GROWTH_AT_MOST = 2.0


def prove_year(workshop: Workshop) -> Finding:
    """Live the weeks one after the other, each in a process of its own; go on where an earlier run was stopped."""
    weeks, memories = workshop.pick((WEEKS, MEMORIES), (6, 600))
    found = workshop.done()
    home = open_home(workshop.folder / "home-year") if found else make_home(workshop.folder / "home-year")
    with tqdm(total=weeks, desc="year", unit="week") as bar:
        for week in range(weeks):
            step = f"week {week}"
            if step not in found:
                is_deep = (week + 1) % DEEP_EVERY == 0 or week == weeks - 1
                found[step] = _live(home, week, memories // weeks, is_deep=is_deep)
                workshop.note(step, found[step])
            bar.set_postfix_str(f"{found[step]['memories']} memories")
            bar.update()
    rows = [found[f"week {week}"] for week in range(weeks)]
    faults = [f"week {week + 1}: {fault}" for week, row in enumerate(rows) for fault in row["faults"]]
    return Finding(_numbers(rows), tuple(faults + _growth(rows)))


def _live(home: Home, week: int, amount: int, *, is_deep: bool) -> dict[str, Any]:
    told = json.dumps({"week": week, "amount": amount, "is_deep": is_deep})
    seen: dict[str, Any] = json.loads(
        run([sys.executable, "-m", "bench.proof.cycle.year_week"], home.path, sent=told)
    )
    return seen


def _cost(row: dict[str, Any]) -> float:
    """The seconds that a day's cycle takes for each thousand live memories."""
    return float(1000 * row["day_s"] / max(row["live"], 1))


def _growth(rows: list[dict[str, Any]]) -> list[str]:
    quarter = max(len(rows) // 4, 1)
    early = sorted(map(_cost, rows[quarter : 2 * quarter]))[quarter // 2]
    late = sorted(map(_cost, rows[-quarter:]))[quarter // 2]
    if late <= GROWTH_AT_MOST * early:
        return []
    return [f"a cycle costs {late / early:.1f} times as much per memory at the end as in the second quarter"]


def _numbers(rows: list[dict[str, Any]]) -> dict[str, Any]:
    last = rows[-1]
    counts: dict[str, int] = {}
    for row in rows:
        for name, count in row["counts"].items():
            counts[name] = counts.get(name, 0) + count
    shown = [week for week in SHOWN_WEEKS if week <= len(rows)]
    table = {
        f"after week {week}: live of all, cycle of a day later, its undo": (
            f"{rows[week - 1]['live']:,} of {rows[week - 1]['memories']:,}, "
            f"{rows[week - 1]['day_s']:.1f} s, {rows[week - 1]['undo_s']:.1f} s"
        )
        for week in shown
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
