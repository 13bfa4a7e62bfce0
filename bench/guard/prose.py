"""Ordinary prose to train with: paragraphs of Loci's own pages and docstrings, but for those about the guard.

They were drawn once and kept in `prose.jsonl`, so that an edit of a page does not change the weights.
"""

import json
from pathlib import Path
from typing import Final

PROSE: Final = Path(__file__).parent / "prose.jsonl"  # a JSON string on each line


def read_prose() -> list[str]:
    """The paragraphs, without marks of Markdown."""
    return [json.loads(line) for line in PROSE.read_text(encoding="utf-8").splitlines()]
