"""Anthropic's memory tool (`memory_20250818`) on a Loci server: what Claude writes under /memories, the team reads."""

from loci_team_memory_anthropic.tool import AsyncLociMemoryTool, LociMemoryTool

__all__ = ["AsyncLociMemoryTool", "LociMemoryTool"]
