"""The reference pages in docs/reference/; a test finds those that are out of date."""

from collections.abc import Callable
from pathlib import Path

from bench.reference import commands, errors, rest, settings, trust
from bench.reference.tools import tools_reference

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings.page,
    "commands.md": commands.page,
    "errors.md": errors.page,
    "rest.md": rest.page,
    "tools.md": tools_reference,
    "trust.md": trust.page,
}


def stale_pages(folder: Path = FOLDER) -> list[str]:
    """Names of the pages that are missing or differ from the code."""
    stale = []
    for name, page in PAGES.items():
        file = folder / name
        if (file.read_text(encoding="utf-8") if file.is_file() else "") != page():
            stale.append(name)
    return stale


def write_pages(folder: Path = FOLDER) -> list[str]:
    """Write the pages that are out of date. Returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    stale = stale_pages(folder)
    for name in stale:
        (folder / name).write_text(PAGES[name](), encoding="utf-8")
    return stale
