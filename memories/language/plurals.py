"""Counts with their noun in the singular or the plural."""


def format_memory_count(count: int) -> str:
    """Count and noun: "1 memory", "7 memories"."""
    return format_count(count, "memory")


def format_count(count: int, noun: str) -> str:
    """Count and noun: "1 link", "7 links"; `noun` is singular."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{count} {noun}es"
    return f"{count} {noun[:-1]}ies" if noun.endswith("ry") else f"{count} {noun}s"


def format_times(count: int) -> str:
    """How often: "once", "7 times"."""
    return "once" if count == 1 else f"{count} times"
