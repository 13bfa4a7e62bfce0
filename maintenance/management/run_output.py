"""Tables of a run's steps and changes in commands."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import indent
from typing import Any, Final

from access.management.command import option
from maintenance.runs.preview import SHOWN_WORDS, PreviewedChange
from maintenance.runs.wording import format_change, format_steps, step_words
from memories.language.cleaning import first_words
from memories.management.output import in_lines, table_text

SHOWN: Final = 50
TIMES: Final = frozenset({"updated_at", "state_changed_at", "retired_at"})
CHANGES: Final = option(
    "--changes", type=int, default=SHOWN, metavar="N", help=f"changes to list after the new texts ({SHOWN})"
)


def steps_text(steps: Sequence[dict[str, Any]]) -> str:
    """A table with a line for each step."""
    rows = [
        [s.name, s.counts or "–", str(s.batches), f"{s.seconds:.2f} s", f"{s.longest_lock_ms} ms"]
        for s in format_steps(steps)
    ]
    return table_text(rows, header=("step", "done", "batches", "took", "longest lock")) if rows else ""


def changes_text(changes: Sequence[PreviewedChange], *, total: int) -> str:
    """A table with a line for each row that was or would be changed, and the number of those not listed."""
    # Rows without a public id have only an internal key.
    rows = [
        [
            step_words(c.step),
            "–" if c.id.isdecimal() else c.id[-12:],
            _change_text(c),
            first_words(c.text, SHOWN_WORDS) or c.table,
        ]
        for c in changes
    ]
    table = table_text(rows, header=("step", "id", "change", "memory")) if rows else ""
    more = f"{total - len(rows):,} more changes; --changes {total} lists all." if total > len(rows) else ""
    return in_lines(table, *_texts(changes), more)


def _texts(changes: Sequence[PreviewedChange]) -> Iterator[str]:
    """The whole text of each memory that was or would be created, under its id, type, scope, trust and confidence."""
    for change in changes:
        if change.made and change.fields:
            told = ", ".join(f"{field.name} {field.after}" for field in format_change(change).fields)
            yield f"\n{change.id[-12:]}: {told}\n{indent(change.text, '    ')}"


def _change_text(change: PreviewedChange) -> str:
    """The changed fields as "name old → new", without timestamps; "created" for a new row."""
    shown = {name: values for name, values in change.fields.items() if name not in TIMES}
    fields = format_change(replace(change, fields=shown)).fields
    return "created" if change.made else ", ".join(f"{f.name} {f.before} → {f.after}" for f in fields)
