"""The browser pages of the memories room: memories, links, relations, the audit log and what was recalled."""

from memories.admin import links, log, memory, recalls, relations

__all__ = ["links", "log", "memory", "recalls", "relations"]
