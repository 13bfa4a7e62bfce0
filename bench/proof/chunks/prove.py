"""Proof: the chunk size of the vector table is the right one for many small groups and for one large one."""

from dataclasses import asdict
from typing import Any

from tqdm import tqdm

from bench.proof.chunks.measure import CHUNK_SIZES, MANY_SMALL, ONE_LARGE, Layout, compare, size_in_use
from bench.proof.proof import Finding, Workshop

# Another size is better when one of its four costs is this much lower and none is higher than NO_WORSE.
BETTER, NO_WORSE = 0.8, 1.05
RATIOS = ("file_ratio", "query_ratio")


def prove_chunks(workshop: Workshop) -> Finding:
    """Measure every size in both layouts beside the size in use."""
    layouts: dict[str, Layout] = workshop.pick(
        {"1,000 groups × 10": MANY_SMALL, "1 group × 50,000": ONE_LARGE},
        {"100 groups × 10": Layout(100, 10, 10), "1 group × 5,000": Layout(1, 5000, 5)},
    )
    found = workshop.done()
    with tqdm(total=len(CHUNK_SIZES) * len(layouts), desc="chunks", unit="table") as bar:
        for size in CHUNK_SIZES:
            for name, layout in layouts.items():
                step = f"{size}, {name}"
                if step not in found:
                    found[step] = asdict(compare(size, layout, workshop.folder))
                    workshop.note(step, found[step])
                bar.update()
    return Finding(_numbers(found), tuple(_faults(found)))


def _numbers(found: dict[str, Any]) -> dict[str, Any]:
    return {
        f"chunk_size {step}": (
            f"{costs['file_mb']:,.1f} MB (× {costs['file_ratio']:.2f}), "
            f"{costs['query_ms']:.2f} ms (× {costs['query_ratio']:.2f})"
        )
        for step, costs in found.items()
    }


def _faults(found: dict[str, Any]) -> list[str]:
    """Name the sizes that would be better than the one in use."""
    faults = []
    for size in CHUNK_SIZES:
        costs = [cost for step, cost in found.items() if step.startswith(f"{size},")]
        ratios = [cost[name] for cost in costs for name in RATIOS]
        if size != size_in_use() and max(ratios) <= NO_WORSE and min(ratios) <= BETTER:
            faults.append(f"chunk_size {size} is better than {size_in_use()}: {costs}")
    return faults
