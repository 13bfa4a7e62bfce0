"""How commands print a run: its steps and its changes."""

from collections.abc import Sequence
from typing import Any

from maintenance.runs.preview import PreviewedChange
from memories.management.output import FaceCommand


def print_steps(command: FaceCommand, steps: Sequence[dict[str, Any]]) -> None:
    """Print a line for each step that did something."""
    rows = [
        [
            step["step"],
            ", ".join(f"{name} {count}" for name, count in step["counts"].items()) or "–",
            str(step["batches"]),
            f"{step['seconds']:.2f} s",
            f"{1000 * step['longest_lock_s']:.0f} ms",
        ]
        for step in steps
    ]
    if rows:
        command.print_table(rows, header=["step", "done", "batches", "took", "longest lock"])


def print_changes(command: FaceCommand, changes: Sequence[PreviewedChange], *, total: int) -> None:
    """Print a line for each row that was or would be changed."""
    rows = [[c.step, c.id[-12:], _said(c), c.text or c.table] for c in changes]
    if rows:
        command.print_table(rows, header=["step", "id", "change", "memory"])
    if total > len(rows):
        command.stdout.write(f"{total - len(rows):,} more changes; --changes {total} lists all.")


def _said(change: PreviewedChange) -> str:
    if change.made:
        return "made"
    told = {
        n: v for n, v in change.fields.items() if n not in ("updated_at", "state_changed_at", "retired_at")
    }
    return ", ".join(f"{name} {_value(old)} → {_value(new)}" for name, (old, new) in told.items())


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)[:16] if value is not None else "–"
