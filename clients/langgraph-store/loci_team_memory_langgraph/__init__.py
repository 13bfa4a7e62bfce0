"""LangGraph's long-term store on a Loci server: what graphs put there, the team reads and corrects."""

from loci_team_memory_langgraph.store import LociStore

__all__ = ["LociStore"]
