"""Admin pages of memories, links, relations, the audit log, tombstones and recalls."""

from memories.admin import links, log, memory, recalls, relations, tombstones

__all__ = ["links", "log", "memory", "recalls", "relations", "tombstones"]
