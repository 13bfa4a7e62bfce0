"""The long proofs: many writers, killed servers, the protocol's conformance.

`python -m bench.proof [NAME ...]` runs them, keeps what they found in `.proof/` and writes it into docs/dev/proof.md.
"""
