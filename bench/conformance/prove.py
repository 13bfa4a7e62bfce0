"""Proof: the protocol's own conformance suite finds every required scenario green."""

from typing import Any

from bench.conformance.suite import ScenarioResult, run_suite
from bench.proof.proof import Finding, Workshop

REVISION = "2026-07-28"


def prove_conformance(workshop: Workshop) -> Finding:
    """Run the suite whole; it has no small form and takes seconds."""
    return judge(run_suite(REVISION))


def judge(results: list[ScenarioResult]) -> Finding:
    """Only required scenarios count; each failed check of one is a fault."""
    required = [result for result in results if result.is_required]
    others = [result for result in results if not result.is_required]
    faults = [
        f"{result.name}: {text}"
        for result in required
        for text in result.failures or ("nothing was checked",)
        if not result.is_green
    ]
    numbers: dict[str, Any] = {
        "requirement set": REVISION,
        "required scenarios": len(required),
        "of these green": sum(result.is_green for result in required),
        "checks passed in them": sum(result.passed for result in required),
        "scenarios not scored": len(others),
        "not scored and green": sum(result.is_green for result in others),
    }
    return Finding(numbers, (*faults, *([] if required else ["the suite has no required scenario"])))
