"""Import of files: the registry of formats, and the choice of one for a file.

The command and the browser call `choose_importer(path).run(…)` and render the report that it returns.
"""

from pathlib import Path
from typing import Final

from access.errors import InvalidInput, NotFound
from sources.importing.formats.chats.chatgpt import CHATGPT
from sources.importing.formats.chats.claude_ai import CLAUDE_AI
from sources.importing.formats.chats.gemini import GEMINI
from sources.importing.formats.exports import EXPORT
from sources.importing.formats.notes.basic_memory import BASIC_MEMORY
from sources.importing.formats.notes.claude_code import CLAUDE_CODE
from sources.importing.formats.notes.locus import LOCUS
from sources.importing.formats.notes.markdown import MARKDOWN
from sources.importing.formats.notes.obsidian import OBSIDIAN
from sources.importing.formats.products.claude_mem import CLAUDE_MEM
from sources.importing.formats.products.mcp_memory import MCP_MEMORY
from sources.importing.formats.products.mcp_memory_service import MCP_MEMORY_SERVICE
from sources.importing.formats.products.mem0 import MEM0
from sources.importing.formats.table import TABLE
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import Importer

AUTO: Final = "auto"
IMPORTERS: tuple[Importer, ...] = (
    EXPORT,
    MCP_MEMORY,
    MEM0,
    MCP_MEMORY_SERVICE,
    BASIC_MEMORY,
    CLAUDE_MEM,
    CLAUDE_CODE,
    OBSIDIAN,
    CHATGPT,
    CLAUDE_AI,
    GEMINI,
    LOCUS,
    MARKDOWN,
    TABLE,
    TEXTS,
)
NAMES = tuple(importer.name for importer in IMPORTERS)
ENDINGS = tuple(dict.fromkeys(ending for importer in IMPORTERS for ending in importer.endings))


def choose_importer(path: Path, name: str = "") -> Importer:
    """The importer that is surest to know the file or folder; the one of this name, if it knows it too.

    Raises:
        NotFound: the file does not exist or cannot be opened.
        InvalidInput: no importer has this name, the named one does not recognise the file, none does, or two are equally
            sure.
    """
    named = next((importer for importer in IMPORTERS if importer.name == name), None)
    if named is None and name not in ("", AUTO):
        raise InvalidInput(
            f"'{name[:40]}' is not a format.", hint=f"Formats: {', '.join(NAMES)}.", field="format"
        )
    if not path.exists():
        raise NotFound(f"{path} cannot be read: No such file or directory.", field="file")
    kind = "folder" if path.is_dir() else "file"
    if named is not None:
        if not named.recognises(path):
            guess = " or ".join(importer.description for importer in _surest_importers(path))
            raise InvalidInput(
                f"The {kind} is not {named.description}.",
                hint=f"It looks like {guess or 'no format that Loci imports'}.",
                field="format",
            )
        return named
    surest = _surest_importers(path)
    if not surest:
        raise InvalidInput(
            f"The {kind} is in no format that Loci can import.",
            hint=f"Formats: {'; '.join(importer.description for importer in IMPORTERS)}. Text must be UTF-8.",
            field="file",
        )
    if len(surest) > 1:
        names = " or ".join(importer.name for importer in surest)
        raise InvalidInput(f"The {kind} may be {names}.", hint="Name the format with --from.", field="format")
    return surest[0]


def _surest_importers(path: Path) -> list[Importer]:
    """The importers that are surest to know an existing path; none if no importer knows it."""
    found = [(importer.recognises(path), importer) for importer in IMPORTERS]
    best = max(confidence for confidence, _ in found)
    return [importer for confidence, importer in found if confidence == best and best]
