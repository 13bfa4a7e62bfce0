"""A run in words: its counts, its steps and its changes."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext, gettext_noop, pgettext

from maintenance.runs.preview import PreviewedChange

# Labels of columns; the others keep their own names.
FIELD_WORDS = {
    "superseded_by_id": "superseded by",
    "access_count": "recalls",
    "decayed_at": "decayed",
    "retired_at": "retired",
    "state_changed_at": "state since",
    "updated_at": "changed",
}
# Singular of counts that are plural nouns; the others are participles, such as "decayed".
SINGULAR = {
    "summaries": "summary",
    "summaries dropped": "summary dropped",
    "possible duplicates": "possible duplicate",
    "conflicts": "conflict",
}
_STEP_WORDS = {"findings": "duplicates and conflicts"}  # the others are shown by their names
_EMPTY_VALUE = gettext_noop("nothing")
MAX_VALUE_CHARS = 60


@dataclass(frozen=True)
class _ShownStep:
    """One step of a run: its counts, its duration, and its share of the run's duration (0–100)."""

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
class _ShownChange:
    """A row that a run changed. `is_memory`: its id has a page. `made`: the run created it; `fields` say what a memory is."""

    text: str
    id: str
    is_memory: bool
    made: bool
    fields: tuple[ShownField, ...]


def format_counts(counts: dict[str, Any]) -> str:
    """Counts in one line, without zeros: "3 decayed, 1 summary"; empty if there are none."""
    parts = []
    for name, count in counts.items():
        if count:
            words = name.replace("_", " ")
            parts.append(f"{count} {pgettext('word', SINGULAR.get(words, words) if count == 1 else words)}")
    return gettext(", ").join(parts)


def format_steps(steps: Sequence[dict[str, Any]]) -> list[_ShownStep]:
    """A run's stored steps with each one's share of the time."""
    whole = sum(step["seconds"] for step in steps) or 1.0
    return [
        _ShownStep(
            name=step_words(step["step"]),
            counts=format_counts(step["counts"]),
            seconds=step["seconds"],
            batches=step["batches"],
            longest_lock_ms=round(1000 * step["longest_lock_s"]),
            share=round(100 * step["seconds"] / whole),
        )
        for step in steps
    ]


def step_words(name: str) -> str:
    """A step's name for people."""
    return pgettext("word", _STEP_WORDS.get(name, name))


def format_changes(changes: Iterable[PreviewedChange]) -> list[tuple[str, list[_ShownChange]]]:
    """The changes grouped by step; the steps and each one's changes in the order in which they come."""
    groups: dict[str, list[_ShownChange]] = {}
    for change in changes:
        groups.setdefault(step_words(change.step), []).append(format_change(change))
    return list(groups.items())


def format_change(change: PreviewedChange) -> _ShownChange:
    """One changed row in words."""
    fields = [
        ShownField(
            pgettext("word", FIELD_WORDS.get(name, name.replace("_", " "))),
            format_value(before),
            format_value(after),
        )
        for name, (before, after) in change.fields.items()
    ]
    return _ShownChange(
        text=change.text or f"{change.table} {change.id}",
        id=change.id,
        is_memory=change.table == "memories_memory"
        and len(change.id) == len("00000000-0000-0000-0000-000000000000"),
        made=change.made,
        fields=tuple(fields),
    )


def format_value(value: Any) -> str:
    """A value for people: numbers with three decimals, times to the minute, at most a line."""
    if value is None or value == "":
        return gettext(_EMPTY_VALUE)
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    text = str(value)
    if "T" in text:
        with suppress(ValueError):  # it is not a time
            return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M}"
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"
