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
    "store": {10_000: (20, 14), 100_000: (20, 14), 1_000_000: (25, 16)},
}
START_S = {10_000: (2, 1.5), 100_000: (2.5, 2), 1_000_000: (5, 4)}
RESIDENT_MB = {10_000: (400, 300), 100_000: (430, 330), 1_000_000: (550, 430)}
HEAD = """# Speed

What a recall and a store cost, end to end over HTTP MCP, on made-up memories. Regenerate this page with
`make bench ARGS="--sizes 10k,100k --report docs/speed.md"`; `1m` works as well and takes an hour.

## What is measured
The texts are fresh sentences over 60,000 words that are spread as words are in real text; 3,200 of them are embedded for
real, and a memory's vector is a mixture of two of its topic's with noise. 90 % of the memories are in one group (“whole
store”), 4 % in another, the rest in sixty. Every question is new to the server, except for “again”, where the same ones
come a second time: their vectors are remembered, nothing else is.

`p50` and `p95` are the client's times on the clock. `cpu` is the server's CPU time for one call, which other work on the
machine moves less. `× encoder` is that CPU time over one forward of the encoder over a question, and `× bits` over one
reading of all sign bits, both measured in the same run: nothing new can be asked in less than the two together.

## What makes it quick
- **Vectors in memory** (`memories/index/bits.py`). Each process that searches keeps the signs of every vector, 48 bytes,
  and what a search filters by; while they fit `storage.vector_memory_mb`, the vectors as well. A search marks the rows
  that may be seen, ranks them by their signs, and compares the best several hundred exactly. Triggers write each change
  to `index_change`, and a search reads what came since: what another process committed is found by the next search.
  Inside a transaction, in a process that has asked fewer than four times, and while vectors are being read, vec0 answers.
- **Rights stay in the rows.** The marks are a first cut; the rows themselves say which of the best may be seen, in one
  statement, and where too few are left both searches look four times further. So a filter loses nothing, whatever it asks.
- **Words** (`memories/index/sqlite_both.py`). A small group is named inside the match; of a large one the first hits are
  looked at and checked. One statement gives the best hits and the scores of those that are near in meaning. In a store of
  more than 25,000 pieces, a question's most common words are left out once the others match as many texts.
- **Queries that every call passes are compiled once** (`access/prepared.py`): a token is looked up for each call, so that
  a revoked one ends at once, in a tenth of a millisecond.
- **`/mcp` passes Django's request cycle by** (`loci_site/mcp/mount.py`) where a request has nothing to be judged: POST, an
  allowed host, no Origin, a valid token. Anything else goes through Django, which makes each refusal.
- **The trace is told only when somebody asks**: each step notes how to give its numbers, and `explain` calls that.

## What a store costs
Before and after its statements were compiled once: in one process on the store of 10,000 memories, texts of 64 tokens, the
median CPU time of 120 calls (`time.process_time`) on a machine with other work on it. The encoder's forward is the same in
both and left out; it was 16 ms there.

| store | statements | CPU ms before | CPU ms after |
|---|---|---|---|
| in the group of 90 % | 28 → 21 | 15.7 | 8.2 |
| in the group of 4 % | 28 → 21 | 14.5 | 7.1 |
| as the next turn of a conversation | 35 → 27 | 25.2 | 10.7 |
| beside near ones (5.6 told) | 30 → 23 | 17.0 | 10.1 |
| import of ready vectors | – | 0.80 (1,260 rows a CPU second) | 0.54 (1,850) |
| import of ready vectors with `source_ref` | – | 0.91 (1,100) | 0.59 (1,690) |

A text that is stored already is looked up by its hash, and a source by its name. Both name what their index leaves out or
leave the group to Python, since without that SQLite would rather read the whole group; a test looks at each plan. Rows are
inserted sixteen in a statement. Of an import's CPU time SQLite's statements take a fifth; the rest is counting tokens, the
rows' objects, their audit rows, and the commit: 8,000 rows a second are not reached.
"""


def report(sizes: list[Json]) -> str:
    """Give the page for these measurements."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    machine = (
        f"{cores} cores, {platform.machine()}, Python {platform.python_version()}; load average {load:.1f}"
    )
    return "\n".join([HEAD, f"Machine: {machine}.\n", *(part for size in sizes for part in _size(size))])


def _size(m: Json) -> list[str]:
    count = m["memories"]
    lines = [
        f"## {count:,} memories\n",
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
    return [*lines, *_load(m["load"])]


def _load(load: Json | None) -> list[str]:
    if load is None:
        return []
    return [
        f"Eight clients that recall and two that store, {load['seconds']:.0f} s: "
        f"{load['recalls'] / load['seconds']:.0f} recalls and {load['stores'] / load['seconds']:.0f} stores a second, "
        f"recall p50 {load['p50_ms']:.0f} ms, p95 {load['p95_ms']:.0f} ms, {load['errors']} errors.\n"
    ]


def _asked(asked: dict[int, tuple[float, float]], count: int) -> str:
    if count not in asked:
        return "–"
    must, aim = asked[count]
    return f"{must:g} → {aim:g}"
