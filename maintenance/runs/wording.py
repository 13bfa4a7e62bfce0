"""A run in words: its steps as bars, its changes as "before → after"."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from maintenance.runs.preview import PreviewedChange

# The column, as people call it; what is not named here stands under its own name.
FIELD_WORDS = {
    "superseded_by_id": "replaced by",
    "access_count": "recalls",
    "decayed_at": "decayed",
    "retired_at": "retired",
    "state_changed_at": "state since",
    "updated_at": "changed",
}
# What is counted and is no past participle, of one alone.
SINGULAR = {
    "summaries": "summary",
    "summaries dropped": "summary dropped",
    "possible duplicates": "possible duplicate",
    "conflicts": "conflict",
}
# Of a row that the run wrote, the text says enough.
NOTHING = "nothing"
MAX_VALUE_CHARS = 60


@dataclass(frozen=True)
class ShownStep:
    """One step of a run: what it counted, how long it took, and its share of the run's time (0–100)."""

    name: str
    counts: str
    seconds: float
    batches: int
    longest_lock_ms: int
    share: int


@dataclass(frozen=True)
class ShownField:
    """A field before and after, in words."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class ShownChange:
    """A row that a run changed. `is_memory`: its id leads to a page."""

    text: str
    id: str
    is_memory: bool
    made: bool
    fields: tuple[ShownField, ...]


def counts_words(counts: dict[str, Any]) -> str:
    """Give counts in one line; empty where nothing was counted."""
    return ", ".join(f"{count} {_counted(name, count)}" for name, count in counts.items() if count)


def _counted(name: str, count: int) -> str:
    words = name.replace("_", " ")
    return SINGULAR.get(words, words) if count == 1 else words


def shown_steps(steps: Sequence[dict[str, Any]]) -> list[ShownStep]:
    """Give the steps with each one's share of the time."""
    whole = sum(_number(step, "seconds") for step in steps) or 1.0
    return [
        ShownStep(
            name=str(step.get("step", "")),
            counts=counts_words(step.get("counts", {})),
            seconds=_number(step, "seconds"),
            batches=int(_number(step, "batches")),
            longest_lock_ms=round(1000 * _number(step, "longest_lock_s")),
            share=round(100 * _number(step, "seconds") / whole),
        )
        for step in steps
    ]


def shown_changes(changes: Iterable[PreviewedChange]) -> list[tuple[str, list[ShownChange]]]:
    """Give the changes by step, in the order in which they were made."""
    return [
        (step, [_shown(change) for change in of_step])
        for step, of_step in groupby(changes, key=lambda change: change.step)
    ]


def _shown(change: PreviewedChange) -> ShownChange:
    return ShownChange(
        text=change.text or f"{change.table} {change.id}",
        id=change.id,
        is_memory=change.table == "memories_memory"
        and len(change.id) == len("00000000-0000-0000-0000-000000000000"),
        made=change.made,
        fields=() if change.made else tuple(_fields(change)),
    )


def _fields(change: PreviewedChange) -> Iterable[ShownField]:
    for name, (before, after) in change.fields.items():
        yield ShownField(FIELD_WORDS.get(name, name.replace("_", " ")), _value(before), _value(after))


def _value(value: Any) -> str:
    """Give a value as a person reads it: three decimals, minutes, no more than a line."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, str) and (moment := _moment(value)):
        return f"{moment:%Y-%m-%d %H:%M}"
    text = str(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if "T" in text else None
    except ValueError:
        return None


def _number(step: dict[str, Any], name: str) -> float:
    value = step.get(name, 0)
    return float(value) if isinstance(value, int | float) else 0.0
