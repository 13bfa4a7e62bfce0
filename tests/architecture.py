"""The rules of the house, read off the source with `ast`; each gives its offenders as `path:line: what`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Each room may import itself and these.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "access": frozenset({"storage"}),
    "storage": frozenset(),
    "relations": frozenset({"storage", "access"}),
    "memories": frozenset({"storage", "access", "relations"}),
    "sources": frozenset({"storage", "access", "relations", "memories"}),
    "maintenance": frozenset({"storage", "access", "relations", "memories"}),
    "loci_site": frozenset({"storage", "access", "relations", "memories", "sources", "maintenance"}),
}
ROOMS = tuple(MAY_IMPORT)
OTHER_CODE = ("tests", "bench")
FORBIDDEN_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "core", "manager", "misc"})
SQLITE_LIBRARIES = frozenset({"sqlite3", "pysqlite3", "sqlean", "apsw"})
SQLITE_PLACE = "storage/sqlite/"
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 400

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        return self.path.split("/", 1)[0]

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))


def sources(root: Path, *, folders: tuple[str, ...]) -> list[Source]:
    """Give every Python file under the folders; migrations are written by Django and left out."""
    paths = sorted(path for folder in folders for path in (root / folder).rglob("*.py"))
    return [
        Source(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        for path in paths
        if "migrations" not in path.parts
    ]


def imported_modules(source: Source) -> Iterator[tuple[int, str]]:
    """Give the line and the full name of each module that a file imports; relative imports stay in their room."""
    for node in source.nodes(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module


def wrong_directions(root: Path) -> list[str]:
    """A room imports only what stands above it."""
    return [
        f"{source.path}:{line}: {source.room} imports {module}"
        for source in sources(root, folders=ROOMS)
        for line, module in imported_modules(source)
        if (top := module.split(".", 1)[0]) in MAY_IMPORT
        and top != source.room
        and top not in MAY_IMPORT[source.room]
    ]


def foreign_sqlite(root: Path) -> list[str]:
    """One place chooses the SQLite library; everything else takes Django's connection."""
    return [
        f"{source.path}:{line}: imports {module}"
        for source in sources(root, folders=ROOMS + OTHER_CODE)
        if not source.path.startswith(SQLITE_PLACE)
        for line, module in imported_modules(source)
        if module.split(".", 1)[0] in SQLITE_LIBRARIES or module.startswith("django.db.backends.sqlite3")
    ]


def hidden_imports(root: Path) -> list[str]:
    """An import inside a function carries its reason and the mark."""
    found = []
    for source in sources(root, folders=ROOMS):
        lines = source.text.splitlines()
        inside = {
            node.lineno
            for function in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        found += [
            f"{source.path}:{line}: {lines[line - 1].strip()}"
            for line in sorted(inside)
            if "PLC0415" not in lines[line - 1]
        ]
    return found


def function_lengths(root: Path) -> list[tuple[int, str]]:
    """Give the length of every function without its docstring, and where it stands."""
    return [
        (length_of(function), f"{source.path}:{function.lineno}: {function.name}")
        for source in sources(root, folders=ROOMS)
        for function in source.nodes(ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(function, FunctionNode)
    ]


def length_of(function: FunctionNode) -> int:
    """Count lines from `def` to the end, the docstring left out."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def long_functions(root: Path) -> list[str]:
    """No function is longer than what one can see at once."""
    return [f"{where} has {n} lines" for n, where in function_lengths(root) if n > MAX_FUNCTION_LINES]


def long_files(root: Path) -> list[str]:
    """One file, one idea."""
    return [
        f"{source.path}:1: has {lines} lines"
        for source in sources(root, folders=ROOMS + OTHER_CODE)
        if (lines := source.text.count("\n")) > MAX_FILE_LINES
    ]


def vague_names(root: Path) -> list[str]:
    """A module is named after its noun."""
    return [
        f"{source.path}:1: {part} says nothing"
        for source in sources(root, folders=ROOMS + OTHER_CODE)
        for part in Path(source.path).with_suffix("").parts
        if part in FORBIDDEN_NAMES
    ]
