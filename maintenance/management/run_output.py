"""Tables of a run's steps and changes in commands."""

from collections.abc import Sequence
from typing import Any

from maintenance.runs.preview import PreviewedChange
from maintenance.runs.wording import FIELD_WORDS, step_words
from memories.management.output import FaceCommand


def print_steps(command: FaceCommand, steps: Sequence[dict[str, Any]]) -> None:
    """Print one line per step."""
    rows = [
        [
            step_words(step["step"]),
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
    """Print one line per row that was or would be changed, and the number of changes that are not listed."""
    # Rows without a public id have only an internal key.
    rows = [
        [step_words(c.step), "–" if c.id.isdecimal() else c.id[-12:], change_text(c), c.text or c.table]
        for c in changes
    ]
    if rows:
        command.print_table(rows, header=["step", "id", "change", "memory"])
    if total > len(rows):
        command.stdout.write(f"{total - len(rows):,} more changes; --changes {total} lists all.")


def change_text(change: PreviewedChange) -> str:
    """The changed fields as "name old → new", without timestamps; "created" for a new row."""
    if change.made:
        return "created"
    times = ("updated_at", "state_changed_at", "retired_at")
    fields = {name: values for name, values in change.fields.items() if name not in times}
    return ", ".join(
        f"{FIELD_WORDS.get(name, name)} {_cell(old)} → {_cell(new, is_name=name.endswith('_id'))}"
        for name, (old, new) in fields.items()
    )


def _cell(value: Any, *, is_name: bool = False) -> str:
    if is_name and isinstance(value, str):
        return f"“{value}”"
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)[:16] if value is not None else "–"
