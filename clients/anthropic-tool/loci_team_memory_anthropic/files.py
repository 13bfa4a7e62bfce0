"""Memories as files: a directory is a group, a file is a memory with a name, its versions are the memory's versions."""

import unicodedata
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from anthropic.lib.tools import ToolError
from loci_team_memory_client import Loci, NotFound, calls

ROOT: Final = "/memories"
MAX_PATH_CHARS: Final = 250
_MARK: Final = "memory-file"  # the tag of every file
_MAX_TAG_CHARS: Final = 60
_SIGNS: Final = frozenset(" ._-+@(),")  # besides letters and digits
_WAITING: Final = frozenset({"candidate", "rejected", "quarantined"})


@dataclass(frozen=True)
class Place:
    """A path: the group and the name in it; without a name a directory, without a group the root."""

    path: str
    group: str = ""
    name: str = ""


class Files:
    """The files that a token may see. `home` is the group of files that lie directly under /memories."""

    def __init__(self, loci: Loci, home: str) -> None:
        self.loci, self.home = loci, home

    def place(self, path: str) -> Place:
        """What a path names. Raises ToolError for one that is not allowed."""
        parts = _checked_parts(path)
        clean = "/".join([ROOT, *parts])
        match parts:
            case []:
                return Place(clean)
            case [name]:
                return Place(clean, name) if name in self.groups() else Place(clean, self.home, name)
        return Place(clean, parts[0], "/".join(parts[1:]))

    def path_of(self, file: calls.MemoryOut) -> str:
        """The path of a file; one of the home group that is in no directory lies under the root."""
        name = _name_of(file)
        is_under_root = file.group == self.home and "/" not in name
        return f"{ROOT}/{name}" if is_under_root else f"{ROOT}/{file.group}/{name}"

    def groups(self) -> list[str]:
        """The groups that the token may see."""
        return [group.slug for group in self.loci.list_groups().items]

    def below(self, place: Place) -> list[calls.MemoryOut]:
        """The files in a directory and its directories, by path."""
        start = place.path + "/"
        return sorted(
            (f for f in self._rows(place.group) if self.path_of(f).startswith(start)), key=self.path_of
        )

    def named(self, place: Place) -> list[calls.MemoryOut]:
        """All memories with this name: the file, and versions that wait for a curator."""
        tail = place.name[-_MAX_TAG_CHARS:].strip()
        rows = self._rows(place.group, tail) if place.name else ()
        return [row for row in rows if _name_of(row) == place.name]

    def find(self, place: Place) -> calls.MemoryOut | None:
        """The file as it counts; None if there is none. Raises ToolError if it waits for a curator."""
        rows = self.named(place)
        counting = [row for row in rows if row.trust not in _WAITING]
        if rows and not counting:
            raise ToolError(
                f"The file {place.path} waits in Loci's Review. It can be read once a curator approves it."
            )
        return max(counting, key=_id_of, default=None)

    def is_directory(self, place: Place) -> bool:
        """True for the root, a group and a directory in one that has files."""
        if not place.name:
            return not place.group or place.group in self.groups()
        return bool(self.below(place))

    def add(self, place: Place, text: str) -> calls.StoredOut:
        """Store a new file. Raises ToolError if another one was first, or the guard changed its name."""
        stored = self.loci.store_memory(
            text, group=place.group, type="episodic", scope="group", source="memory-tool", **_labels(place)
        )  # fmt: skip
        rows = self.named(place)
        if all(row.id != stored.id for row in rows):
            raise self._taken_back(
                stored.undo, f"The path {place.path} holds what Loci masks. Use another name."
            )
        if any(row.id < (stored.id or "") for row in rows):
            raise self._taken_back(stored.undo, f"File {place.path} already exists")
        return stored

    def write(self, file: calls.MemoryOut, text: str) -> calls.EditedOut:
        """The next version of a file. Raises Conflict if another one was written since it was read."""
        return self.loci.edit_memory(file.id, content=text, version=file.version)

    def rename(self, file: calls.MemoryOut, to: Place) -> calls.EditedOut:
        """Name a file anew in its group. Raises ToolError if the guard changed the name."""
        labels = _labels(to)
        edited = self.loci.edit_memory(
            file.id, tags=labels["tags"], metadata=file.metadata | labels["metadata"], version=file.version
        )
        if edited.outcome != "queued" and _name_of(edited.memory) != to.name:
            raise self._taken_back(
                edited.undo, f"The path {to.path} holds what Loci masks. Use another name."
            )
        return edited

    def _taken_back(self, undo: str | None, why: str) -> ToolError:
        """The error for a write, which is undone."""
        if undo is not None:
            self.loci.undo_one_write(undo)
        return ToolError(why)

    def _rows(self, group: str, *tags: str) -> list[calls.MemoryOut]:
        """The live memories that are files of a group, or of all; the query knows the token's rights."""
        where = {"group": group} if group else {}
        try:
            rows = [
                *self.loci.every(
                    calls.list_all_memories, tag=[_MARK, *tags], state=["live"], limit=100, **where
                )
            ]
        except NotFound:  # a first file may make the group
            return []
        # With its group, a list has what is global in `everyone`, too.
        return [row for row in rows if _name_of(row) and group in ("", row.group)]


def _name_of(row: calls.MemoryOut) -> str:
    name = row.metadata.get("file", "")
    return name if isinstance(name, str) else ""


def _id_of(row: calls.MemoryOut) -> str:
    return row.id


def _labels(place: Place) -> dict[str, Any]:
    """What a memory has so that it is found by its name."""
    return {"tags": [_MARK, place.name[-_MAX_TAG_CHARS:].strip()], "metadata": {"file": place.name}}


def _checked_parts(path: str) -> list[str]:
    """The parts of a path below /memories. Raises ToolError in the SDK's words, or with what is allowed."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    parts = [part for part in path[len(ROOT) :].split("/") if part]
    if any(part in (".", "..") for piece in parts for part in unquote(piece).replace("\\", "/").split("/")):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    if len(path) > MAX_PATH_CHARS:
        raise ToolError(f"The path has {len(path)} characters; at most {MAX_PATH_CHARS} are allowed.")
    for part in parts:
        is_clean = all(sign.isalnum() or sign in _SIGNS for sign in part) and "  " not in part
        if not is_clean or part != part.strip() or part != unicodedata.normalize("NFC", part):
            raise ToolError(
                f"The name {part!r} is not allowed. Use letters, digits, single spaces inside, and . _ - + @ ( ) ,"
            )
    return parts
