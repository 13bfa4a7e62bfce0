"""The reference pages in docs/reference/, written from the code itself; a test says when one is out of date."""

from collections.abc import Callable
from pathlib import Path

from loci_site.management.reference import commands, errors, rest, settings
from loci_site.management.reference.tools import tools_reference

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "settings.md": settings.page,
    "commands.md": commands.page,
    "errors.md": errors.page,
    "rest.md": rest.page,
    "tools.md": tools_reference,
}


def stale_pages(folder: Path = FOLDER) -> list[str]:
    """List the pages that do not say what the code says."""
    return [name for name, page in PAGES.items() if _read(folder / name) != page()]


def write_pages(folder: Path = FOLDER) -> list[str]:
    """Write the pages that are out of date; give their names."""
    folder.mkdir(parents=True, exist_ok=True)
    stale = stale_pages(folder)
    for name in stale:
        (folder / name).write_text(PAGES[name](), encoding="utf-8")
    return stale


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
