"""Admin pages of groups, memories, relations, the audit log, tombstones and recalls."""

from memories.admin import groups, log, memory, recalls, relations, tombstones

__all__ = ["groups", "log", "memory", "recalls", "relations", "tombstones"]
