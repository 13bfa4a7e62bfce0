"""The proof "hostile": loads, a full disk, damaged pages and forged backups."""

from dataclasses import asdict
from typing import Any

from bench.proof.hostile.disk import prove_disk
from bench.proof.hostile.load import prove_load
from bench.proof.proof import Finding, Workshop


def prove_hostile(workshop: Workshop) -> Finding:
    """Every part in a home of its own; a stopped run goes on with the part that it was in."""
    found: dict[str, Any] = workshop.steps(
        {"load": lambda: asdict(prove_load(workshop)), "disk": lambda: asdict(prove_disk(workshop))}
    )
    numbers = {name: value for part in found.values() for name, value in part["numbers"].items()}
    return Finding.of(found, numbers)
