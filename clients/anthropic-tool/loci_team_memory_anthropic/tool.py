"""The six commands of the memory tool, in the words of the SDK's own tool for a folder of files."""

import asyncio
from collections.abc import Sequence
from typing import Final, NoReturn

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)
from loci_team_memory_client import Loci, LociError, calls

from loci_team_memory_anthropic.files import ROOT, Files, Place

_LEVELS: Final = 2
_NUMBER_WIDTH: Final = 6


class LociMemoryTool(BetaAbstractMemoryTool):
    """The memory tool on a Loci server.

    `group` holds the files directly under /memories; every other group that the token may see is a directory.
    `last_undo` takes the last write back for 24 hours: `loci.undo_one_write(tool.last_undo)`; None if it cannot be.
    """

    def __init__(
        self, loci: Loci, *, group: str, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = Files(loci, group)
        self.last_undo: str | None = None

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Carry out a command. What Loci refuses is a ToolError with its sentence and hint."""
        try:
            return str(super().execute(command))
        except LociError as error:
            raise ToolError(str(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """A file with line numbers, or the files of a directory."""
        place = self._files.place(command.path)
        file = self._files.find(place)
        if file is None:
            return self._list(place)
        lines = file.content.split("\n")
        first, last = (*(command.view_range or ()), -1, -1)[:2]
        start = max(1, first)
        shown = lines[start - 1 : len(lines) if last == -1 else last]
        label = f"\n\nLoci says of this file: {file.label}." if file.label else ""
        return f"Here's the content of {command.path} with line numbers:\n{_numbered(shown, start)}{label}"

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """A new file."""
        place = self._files.place(command.path)
        if not place.name:
            raise ToolError(f"The path {command.path} is a directory.")
        if self._files.named(place) or self._files.is_directory(place):
            raise ToolError(f"File {command.path} already exists")
        stored = self._files.add(place, command.file_text)
        self.last_undo = stored.undo
        if stored.outcome == "queued":
            return f"The file {command.path} waits in Loci's Review: {stored.why}.{_found(stored)}"
        return f"File created successfully at: {command.path}{_found(stored)}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """The next version of a file, with one text replaced."""
        file = self._file(command.path)
        old, path = command.old_str, command.path
        starts = [at for at in range(len(file.content)) if old and file.content.startswith(old, at)]
        if not starts:
            raise ToolError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        at_lines = [file.content.count("\n", 0, at) + 1 for at in starts]
        if len(starts) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(map(str, at_lines))}. Please ensure it is unique"
            )
        said = self._write(file, file.content.replace(old, command.new_str), path)
        if said.queued:
            return said.queued
        lines, first = said.text.split("\n"), max(1, at_lines[0] - 2)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            f"{_numbered(lines[first - 1 : at_lines[0] + 2], first)}{said.found}"
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """The next version of a file, with lines inserted after a line."""
        file = self._file(command.path)
        lines = file.content.split("\n")
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        said = self._write(file, "\n".join(lines), command.path)
        return said.queued or f"The file {command.path} has been edited.{said.found}"

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file; Loci keeps it for a while, and a person or `last_undo` brings it back."""
        place = self._files.place(command.path)
        file = self._files.find(place)
        if file is None:
            self._refuse(place, "Cannot delete")
        done = self._files.loci.delete_memory(file.id)
        self.last_undo = done.undo
        if done.outcome == "queued":
            return f"The deletion of {command.path} waits in Loci's Review: {done.why}. The file stays until then."
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Name a file anew in its directory; only people move memories to another group."""
        old, new = self._files.place(command.old_path), self._files.place(command.new_path)
        file = self._files.find(old)
        if file is None:
            self._refuse(old, "Cannot rename")
        if not new.name or self._files.named(new) or self._files.is_directory(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        if old.group != new.group:
            raise ToolError(
                f"Cannot move {command.old_path} to another group: a person who curates both moves it in Loci. "
                f"Nothing was changed."
            )
        edited = self._files.rename(file, new)
        self.last_undo = edited.undo
        if edited.outcome == "queued":
            return f"The new name of {command.old_path} waits in Loci's Review: {edited.why}."
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def _file(self, path: str) -> calls.MemoryOut:
        place = self._files.place(path)
        file = self._files.find(place)
        if file is None and self._files.is_directory(place):
            raise ToolError(f"The path {path} is not a file.")
        if file is None:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return file

    def _refuse(self, place: Place, what: str) -> NoReturn:
        """What a path that is not a file cannot be done with."""
        if place.path == ROOT:
            raise ToolError(f"{what} the {ROOT} directory itself")
        if self._files.is_directory(place):
            raise ToolError(
                f"{what} the directory {place.path}: it is a group of Loci, or a part of one. Name its files."
            )
        raise ToolError(f"The path {place.path} does not exist")

    def _list(self, place: Place) -> str:
        """The entries of a directory, two levels deep, without hidden ones."""
        if not self._files.is_directory(place):
            raise ToolError(f"The path {place.path} does not exist. Please provide a valid path.")
        sizes: dict[str, int] = (
            {}
            if place.group
            else {f"{slug}/": 0 for slug in self._files.groups() if slug != self._files.home}
        )
        files = self._files.below(place)
        for file in files:
            parts = self._files.path_of(file)[len(place.path) + 1 :].split("/")
            if any(part.startswith(".") for part in parts):
                continue
            for level in range(1, min(len(parts), _LEVELS) + 1):
                entry = "/".join(parts[:level]) + ("/" if level < len(parts) else "")
                sizes[entry] = sizes.get(entry, 0) + len(file.content.encode())
        whole = sum(len(file.content.encode()) for file in files)
        lines = [
            f"{_size(whole)}\t{place.path}",
            *(f"{_size(sizes[name])}\t{place.path}/{name}" for name in sorted(sizes)),
        ]
        head = f"Here're the files and directories up to {_LEVELS} levels deep in {place.path}, excluding hidden items:"
        return "\n".join([head, *lines])

    def _write(self, file: calls.MemoryOut, text: str, path: str) -> "_Written":
        edited = self._files.write(file, text)
        self.last_undo = edited.undo
        queued = ""
        if edited.outcome == "queued":
            queued = f"The change of {path} waits in Loci's Review: {edited.why}. The file stays as it is until then."
        return _Written(edited.memory.content, queued, _found(edited))


class _Written:
    """The written text, with a note if it waits for a curator and what the guard found."""

    def __init__(self, text: str, queued: str, found: str) -> None:
        self.text, self.queued, self.found = text, queued, found


class AsyncLociMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same tool for AsyncAnthropic; a command waits in a thread."""

    def __init__(
        self, loci: Loci, *, group: str, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.tool = LociMemoryTool(loci, group=group)

    async def _execute(self, command: BetaMemoryTool20250818Command) -> str:
        return await asyncio.to_thread(self.tool.execute, command)

    view = create = str_replace = insert = delete = rename = _execute


def _found(answer: calls.StoredOut | calls.EditedOut) -> str:
    """What Loci's guard found in a text, in words."""
    words = dict.fromkeys(each.words for each in answer.findings or () if each.field == "content")
    return f" Loci: {'; '.join(words)}." if words else ""


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _size(count: int) -> str:
    """Bytes as the SDK writes them: 0B, 1.5K."""
    unit = 0
    size = float(count)
    while size >= 1024 and unit < 3:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f}{'BKMG'[unit]}" if size == int(size) else f"{size:.1f}{'BKMG'[unit]}"
