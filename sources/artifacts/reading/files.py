"""The files of a folder that may become evidence, and their texts. Runs on the command's machine, never for a client.

Never read: a built-in list, then what each folder's .gitignore and .lociignore name, with git's rules.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from pathspec import GitIgnoreSpec

from access.errors import InvalidInput, TooLarge
from sources.artifacts.chunking.blocks import FileText
from sources.artifacts.reading.documents import Unreadable, read_docx, read_pdf
from sources.models import FileKind

_IGNORE_FILES: Final = (".gitignore", ".lociignore")  # the second can take back what the first ignores
_BUILT_IN: Final = Path(__file__).parent / "data" / "ignored.txt"
_MAX_RULES_BYTES: Final = 256 * 1024


@dataclass(frozen=True)
class _IgnoreRules:
    """The rules for a folder: those of its parents first, each with its depth in path components."""

    layers: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def within(self, folder: Path, depth: int) -> "_IgnoreRules":
        """The rules of a folder `depth` components below the root, with its own ignore files."""
        lines = [line for name in _IGNORE_FILES for line in _read_rules(folder / name)]
        return _IgnoreRules((*self.layers, (depth, GitIgnoreSpec.from_lines(lines)))) if lines else self

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """True if the path is ignored. The innermost matching rule decides, except for secrets."""
        name = f"{path}/" if is_folder else path
        if built_in().match_file(name):
            return True
        parts = name.split("/")
        for depth, spec in reversed(self.layers):
            found = spec.check_file("/".join(parts[depth:]))
            if found.include is not None:
                return found.include
        return False


@cache
def built_in() -> GitIgnoreSpec:
    """The built-in list."""
    return GitIgnoreSpec.from_lines(_BUILT_IN.read_text(encoding="utf-8").splitlines())


def _read_rules(path: Path) -> Iterator[str]:
    if path.is_symlink() or not path.is_file():
        return
    with path.open("rb") as stream:
        yield from stream.read(_MAX_RULES_BYTES).decode("utf-8", "replace").splitlines()


MAX_TEXT_BYTES: Final = 1024**2
MAX_DOCUMENT_BYTES: Final = 32 * 1024**2  # a page of a PDF has many bytes and few words
_MAX_PATH_CHARS: Final = 500
_SNIFFED_BYTES: Final = 8192
CODE: Final = """
.py .pyi .js .jsx .mjs .cjs .ts .tsx .vue .svelte .go .rs .java .kt .kts .scala .c .h .cc .cpp .hpp
.cs .m .swift .rb .php .pl .pm .lua .r .jl .ex .exs .erl .hs .ml .clj .sh .bash .zsh .fish .ps1 .sql
.proto .graphql .tf .css .scss .less .html .htm .xml .json .jsonc .yml .yaml .toml .ini .cfg .conf
.gradle .cmake .nix .zig .dart .groovy dockerfile makefile
"""
# How a file is split, by its suffix or name. What is not listed is text if it reads as text.
KINDS: Final[dict[FileKind, frozenset[str]]] = {
    FileKind.MARKDOWN: frozenset({".md", ".markdown", ".mdx", ".mdc", ".locus"}),
    FileKind.CODE: frozenset(CODE.split()),
    FileKind.PDF: frozenset({".pdf"}),
    FileKind.DOCX: frozenset({".docx"}),
}
_KIND_OF: Final = {suffix: kind for kind, suffixes in KINDS.items() for suffix in suffixes}
DOCUMENTS: Final = (FileKind.PDF, FileKind.DOCX)
_ENCODINGS: Final = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


@dataclass(frozen=True)
class FileRules:
    """The caller's choices: patterns to include (empty: all) and exclude, and the largest text in bytes."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_bytes: int = MAX_TEXT_BYTES

    def admits(self, path: str) -> bool:
        """True if the patterns admit the path."""
        if self.exclude and GitIgnoreSpec.from_lines(self.exclude).match_file(path):
            return False
        return not self.include or GitIgnoreSpec.from_lines(self.include).match_file(path)


@dataclass(frozen=True)
class FoundFile:
    """A file that may be read: its path below the root, its location on disk, and its kind."""

    path: str
    place: Path
    kind: FileKind


def walk_files(root: Path, below: Path, rules: FileRules, skipped: Counter[str]) -> Iterator[FoundFile]:
    """The files below `below`, a folder or file within `root`, in the order of their paths; counts what it leaves out.

    Links are not followed: they could lead out of the folder.
    """
    rest = below.relative_to(root).parts
    ignore = _IgnoreRules().within(root, 0)
    for depth, _ in enumerate(rest, start=1):
        at = root.joinpath(*rest[:depth])
        if ignore.ignores("/".join(rest[:depth]), is_folder=at.is_dir()):
            skipped["ignored"] += 1
            return
        if at.is_dir():
            ignore = ignore.within(at, depth)
    if below.is_file():
        yield from _admitted(below, "/".join(rest), rules, skipped)
    else:
        yield from _walk_folder(below, rest, ignore, rules, skipped)


def _walk_folder(
    folder: Path, parts: Sequence[str], ignore: _IgnoreRules, rules: FileRules, skipped: Counter[str]
) -> Iterator[FoundFile]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = "/".join((*parts, entry.name))
        if entry.is_symlink():
            skipped["link"] += 1
        elif entry.is_dir():
            if ignore.ignores(path, is_folder=True):
                skipped["ignored folder"] += 1
                continue
            inner = Path(entry.path)
            yield from _walk_folder(
                inner, (*parts, entry.name), ignore.within(inner, len(parts) + 1), rules, skipped
            )
        elif ignore.ignores(path):
            skipped["ignored"] += 1
        elif entry.is_file():
            yield from _admitted(Path(entry.path), path, rules, skipped)


def _admitted(place: Path, path: str, rules: FileRules, skipped: Counter[str]) -> Iterator[FoundFile]:
    kind, size = kind_of(path), place.stat().st_size
    limit = max(MAX_DOCUMENT_BYTES, rules.max_bytes) if kind in DOCUMENTS else rules.max_bytes
    if not rules.admits(path):
        skipped["left out by a pattern"] += 1
    elif size > limit:
        skipped[f"larger than {limit // 1024} KiB"] += 1
    elif not size:
        skipped["empty"] += 1
    elif len(path) > _MAX_PATH_CHARS or not path.isprintable():
        skipped["name too long, or not printable"] += 1
    else:
        yield FoundFile(path, place, kind)


def kind_of(path: str) -> FileKind:
    """The kind of a file, which decides how it is split."""
    name = PurePosixPath(path.lower())
    return _KIND_OF.get(name.suffix or name.name, FileKind.TEXT)


def check_path(path: str) -> str:
    """The checked path of a sent file, which is a name only: nothing is opened under it.

    Raises:
        InvalidInput: it is empty, too long or not relative, leads upwards, or names what is never read.
    """
    clean = path.replace("\\", "/").strip()
    parts = clean.split("/")
    if not clean or clean.startswith("/") or {"", ".", ".."} & set(parts) or not clean.isprintable():
        raise InvalidInput(
            f"'{path[:80]}' is not a path within a folder.",
            hint="Use one such as docs/setup.md.",
            field="path",
        )
    if len(clean) > _MAX_PATH_CHARS:
        raise TooLarge(f"The path is longer than {_MAX_PATH_CHARS} characters.", field="path")
    if built_in().match_file(clean):
        raise InvalidInput(
            f"'{clean[:80]}' is on the list of files that are never read: secrets, locks and builds.",
            hint="Store what matters of it as a memory.",
            field="path",
        )
    return clean


def read_text(data: bytes, kind: FileKind) -> FileText:
    """The text of a file's bytes.

    Raises:
        Unreadable: it is not text, or a document that cannot be read.
    """
    if kind == FileKind.PDF:
        return read_pdf(data)
    if kind == FileKind.DOCX:
        return read_docx(data)
    encoding = next((name for mark, name in _ENCODINGS if data.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in data[:_SNIFFED_BYTES]:
        raise Unreadable("binary")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise Unreadable("neither UTF-8 nor UTF-16") from None
    # The lines as editors number them, without control characters.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return FileText(
        ["".join(c for c in line if c == "\t" or c.isprintable() or ord(c) > 0x9F) for line in lines]
    )
