"""Signs of instructions to an AI: one alone is ordinary, a group of them close together is a finding."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from pathlib import Path
from typing import Final

from guard.findings import GuardFinding
from guard.patterns import Pattern, PatternSets

DATA: Final = Path(__file__).parent.parent / "data"
CONFIDENCE: Final = 0.6
MAX_SPANS: Final = 50  # of one sign in a text
PARTS: Final = 3  # of the automaton of all signs: the fastest of 1, 2, 3, 4, 6, 8, 12 and 20
# RE2's \w and \b know ASCII alone: before "ü" or after "é" there is no \b.
_BOUNDARY: Final = r"\b"
_ANY_BOUNDARY: Final = r"(?:\b|^|$|[^\pL\pN_])"
_AROUND: Final = frozenset(" \t\n.,;:!?()\"'`“”„«»‘’「」、。，：；")
_WORD: Final = re.compile(r"\[([^\]\\]*)\\w|\\w")

Span = tuple[int, int]


class Signs:
    """The groups of signs that count, from the last of some data files, with the signs of all; `kind` is that of their findings."""

    def __init__(self, *names: str, kind: str) -> None:
        files = [tomllib.loads((DATA / name).read_text(encoding="utf-8")) for name in names]
        data = {**files[-1], "signs": {name: sign for file in files for name, sign in file["signs"].items()}}
        self._groups = tuple(tuple(each.split()) for each in data["pairs"])
        self._names = tuple(dict.fromkeys(name for group in self._groups for name in group))
        sources = [_in_any_script("".join(data["signs"][name])) for name in self._names]
        self._patterns = dict(zip(self._names, map(Pattern, sources), strict=True))
        self._sets = PatternSets(sources, parts=PARTS)
        self._reach: int = data["reach"]
        self._kind = kind

    def find(self, text: str) -> Iterator[GuardFinding]:
        """One finding per group of signs within reach of each other."""
        present = {self._names[index] for index in self._sets.matching(text)}
        wanted = [group for group in self._groups if present.issuperset(group)]
        names = {name for group in wanted for name in group}
        spans = {
            name: [_trimmed(text, span) for span in islice(self._patterns[name].spans(text), MAX_SPANS)]
            for name in names
        }
        for group in wanted:
            found = _first_together([spans[name] for name in group], self._reach)
            if found is not None:
                yield GuardFinding(self._kind, found, CONFIDENCE)


def _in_any_script(source: str) -> str:
    """The pattern, case-insensitive, with RE2's word characters and boundaries widened to letters of every script."""

    def widened(match: re.Match[str]) -> str:
        inside = match.group(1)
        return r"[\pL\pN_]" if inside is None else rf"[{inside}\pL\pN_"

    return f"(?i){_WORD.sub(widened, source).replace(_BOUNDARY, _ANY_BOUNDARY)}"


def _trimmed(text: str, span: Span) -> Span:
    """The span without the space or mark at its ends that a boundary took."""
    start, end = span
    return start + (text[start] in _AROUND), end - (end - start > 1 and text[end - 1] in _AROUND)


def _first_together(signs: Sequence[Sequence[Span]], reach: int) -> Span | None:
    """The span of the first non-overlapping places, one per sign, within `reach` characters; or None."""
    for first in signs[0]:
        chosen = [first]
        for others in signs[1:]:
            near = next((span for span in others if _is_near([*chosen, span], reach)), None)
            if near is None:
                break
            chosen.append(near)
        else:
            return min(span[0] for span in chosen), max(span[1] for span in chosen)
    return None


def _is_near(spans: Sequence[Span], reach: int) -> bool:
    """True if the spans lie within reach, and none overlaps another."""
    is_close = max(end for _, end in spans) - min(start for start, _ in spans) <= reach
    return is_close and all(one[1] <= other[0] or other[1] <= one[0] for one, other in combinations(spans, 2))


SIGNS: Final = Signs("signals.toml", kind="injected-instruction")
OUTSIDE: Final = Signs("signals.toml", "outside.toml", kind="instruction-like")
