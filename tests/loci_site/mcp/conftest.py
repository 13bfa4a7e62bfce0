"""Fixtures of the tests of tools."""

from tests.loci_site.mcp.people import alice, bob, charlie, groups, users
from tests.model import encoder

__all__ = ["alice", "bob", "charlie", "encoder", "groups", "users"]
