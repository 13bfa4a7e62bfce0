"""Ordinary prose to train with: the paragraphs of Loci's own pages and the docstrings of its code, but for those about the guard."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("access", "loci_site", "maintenance", "memories", "relations", "sources", "storage")
LEFT_OUT: Final = re.compile(r"guard|sensitive|inject|prompt|agent", re.I)
MIN_CHARS: Final = 40
MAX_CHARS: Final = 600
_MARKS: Final = re.compile(r"^[#>*\-|\s]+|[`*|]+", re.M)


def read_prose() -> list[str]:
    """The paragraphs, without marks of Markdown, in the order of the files."""
    found: dict[str, None] = {}
    for paragraph in (*_pages(), *_docstrings()):
        text = _MARKS.sub("", paragraph).strip()[:MAX_CHARS]
        if len(text) >= MIN_CHARS and not LEFT_OUT.search(text):
            found[text] = None
    return list(found)


def _pages() -> Iterator[str]:
    for path in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "CHANGELOG.md"):
        yield from re.split(r"\n\s*\n|\n(?=[-*|] )", path.read_text(encoding="utf-8"))


def _docstrings() -> Iterator[str]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                    yield ast.get_docstring(node) or ""
