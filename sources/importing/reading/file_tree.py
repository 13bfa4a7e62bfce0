"""A folder, a zip or a single file, read the same way: names with slashes, and their bytes. Nothing is unpacked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final
from zipfile import BadZipFile, ZipFile, is_zipfile

from access.errors import InvalidInput
from sources.importing.lines import open_file

MAX_FILES: Final = 200_000
MAX_TEXT_BYTES: Final = 2**20  # of one note; larger ones are reported


class FileTree:
    """The files below a path; use it in a `with` block.

    Names are relative, with forward slashes, in order. Links to folders are not followed; what is hidden is listed too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip: ZipFile | None = None
        if path.is_file() and is_zipfile(path):
            try:
                self._zip = ZipFile(path)
            except BadZipFile:
                raise InvalidInput("The zip is broken.", hint="Download it again.", field="file") from None

    def __enter__(self) -> "FileTree":
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()

    @property
    def name(self) -> str:
        """Name of the folder or file, without the suffix of a file."""
        path = self.path.absolute()
        return path.name if path.is_dir() else path.stem

    def names(self, *endings: str) -> list[str]:
        """Names of the files, of those with one of the endings (lower case) if there are any, without outside()."""
        found = (name for name in self._all() if not endings or name.lower().endswith(endings))
        return sorted(name for name in found if not self._leads_out(name))

    def outside(self) -> list[str]:
        """Names that lead out: absolute ones and those with `..` in a zip, links in a folder to files that lie elsewhere."""
        return [name for name in self._all() if self._leads_out(name)]

    def _leads_out(self, name: str) -> bool:
        if self._zip is None:
            file = self.path / name  # realpath() also ends for links that lead in a circle
            return file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(self.path.resolve())
        path = PurePosixPath(name.replace("\\", "/"))
        return path.is_absolute() or ".." in path.parts

    def _all(self) -> Iterator[str]:
        if self._zip is not None:
            yield from (info.filename for info in self._zip.infolist()[:MAX_FILES] if not info.is_dir())
        elif self.path.is_dir():
            for folder, _, files in os.walk(self.path):
                below = Path(folder).relative_to(self.path)
                yield from ((below / file).as_posix() for file in files)
        else:
            yield self.path.name

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """A file for reading, by its name in names().

        Raises:
            InvalidInput: it is in an encrypted or broken zip. NotFound: it cannot be opened.
        """
        if self._zip is None:
            path = self.path / name if self.path.is_dir() else self.path
            if path.exists() and not path.is_file():  # a pipe would never end
                raise InvalidInput(f"{name} is not a file.", field="file")
            with open_file(path) as file:
                yield file
            return
        try:
            with self._zip.open(name) as packed:
                yield packed  # type: ignore[misc]  # it has what a BinaryIO has
        except (BadZipFile, RuntimeError, NotImplementedError, OSError) as error:
            raise InvalidInput(f"{name} in the zip cannot be read: {error}", field="file") from None

    def size(self, name: str) -> int:
        """Size of a file in bytes, unpacked."""
        if self._zip is not None:
            return self._zip.getinfo(name).file_size
        return (self.path / name if self.path.is_dir() else self.path).stat().st_size

    def text(self, name: str) -> str:
        """The text of a small file, line ends as \\n.

        Raises:
            InvalidInput: it is larger than MAX_TEXT_BYTES or not UTF-8.
        """
        with self.open(name) as file:
            raw = file.read(MAX_TEXT_BYTES + 1)
        if len(raw) > MAX_TEXT_BYTES:
            raise InvalidInput(f"It is larger than {MAX_TEXT_BYTES // 2**20} MiB.", field="file")
        try:
            return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        except UnicodeDecodeError:
            raise InvalidInput("It is not UTF-8.", field="file") from None


def is_hidden(name: str) -> bool:
    """True for a file that is hidden, or lies in a hidden folder or one that zips of macOS add."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
