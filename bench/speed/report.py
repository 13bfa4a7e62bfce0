"""The tables of docs/speed.md: what was measured, beside the bounds of the same run and what is asked for."""

import os
import platform
from typing import Any

Json = dict[str, Any]
# Milliseconds that must hold at the median, by size, and what is aimed at; None where nothing is asked.
ASKED: dict[str, dict[int, tuple[float, float]]] = {
    "recall, whole store": {10_000: (10, 8), 100_000: (14, 11), 1_000_000: (45, 30)},
    "recall, group of 4 %": {10_000: (9, 7), 100_000: (10, 8), 1_000_000: (28, 18)},
    "recall again, whole store": {10_000: (6, 4.5), 100_000: (9, 7), 1_000_000: (25, 18)},
    "typing: the beginning of a word": {100_000: (10, 10)},
    "typing: a mistyped word": {100_000: (10, 10)},
    "store": {10_000: (20, 14), 100_000: (20, 14), 1_000_000: (25, 16)},
}
START_S = {10_000: (2, 1.5), 100_000: (2.5, 2), 1_000_000: (5, 4)}
RESIDENT_MB = {10_000: (400, 300), 100_000: (430, 330), 1_000_000: (550, 430)}
BEGIN, END = "<!-- measured: written by bench.speed -->", "<!-- measured: end -->"


def report(sizes: list[Json]) -> str:
    """The tables of these measurements."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    machine = (
        f"{cores} cores, {platform.machine()}, Python {platform.python_version()}; load average {load:.1f}"
    )
    return "\n".join([f"Machine: {machine}.\n", *(part for size in sizes for part in _size(size))])


def _size(m: Json) -> list[str]:
    count = m["memories"]
    lines = [
        f"### {count:,} memories\n",
        f"One forward of the encoder {m['encoder_ms']:.2f} ms, all sign bits {m['bits_ms']:.3f} ms.\n",
        "| call | p50 ms | p95 ms | must hold → aim (p50) | cpu ms | × encoder | × bits |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, figures in m["calls"].items():
        lines.append(
            f"| {name} | {figures['p50']:.1f} | {figures['p95']:.1f} | {_asked(ASKED.get(name, {}), count)} "
            f"| {figures['cpu']:.1f} | {figures['cpu'] / m['encoder_ms']:.1f} | {figures['cpu'] / m['bits_ms']:.0f} |"
        )
    lines += [
        f"\nProcess start to first recall: {m['start_s']:.2f} s ({_asked(START_S, count)}). "
        f"Memory of the web process: {m['resident_mb']:.0f} MB ({_asked(RESIDENT_MB, count)}).\n",
    ]
    return [*lines, *_lag(m["lag"]), *_loads(m)]


def _lag(lag: Json | None) -> list[str]:
    if lag is None:
        return []
    return [
        f"Stored through one process and asked for in another: found by the first question in {lag['first']} of "
        f"{lag['stored']}; from the store's answer to the answer that has it {lag['p50_ms']:.0f} ms p50, "
        f"{lag['p95_ms']:.0f} ms p95, the question itself included.\n"
    ]


def _loads(m: Json) -> list[str]:
    if not m["loads"]:
        return []
    alone = m["calls"]["recall, whole store"]["p50"]
    lines = [
        f"Eight clients that recall and two that store at once, {m['loads'][0]['seconds']:.0f} s:\n",
        "| web processes | recalls/s | stores/s | recall p50 ms | p95 ms | p95 / p50 of one client | errors "
        "| cores in use | memory, MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    return ["\n".join([*lines, *(_load(load, alone) for load in m["loads"])]) + "\n"]


def _load(load: Json, alone_ms: float) -> str:
    figures = [
        load["processes"],
        f"{load['recalls'] / load['seconds']:.0f}",
        f"{load['stores'] / load['seconds']:.0f}",
        f"{load['p50_ms']:.0f}",
        f"{load['p95_ms']:.0f}",
        f"{load['p95_ms'] / alone_ms:.1f}",
        load["errors"],
        f"{load['cores']:.2f}",
        " + ".join(f"{mb:.0f}" for mb in load["resident_mb"]),
    ]
    return f"| {' | '.join(map(str, figures))} |"


def _asked(asked: dict[int, tuple[float, float]], count: int) -> str:
    if count not in asked:
        return "–"
    must, aim = asked[count]
    return f"{must:g} → {aim:g}"
