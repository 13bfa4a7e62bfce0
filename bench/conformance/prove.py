"""Proof: the protocol's own conformance suite finds every required scenario green."""

from tqdm import tqdm

from bench.conformance.suite import SuiteError, run_suite
from bench.proof.proof import Finding, ProofError, Workshop

REVISION = "2026-07-28"


def prove_conformance(workshop: Workshop) -> Finding:
    """Run the suite whole; it has no small form and takes seconds."""
    with tqdm(desc="conformance", unit="step") as bar:

        def show(text: str) -> None:
            bar.set_postfix_str(text)
            bar.update()

        try:
            results = run_suite(REVISION, progress=show)
        except SuiteError as error:
            raise ProofError(str(error)) from error
    required = [result for result in results if result.is_required]
    others = [result for result in results if not result.is_required]
    failures = [
        f"{r.name}: {text}"
        for r in required
        for text in r.failures or ("nothing was checked",)
        if not r.is_green
    ]
    numbers = {
        "requirement set": REVISION,
        "required scenarios": len(required),
        "of these green": sum(result.is_green for result in required),
        "checks passed in them": sum(result.passed for result in required),
        "scenarios not scored": len(others),
        "not scored and green": sum(result.is_green for result in others),
    }
    if not required:
        failures.append("the suite has no required scenario")
    return Finding(numbers, tuple(failures))
