"""The tables of a run over both databases, and their place in a page."""

import re
from pathlib import Path
from statistics import quantiles
from typing import Any

from bench.proof.report import machine

BEGIN, END = "<!-- databases: written by the runner -->", "<!-- databases: end -->"
Found = dict[str, Any]


def put_tables(page: Path, tables: str) -> None:
    """Put the tables between the page's marks. Raises ValueError where it has none."""
    text = page.read_text(encoding="utf-8")
    place = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.S)
    if not place.search(text):
        raise ValueError(f"{page.name} has no marks {BEGIN} … {END}")
    page.write_text(place.sub(lambda _: f"{BEGIN}\n{tables}\n{END}", text), encoding="utf-8")


def as_tables(measured: dict[int, Found]) -> str:
    """One table of times and rates, and one of approximate indexes where a group is large."""
    names = list(next(iter(measured.values())))
    lines = [
        f"{machine()}.",
        "",
        f"| memories | measured | {' | '.join(names)} |",
        "|---:|---|" + "---:|" * len(names),
    ]
    for size, found in measured.items():
        lines += [f"| {size:,} | {' | '.join(row)} |" for row in _rows([*found.values()])]
    near = [each for found in measured.values() for each in found.get("PostgreSQL", {}).get("near", [])]
    if near:
        lines += [
            "",
            "| vectors in the group | m, ef_construction | ef_search | recall@10 | ms p50 / p95 | exact, ms p50 / p95 | made in s |",
            "|---:|---|---:|---:|---:|---:|---:|",
            *(_near_row(each) for each in near),
        ]
    return "\n".join(lines)


def _rows(databases: list[Found]) -> list[tuple[str, ...]]:
    rows = [
        (f"recall in a group of {group}, ms p50 / p95", *(_ms(each["recall"][group]) for each in databases))
        for group in databases[0]["recall"]
    ]
    rows.append(("store in the largest group, ms p50 / p95", *(_ms(each["store"]) for each in databases)))
    rows += [
        (f"stores/s, {n} client{'s' if n > 1 else ''}", *(f"{each['clients'][n]:.0f}" for each in databases))
        for n in (1, 8)
    ]
    rows.append(("import with embedding, rows/s", *(f"{each['import']:.0f}" for each in databases)))
    if all(each["fill"]["rows/s"] for each in databases):
        filled = (f"{each['fill']['rows/s']:,}" for each in databases)
        rows.append(("rows/s with ready vectors, no log", *filled))
    return rows


def _near_row(each: Found) -> str:
    m, built, searched = each["parameters"]
    made = f"{each['made_s']:.0f}" if each["made_s"] > 1 else "–"
    return (
        f"| {each['rows']:,} | {m}, {built} | {searched} | {each['recall']:.3f} | {_ms(each['ms'])} |"
        f" {_ms(each['exact_ms'])} | {made} |"
    )


def _ms(times: list[float]) -> str:
    cuts = quantiles(times, n=20)
    return f"{cuts[9]:.1f} / {cuts[18]:.1f}"
