"""People, and the real model, loaded once for this test process."""

from tests.model import encoder
from tests.people import alice, bob, charlie, garden, ledger

__all__ = ["alice", "bob", "charlie", "encoder", "garden", "ledger"]
