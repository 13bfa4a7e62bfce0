"""Purges reach files: lines are removed from rooms, and watched files with the text are named."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from django.db.models import QuerySet

from memories.language.plurals import format_count
from memories.store.purge_hooks import ClearedCopies, contains_any, encodings_of, redact
from sources.exporting.atomic_file import replace_file
from sources.models import WatchedFile
from sources.rooms.daily import CONTEXT, FOLDER, STANDING, take_out
from sources.watching.disk import read_plain
from sources.watching.folders import rooms_folder
from sources.watching.replacing import sha_of


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
            checked += clear_rooms(ids, needles, texts)
        except (OSError, UnicodeError) as error:
            remains.append(
                f"the rooms on disk could not be cleared: {getattr(error, 'strerror', None) or error}"
            )
        checked += delete_made(texts)
        remains += [
            f"the watched file {path} has the text; it is not stored again, but only you can delete it there"
            for path in files_with(texts)
        ]
        return ClearedCopies(tuple(checked), tuple(remains))


def clear_rooms(ids: frozenset[UUID], needles: list[bytes], texts: tuple[str, ...]) -> Iterator[str]:
    """Take lines out of the daily logs, and delete the contexts that have a text; they are written anew.

    Instructions lose the text as those in the database do.
    """
    lines = contexts = instructions = 0
    for room in sorted(rooms_folder().glob("*/")):
        lines += take_out(room / FOLDER, ids)
        context = room / CONTEXT
        if context.is_file() and has_any(context, needles):
            context.unlink()
            contexts += 1
        standing = room / STANDING
        if standing.is_file() and has_any(standing, needles):
            cleared = redact(standing.read_text(encoding="utf-8"), texts)
            with replace_file(standing) as file:
                file.write(cleared)
            instructions += 1
    if lines:
        yield f"daily logs: {format_count(lines, 'line')} taken out"
    if contexts:
        yield f"contexts of rooms: {contexts} deleted, to be written anew"
    if instructions:
        yield f"instructions of rooms: {instructions} without the text now"


def delete_made(texts: tuple[str, ...]) -> Iterator[str]:
    """Delete the files with one of the texts that Loci made and nobody has changed since."""
    deleted = 0
    for row, path, raw in list(found_in(texts)):
        if row.is_made and sha_of(raw) == row.written:
            path.unlink(missing_ok=True)
            row.delete()
            deleted += 1
    if deleted:
        yield f"files in watched folders: {deleted} deleted"


def files_with(texts: tuple[str, ...]) -> Iterator[str]:
    """The paths of the watched files with the words of one of the texts, ignoring white space."""
    return (str(path) for _, path, _ in found_in(texts))


def found_in(texts: tuple[str, ...]) -> Iterator[tuple[WatchedFile, Path, bytes]]:
    """The watched files with the words of one of the texts, with their paths and bytes."""
    wanted = [words for text in texts if (words := squeezed(text))]
    rows: QuerySet[WatchedFile] = WatchedFile.objects.select_related("folder")
    for row in rows.iterator(chunk_size=500):
        path = Path(row.folder.path) / row.path
        try:
            raw = read_plain(path)
            found = squeezed(raw.decode("utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        if any(bare(text, row) in found for text in wanted):
            yield row, path, raw


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
