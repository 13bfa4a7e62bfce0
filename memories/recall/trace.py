"""The trace of a recall: each step records what it did, and that is the whole explanation."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Yields keys with their numbers; called only if somebody reads them, which most recalls never do.
NumberSource = Callable[[], Iterable[tuple[int, Mapping[str, float]]]]


@dataclass(frozen=True)
class TraceStep:
    """One step: its name and what it did, as JSON values."""

    name: str
    detail: dict[str, Any]


@dataclass
class Trace:
    """Steps in order, and for each memory (by key) the numbers behind its rank."""

    steps: list[TraceStep] = field(default_factory=list)
    dropped: dict[int, str] = field(default_factory=dict)
    _numbers: dict[int, dict[str, float]] = field(default_factory=dict)
    _sources: list[NumberSource] = field(default_factory=list)

    @property
    def numbers(self) -> dict[int, dict[str, float]]:
        """The numbers of all memories, rounded to four digits."""
        sources, self._sources = self._sources, []
        for source in sources:
            for key, numbers in source():
                rounded = {name: round(value, 4) for name, value in numbers.items()}
                self._numbers.setdefault(key, {}).update(rounded)
        return self._numbers

    def add(self, name: str, **detail: Any) -> None:
        """Append a step."""
        self.steps.append(TraceStep(name, detail))

    def add_numbers(self, source: NumberSource) -> None:
        """Register numbers of many memories, computed when they are read; each step calls it once."""
        self._sources.append(source)

    def drop(self, key: int, reason: str) -> None:
        """Record why a memory is not in the answer."""
        self.dropped[key] = reason
