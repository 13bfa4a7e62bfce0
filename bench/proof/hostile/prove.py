"""The proof "hostile": loads, a full disk, damaged pages and forged backups."""

from typing import Any

from bench.proof.hostile.disk import prove_disk
from bench.proof.hostile.load import prove_load
from bench.proof.proof import Finding, Workshop


def prove_hostile(workshop: Workshop) -> Finding:
    """Every part in a home of its own; a stopped run goes on with the part that it was in."""
    found: dict[str, Any] = workshop.done()
    for name, part in (("load", prove_load), ("disk", prove_disk)):
        if name not in found:
            finding = part(workshop)
            found[name] = {"numbers": finding.numbers, "faults": finding.faults}
            workshop.note(name, found[name])
    numbers = {name: value for part in found.values() for name, value in part["numbers"].items()}
    return Finding(numbers, tuple(fault for part in found.values() for fault in part["faults"]))
