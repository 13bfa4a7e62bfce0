"""Purges reach files: lines are removed from rooms, and watched files with the text are named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.db.models import QuerySet

from memories.language.cleaning import format_count
from memories.language.dress.quotes import Quotes
from memories.store.places import BLANKED, ClearedCopies, OutsideCopies, PurgedTexts, TextPlace
from sources.exporting.atomic_file import replace_file
from sources.models import WatchedFile, WatchedSection
from sources.rooms.daily import CONTEXT, FOLDER, STANDING, take_out
from sources.watching.disk import open_plain
from sources.watching.folders import rooms_folder

WATCHED_PLACES: Final = (
    TextPlace("watched files", "reports on watched files contain it", WatchedFile, ("problem",), BLANKED,
          group="folder__group__id"),
    TextPlace("watched sections", "names of watched sections contain it", WatchedSection, ("ref", "source_ref"),
          group="file__folder__group__id"),
)  # fmt: skip


class FilesOnDisk(OutsideCopies):
    """Rooms and watched files as copies that a purge must reach."""

    name = "files"
    files = ("rooms",)

    def find(self, doomed: PurgedTexts) -> tuple[str, ...]:
        """The files of rooms and the watched files with one of the texts."""
        rooms = (
            path
            for folder in rooms_folder().glob("*/")
            for path in folder.rglob("*")
            if holds(path, doomed.quotes)
        )
        watched = (str(path) for path in _found_in(doomed.texts))
        return (
            *(
                f"the file {path.name} of the room {path.relative_to(rooms_folder()).parts[0]} has the text"
                for path in rooms
            ),
            *(
                f"the watched file {path} has the text; it is not stored again, but only you can delete it there"
                for path in watched
            ),
        )

    def clear(self, doomed: PurgedTexts, *, note: str) -> ClearedCopies:
        """Remove the memories from the rooms; people own the watched files."""
        checked, remains = list[str](), list[str]()
        try:
            checked += _clear_rooms(doomed)
        except (OSError, UnicodeError) as error:
            remains.append(
                f"the rooms on disk could not be cleared: {getattr(error, 'strerror', None) or error}"
            )
        return ClearedCopies(tuple(checked), tuple(remains))


def _clear_rooms(doomed: PurgedTexts) -> Iterator[str]:
    """Take lines out of the daily logs, and delete the contexts that have a text; they are written anew.

    Instructions lose the text as those in the database do.
    """
    lines = contexts = instructions = 0
    for room in sorted(rooms_folder().glob("*/")):
        lines += take_out(room / FOLDER, frozenset(doomed.ids))
        if holds(context := room / CONTEXT, doomed.quotes):
            context.unlink()
            contexts += 1
        if holds(standing := room / STANDING, doomed.quotes):
            cleared = doomed.quotes.blank(standing.read_text(encoding="utf-8"))
            with replace_file(standing) as file:
                file.write(cleared)
            instructions += 1
    if lines:
        yield f"daily logs: {format_count(lines, 'line')} taken out"
    if contexts:
        yield f"contexts of rooms: {contexts} deleted, to be written anew"
    if instructions:
        yield f"instructions of rooms: {instructions} without the text now"


def _found_in(texts: tuple[str, ...]) -> Iterator[Path]:
    """The watched files with one of the texts; headings prefixed to a text may be missing."""
    whole = Quotes(texts)
    bare = {head: Quotes([rest]) for head, mark, rest in (text.partition(": ") for text in texts) if mark}
    rows: QuerySet[WatchedFile] = WatchedFile.objects.select_related("folder")
    for row in rows.iterator(chunk_size=500):
        path = Path(row.folder.path) / row.path
        try:
            with open_plain(path) as file:
                text = file.read().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if whole.find(text) or any(path.stem in head and each.find(text) for head, each in bare.items()):
            yield path


def holds(path: Path, quotes: Quotes) -> bool:
    """True if the path is a file with one of the texts."""
    try:
        return path.is_file() and bool(quotes.find(path.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return False
