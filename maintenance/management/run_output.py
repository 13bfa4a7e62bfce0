"""Tables of a run's steps and changes in commands."""

from collections.abc import Sequence
from typing import Any, Final

from access.management.command import option
from maintenance.runs.preview import PreviewedChange
from maintenance.runs.wording import FIELD_WORDS, step_words
from memories.management.output import in_lines, table_text

SHOWN: Final = 50
CHANGES: Final = option("--changes", type=int, default=SHOWN, metavar="N", help=f"changes to list ({SHOWN})")


def steps_text(steps: Sequence[dict[str, Any]]) -> str:
    """A table with a line for each step."""
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
    return table_text(rows, header=("step", "done", "batches", "took", "longest lock")) if rows else ""


def changes_text(changes: Sequence[PreviewedChange], *, total: int) -> str:
    """A table with a line for each row that was or would be changed, and the number of those not listed."""
    # Rows without a public id have only an internal key.
    rows = [
        [step_words(c.step), "–" if c.id.isdecimal() else c.id[-12:], change_text(c), c.text or c.table]
        for c in changes
    ]
    table = table_text(rows, header=("step", "id", "change", "memory")) if rows else ""
    more = f"{total - len(rows):,} more changes; --changes {total} lists all." if total > len(rows) else ""
    return in_lines(table, more)


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
