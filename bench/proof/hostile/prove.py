"""The proof "hostile": loads, a full disk, damaged pages and forged backups."""

from bench.proof.hostile.load import prove_load
from bench.proof.proof import Finding, Workshop


def prove_hostile(workshop: Workshop) -> Finding:
    """Every part in a home of its own."""
    return prove_load(workshop)
