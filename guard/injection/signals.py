"""Signs of instructions to an AI: one alone is ordinary, a group of them close together is a finding."""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from guard.findings import GuardFinding
from guard.patterns import Pattern, PatternSets

DATA: Final = Path(__file__).parent.parent / "data" / "signals.toml"
KIND: Final = "injected-instruction"
CONFIDENCE: Final = 0.6
MAX_SPANS: Final = 50  # of one sign in a text
PARTS: Final = 3  # of the automaton of all signs: the fastest of 1, 2, 3, 4, 6, 8, 12 and 20
# RE2's \w knows ASCII alone.
_WORD: Final = re.compile(r"\[([^\]\\]*)\\w|\\w")

Span = tuple[int, int]


class Signs:
    """The signs, and the groups of them that count, from the data file."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            data = tomllib.load(file)
        sources = {name: in_any_script("".join(each)) for name, each in data["signs"].items()}
        self._patterns = {name: Pattern(source) for name, source in sources.items()}
        self.names = tuple(sources)
        self._sets = PatternSets(sources.values(), parts=PARTS)
        self._last: tuple[bytes, frozenset[str]] = (b"", frozenset())
        self._pairs: tuple[tuple[str, ...], ...] = tuple(tuple(each.split()) for each in data["pairs"])
        self._reach: int = data["reach"]

    def present(self, text: str) -> frozenset[str]:
        """The names of the signs in a text, wherever they are.

        The patterns and the reading ask about the same text; remembering the last one saves a tenth of the guard's time.
        """
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        last = self._last
        if last[0] != digest:
            last = self._last = digest, self._search(text)
        return last[1]

    def _search(self, text: str) -> frozenset[str]:
        return frozenset(self.names[index] for index in self._sets.matching(text))

    def find(self, text: str) -> Iterator[GuardFinding]:
        """One finding per group of signs within reach of each other."""
        present = self.present(text)
        wanted = [pair for pair in self._pairs if present.issuperset(pair)]
        if not wanted:
            return
        names = {name for pair in wanted for name in pair}
        spans = {name: [*self._patterns[name].spans(text)][:MAX_SPANS] for name in names}
        for pair in wanted:
            found = first_together([spans[name] for name in pair], self._reach)
            if found is not None:
                yield GuardFinding(KIND, found, CONFIDENCE)


def in_any_script(source: str) -> str:
    """The pattern, case-insensitive, with RE2's word characters widened to letters of every script."""

    def widened(match: re.Match[str]) -> str:
        inside = match.group(1)
        return r"[\pL\pN_]" if inside is None else rf"[{inside}\pL\pN_"

    return f"(?i){_WORD.sub(widened, source)}"


def first_together(signs: Sequence[Sequence[Span]], reach: int) -> Span | None:
    """The span of the first non-overlapping places, one per sign, within `reach` characters; or None."""
    for first in signs[0]:
        chosen = [first]
        for others in signs[1:]:
            near = next((span for span in others if is_near([*chosen, span], reach)), None)
            if near is None:
                break
            chosen.append(near)
        else:
            return min(span[0] for span in chosen), max(span[1] for span in chosen)
    return None


def is_near(spans: Sequence[Span], reach: int) -> bool:
    """True if the spans lie within reach, and none overlaps another."""
    is_close = max(end for _, end in spans) - min(start for start, _ in spans) <= reach
    return is_close and all(one[1] <= other[0] or other[1] <= one[0] for one, other in combinations(spans, 2))


SIGNS: Final = Signs(DATA)
