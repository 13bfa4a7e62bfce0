"""Admin pages of groups, memories, links, relations, the audit log, tombstones and recalls."""

from memories.admin import groups, links, log, memory, recalls, relations, tombstones

__all__ = ["groups", "links", "log", "memory", "recalls", "relations", "tombstones"]
