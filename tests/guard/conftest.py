"""Alice, who owns the group ledger."""

from tests.people import alice, ledger

__all__ = ["alice", "ledger"]
