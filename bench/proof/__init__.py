"""The long proofs: many writers, killed servers, the protocol's conformance, the vector table's chunk size.

`python -m bench.proof [NAME ...]` runs them, keeps what they found in `.proof/` and writes it into docs/proof.md.
"""
