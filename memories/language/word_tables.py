"""Word tables: text files in data/, read once at import.

A file has sections, each under its name in brackets. A line that begins with "# " is a comment; an entry may hold
the sign itself, as c# does.
"""

from collections.abc import Iterable
from pathlib import Path

_DATA_DIR = Path(__file__).parent / "data"


def read_sections(name: str) -> dict[str, list[str]]:
    """Lines of data/<name>.txt by section, in order."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (_DATA_DIR / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            lines = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("# "):
            lines.append(line)
    return sections


def parse_words(lines: Iterable[str]) -> frozenset[str]:
    """Every word of the lines."""
    return frozenset(word for line in lines for word in line.split())


def parse_pairs(lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """One pair of words per line."""
    return tuple((one, other) for one, other in map(str.split, lines))


def parse_mapping(lines: Iterable[str]) -> dict[str, str]:
    """Entries of the form "key: value"."""
    return {key: value for key, _, value in (line.partition(": ") for line in lines)}
