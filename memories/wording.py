"""Counts in words, so that one is not told of as many."""


def memories_said(count: int) -> str:
    """Give "1 memory" or "7 memories"."""
    return "1 memory" if count == 1 else f"{count} memories"
