"""Counts in words, so that one is not told of as many."""


def format_memory_count(count: int) -> str:
    """Give "1 memory" or "7 memories"."""
    return format_count(count, "memory")


def format_count(count: int, noun: str) -> str:
    """Give "1 link" or "7 links"; the noun is told of one alone."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{count} {noun}es"
    return f"{count} {noun[:-1]}ies" if noun.endswith("ry") else f"{count} {noun}s"
