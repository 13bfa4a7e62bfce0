"""Purges reach files: lines are removed from rooms, and watched files with the text are named."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from django.db.models import QuerySet

from memories.language.plurals import format_count
from memories.store.purge_hooks import ClearedCopies, contains_any, encodings_of
from sources.models import WatchedFile
from sources.rooms.daily import CONTEXT, FOLDER, take_out
from sources.watching.folders import rooms_folder


class FilesOnDisk:
    """Rooms and watched files as copies that a purge must reach."""

    def note(self) -> str:
        """Nothing to record: rooms are written from stored memories."""
        return ""

    def clear(self, ids: frozenset[UUID], texts: tuple[str, ...], *, note: str) -> ClearedCopies:
        """Remove the memories from the rooms; name the watched files with one of the texts, as people own them."""
        needles = sorted({form.encode() for text in texts for form in encodings_of(text)})
        checked: list[str] = []
        remains: list[str] = []
        try:
            checked += clear_rooms(ids, needles)
        except OSError as error:
            remains.append(f"the rooms on disk could not be cleared: {error.strerror or error}")
        remains += [
            f"the watched file {path} has the text; it is not stored again, but only you can delete it there"
            for path in files_with(texts)
        ]
        return ClearedCopies(tuple(checked), tuple(remains))


def clear_rooms(ids: frozenset[UUID], needles: list[bytes]) -> Iterator[str]:
    """Remove lines from the daily logs, and delete contexts with a purged text; those are written again."""
    lines = contexts = 0
    for room in sorted(rooms_folder().glob("*/")):
        lines += take_out(room / FOLDER, ids)
        context = room / CONTEXT
        if context.is_file() and has_any(context, needles):
            context.unlink()
            contexts += 1
    if lines:
        yield f"daily logs: {format_count(lines, 'line')} taken out"
    if contexts:
        yield f"contexts of rooms: {contexts} deleted, to be written anew"


def files_with(texts: tuple[str, ...]) -> Iterator[str]:
    """The watched files with the words of one of the texts, ignoring white space."""
    wanted = [words for text in texts if (words := squeezed(text))]
    rows: QuerySet[WatchedFile] = WatchedFile.objects.select_related("folder")
    for row in rows.iterator(chunk_size=500):
        path = Path(row.folder.path) / row.path
        try:
            found = squeezed(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        if any(bare(text, row) in found for text in wanted):
            yield str(path)


def bare(text: str, row: WatchedFile) -> str:
    """A memory's text without the headings prefixed to it, if any."""
    head, mark, rest = text.partition(": ")
    return rest if mark and Path(row.path).stem in head else text


def squeezed(text: str) -> str:
    """The text with single spaces between words."""
    return " ".join(text.split())


def has_any(path: Path, needles: list[bytes]) -> bool:
    """True if a file contains one of the byte strings."""
    with path.open("rb") as stream:
        return contains_any(stream, needles)
