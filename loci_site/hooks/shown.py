"""Captures as a terminal shows them, on the server and on a machine with the client alone. Standard library only."""

from typing import Any, Final

_ID_CHARS: Final = 8  # as memories.models.short_id has it


def captured_lines(rows: list[dict[str, Any]]) -> str:
    """A line for each capture."""
    lines = [
        f"{row['at'][:16].replace('T', ' ')}  {row['client']:<11} {row['group']:<12} {row['memory'][-_ID_CHARS:]}  "
        f"{row['outcome']:<9}  {' '.join(row['text'].split())[:80]}"
        for row in rows
    ]
    return "\n".join(lines) or "Nothing was captured yet."
