"""The browser pages of the memories room: memories, links, relations, the audit log, tombstones and what was recalled."""

from memories.admin import links, log, memory, recalls, relations, tombstones

__all__ = ["links", "log", "memory", "recalls", "relations", "tombstones"]
