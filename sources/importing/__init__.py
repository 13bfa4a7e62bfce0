"""Import of files: the registry of formats, and the choice of one for a file.

The command and the browser call `choose_importer(path).run(…)` and render the report that it returns.
"""

from pathlib import Path

from access.errors import InvalidInput, NotFound
from sources.importing.formats.exports import EXPORT
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import Importer

# The first that recognises a file reads it, so TEXTS, which takes any text, is the last.
IMPORTERS: tuple[Importer, ...] = (
    EXPORT,
    TEXTS,
)
NAMES = tuple(importer.name for importer in IMPORTERS)
ENDINGS = tuple(dict.fromkeys(ending for importer in IMPORTERS for ending in importer.endings))


def choose_importer(path: Path, name: str = "") -> Importer:
    """The importer of this name, or the first that recognises the file or folder.

    Raises:
        NotFound: the file does not exist or cannot be opened.
        InvalidInput: no importer has this name, or none recognises the file.
    """
    if name:
        return find_importer(name)
    if not path.exists():
        raise NotFound(f"{path} cannot be read: No such file or directory.", field="file")
    for importer in IMPORTERS:
        if importer.recognises(path):
            return importer
    kind = "folder" if path.is_dir() else "file"
    raise InvalidInput(
        f"The {kind} is in no format that Loci can import.",
        hint=f"Formats: {describe_formats()}. Text must be UTF-8.",
        field="file",
    )


def find_importer(name: str) -> Importer:
    """The importer of a format.

    Raises:
        InvalidInput: there is none of this name.
    """
    for importer in IMPORTERS:
        if importer.name == name:
            return importer
    raise InvalidInput(
        f"'{name[:40]}' is not a format.", hint=f"Formats: {', '.join(NAMES)}.", field="format"
    )


def describe_formats() -> str:
    """All formats in words, separated by semicolons."""
    return "; ".join(importer.description for importer in IMPORTERS)
