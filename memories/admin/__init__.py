"""Admin pages of memories, relations, the audit log, tombstones and recalls."""

from memories.admin import log, memory, recalls, relations, tombstones

__all__ = ["log", "memory", "recalls", "relations", "tombstones"]
