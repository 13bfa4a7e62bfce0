"""Markdown elements of the reference pages."""

from collections.abc import Sequence

GENERATED = "<!-- Written by `python -m bench.reference`; change the code, not this page. -->"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; in cells, bars are escaped and line ends become spaces."""
    lines = [header, ["---"] * len(header), *rows]
    cells = ([" ".join(cell.split()).replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def code(text: str) -> str:
    """The text as code; empty text stays empty."""
    return f"`{text}`" if text else ""


def page(title: str, intro: str, *parts: str) -> str:
    """A whole page with its title and the note that it is generated."""
    return "\n\n".join([f"# {title}", GENERATED, intro, *(part for part in parts if part)]) + "\n"
