"""The trace of a recall: each step says what it did, and that is the whole explanation."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One step: its name and what it did, as JSON values."""

    name: str
    detail: dict[str, Any]


@dataclass
class Trace:
    """Steps in order, and for each memory (by key) the numbers that made its place."""

    steps: list[Step] = field(default_factory=list)
    numbers: dict[int, dict[str, float]] = field(default_factory=dict)
    dropped: dict[int, str] = field(default_factory=dict)

    def add(self, name: str, **detail: Any) -> None:
        """Append a step."""
        self.steps.append(Step(name, detail))

    def score(self, key: int, **numbers: float) -> None:
        """Note numbers of one memory, rounded to what can be read."""
        rounded = {name: round(value, 4) for name, value in numbers.items()}
        self.numbers.setdefault(key, {}).update(rounded)

    def drop(self, key: int, why: str) -> None:
        """Note the step that took a memory out."""
        self.dropped[key] = why
