"""The bits of Markdown that the reference pages are made of."""

from collections.abc import Sequence

MADE = "<!-- Written by `manage.py reference`; change the code, not this page. -->"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give a table; a bar inside a cell is escaped, a line end becomes a space."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """Give the text as code; empty stays empty."""
    return f"`{text}`" if text else ""


def page(title: str, intro: str, *parts: str) -> str:
    """Give a whole page."""
    return "\n\n".join([f"# {title}", MADE, intro, *(part for part in parts if part)]) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
