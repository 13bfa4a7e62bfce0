"""The trace of a recall: each step says what it did, and that is the whole explanation."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Gives keys with their numbers; called when somebody asks for them, which for most recalls nobody does.
NumberSource = Callable[[], Iterable[tuple[int, Mapping[str, float]]]]


@dataclass(frozen=True)
class TraceStep:
    """One step: its name and what it did, as JSON values."""

    name: str
    detail: dict[str, Any]


@dataclass
class Trace:
    """Steps in order, and for each memory (by key) the numbers that made its place."""

    steps: list[TraceStep] = field(default_factory=list)
    dropped: dict[int, str] = field(default_factory=dict)
    _numbers: dict[int, dict[str, float]] = field(default_factory=dict)
    _untold: list[NumberSource] = field(default_factory=list)

    @property
    def numbers(self) -> dict[int, dict[str, float]]:
        """Give the numbers of all memories, rounded to what can be read."""
        untold, self._untold = self._untold, []
        for telling in untold:
            for key, numbers in telling():
                rounded = {name: round(value, 4) for name, value in numbers.items()}
                self._numbers.setdefault(key, {}).update(rounded)
        return self._numbers

    def add(self, name: str, **detail: Any) -> None:
        """Append a step."""
        self.steps.append(TraceStep(name, detail))

    def score(self, telling: NumberSource) -> None:
        """Note numbers of many memories, to be worked out when they are asked for; a step calls it once."""
        self._untold.append(telling)

    def drop(self, key: int, why: str) -> None:
        """Note the step that took a memory out."""
        self.dropped[key] = why
