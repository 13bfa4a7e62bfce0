"""The rules of the house, read off the source with `ast`; each gives its offenders as `path:line: what`."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# Each layer may import itself and these.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "access": frozenset({"storage", "guard"}),
    "storage": frozenset(),
    "guard": frozenset(),
    "relations": frozenset({"storage", "guard", "access"}),
    "memories": frozenset({"storage", "guard", "access", "relations"}),
    "sources": frozenset({"storage", "guard", "access", "relations", "memories"}),
    "maintenance": frozenset({"storage", "guard", "access", "relations", "memories"}),
    "loci_site": frozenset({"storage", "guard", "access", "relations", "memories", "sources", "maintenance"}),
}
LAYERS = tuple(MAY_IMPORT)
OTHER_CODE = ("tests", "bench")
FORBIDDEN_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "core", "manager", "misc"})
SQLITE_LIBRARIES = frozenset({"sqlite3", "pysqlite3", "sqlean", "sqlcipher3", "apsw"})
SQLITE_PLACE = "storage/sqlite/"
MAX_FUNCTION_LINES = 60
# Parts of a package that Django or data make: no reader looks for a domain idea there.
NOT_ENTRIES = frozenset({"__init__", "__main__", "apps", "admin", "management", "migrations", "static"})
INSIDES = {"memories.store": frozenset({"decide", "existing", "prepare", "rows", "write"})}
# Names that Django asks for in several places.
FRAMEWORK_CLASSES = frozenset({"Meta", "Command", "Config", "DatabaseWrapper"})

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
READ = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@lru_cache(maxsize=2000)
def parse(text: str) -> ast.Module:
    """The syntax tree of a file, which many rules read."""
    return ast.parse(text)


@lru_cache(maxsize=2000)
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree that a rule reads."""
    return tuple(node for node in ast.walk(parse(text)) if isinstance(node, READ))


@lru_cache(maxsize=2000)
def imports_inside(text: str) -> frozenset[int]:
    """Lines of the imports inside of functions."""
    return frozenset(
        node.lineno
        for function in nodes_of(text)
        if isinstance(function, FunctionNode)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


@dataclass(frozen=True)
class Source:
    """One Python file."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return parse(self.text)

    @property
    def layer(self) -> str:
        return self.path.split("/", 1)[0]

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in nodes_of(self.text) if isinstance(node, kinds))


def sources(root: Path, *, folders: tuple[str, ...]) -> list[Source]:
    """Every Python file under the folders, without migrations, which Django writes."""
    paths = sorted(path for folder in folders for path in (root / folder).rglob("*.py"))
    return [
        Source(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        for path in paths
        if "migrations" not in path.parts
    ]


def imported_modules(source: Source) -> Iterator[tuple[int, str]]:
    """Line and full name of each module that a file imports; relative imports stay in their layer."""
    for node in source.nodes(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module


def wrong_directions(root: Path) -> list[str]:
    """A layer imports only the layers below it."""
    return [
        f"{source.path}:{line}: {source.layer} imports {module}"
        for source in sources(root, folders=LAYERS)
        for line, module in imported_modules(source)
        if (top := module.split(".", 1)[0]) in MAY_IMPORT
        and top != source.layer
        and top not in MAY_IMPORT[source.layer]
    ]


def module_cycles(root: Path) -> list[str]:
    """No module imports itself through others; imports for types and inside functions count."""
    return _cycle(_module_imports(root))


def package_cycles(root: Path) -> list[str]:
    """No two packages of a layer need each other; a module beside them counts for itself."""
    edges: dict[str, set[str]] = defaultdict(set)
    for module, imported in _module_imports(root).items():
        edges[_package(module)] |= {_package(name) for name in imported} - {_package(module)}
    return _cycle(edges)


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _cycle(edges: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return [" imports ".join(reversed(error.args[1]))]
    return []


def _module_imports(root: Path) -> dict[str, set[str]]:
    """Modules of the layers, each with those that it imports."""
    files = {_module_name(source.path): source for source in sources(root, folders=LAYERS)}
    return {
        name: {found for target in _targets(source) if (found := _known(target, files)) and found != name}
        for name, source in files.items()
    }


def _module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _targets(source: Source) -> Iterator[str]:
    """Full names of what a file imports, `package.name` for each imported name."""
    parts = source.path.removesuffix(".py").split("/")
    for node in source.nodes(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [*parts[: -node.level], node.module] if node.level else [node.module]
            yield from (".".join([*filter(None, base), alias.name]) for alias in node.names)


def _known(target: str, modules: dict[str, Source]) -> str:
    """The module that a full name leads to: itself, or the one that defines it."""
    return (
        target
        if target in modules
        else target.rpartition(".")[0]
        if target.rpartition(".")[0] in modules
        else ""
    )


def doubled_class_names(root: Path) -> list[str]:
    """One class, one name."""
    places: dict[str, list[str]] = defaultdict(list)
    for source in sources(root, folders=LAYERS):
        for node in source.nodes(ast.ClassDef):
            if isinstance(node, ast.ClassDef) and node.name not in FRAMEWORK_CLASSES:
                places[node.name].append(f"{source.path}:{node.lineno}")
    return [f"{name}: {', '.join(found)}" for name, found in sorted(places.items()) if len(found) > 1]


def reached_insides(root: Path) -> list[str]:
    """The insides of a package are its own; others take what its `__init__` offers."""
    return [
        f"{source.path}:{line}: imports {module}"
        for source in sources(root, folders=LAYERS)
        for line, module in imported_modules(source)
        for package, parts in INSIDES.items()
        if not source.path.startswith(f"{package.replace('.', '/')}/")
        and module.removeprefix(f"{package}.").split(".")[0] in parts
        and module.startswith(f"{package}.")
    ]


def foreign_sqlite(root: Path) -> list[str]:
    """One place chooses the SQLite library; everything else takes Django's connection."""
    return [
        f"{source.path}:{line}: imports {module}"
        for source in sources(root, folders=LAYERS + OTHER_CODE)
        if not source.path.startswith(SQLITE_PLACE)
        for line, module in imported_modules(source)
        if module.split(".", 1)[0] in SQLITE_LIBRARIES or module.startswith("django.db.backends.sqlite3")
    ]


def hidden_imports(root: Path) -> list[str]:
    """An import inside a function carries its reason and the mark."""
    found = []
    for source in sources(root, folders=LAYERS):
        lines = source.text.splitlines()
        found += [
            f"{source.path}:{line}: {lines[line - 1].strip()}"
            for line in sorted(imports_inside(source.text))
            if "PLC0415" not in lines[line - 1]
        ]
    return found


def function_lengths(root: Path) -> list[tuple[int, str]]:
    """Length of every function without its docstring, and its location."""
    return [
        (length_of(function), f"{source.path}:{function.lineno}: {function.name}")
        for source in sources(root, folders=LAYERS)
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


def vague_names(root: Path) -> list[str]:
    """A module is named after its noun."""
    return [
        f"{source.path}:1: {part} says nothing"
        for source in sources(root, folders=LAYERS + OTHER_CODE)
        for part in Path(source.path).with_suffix("").parts
        if part in FORBIDDEN_NAMES
    ]


# What a decorator hands to Django, to the API's routes or to Celery, and what a document of the API shows by its name.
REGISTERING = re.compile(
    r"admin\.register\b|register\.|\w+\.(?:get|post|patch|put|delete|connect)\b|\w*task\b|receiver\b"
)
WORD = re.compile(r"\w+")
DOTTED = re.compile(r"\w+(?:\.\w+)+")
SHOWN_BY_NAME = frozenset({"Answer", "BaseModel", "MemoryOut", "AppConfig", "part_of"})
# Names that Django looks for, and files that are made of such names.
ASKED_FOR = frozenset({"urlpatterns", "handler500", "app_name", "register", "application", "Command"})
ALL_ASKED_FOR = ("loci_site/settings.py", "loci_site/formats/")


def own_file_names(root: Path) -> list[str]:
    """A module's name that only its own file uses begins with `_`."""
    return [
        f"{path}:{node.lineno}: only its own file uses {name}"
        for path, node, name, users in public_names(root)
        if users == {path}
    ]


def public_names(root: Path) -> list[tuple[str, ast.stmt, str, set[str]]]:
    """Path, statement, name and users of each name of a module without `_`, but for what frameworks call or show by it."""
    everywhere = list(sources(root, folders=LAYERS + OTHER_CODE))
    users: defaultdict[str, set[str]] = defaultdict(set)
    for source in everywhere:
        for name in names_in(source.tree):
            users[name].add(source.path)
        for path in paths_in(source.tree):
            users[path.rpartition(".")[2]].add("by name")
    shown = classes_shown_by_name(everywhere)
    return [
        (source.path, node, name, users[name])
        for source in everywhere
        if source.layer in LAYERS and not source.path.startswith(ALL_ASKED_FOR)
        for node, name in defined_by(source.tree)
        if not (name.startswith("_") or name in shown or name in ASKED_FOR or is_registered(node))
    ]


def is_registered(node: ast.stmt) -> bool:
    """True for what a decorator hands to a framework."""
    return isinstance(node, FunctionNode | ast.ClassDef) and any(
        REGISTERING.match(ast.unparse(decorator)) for decorator in node.decorator_list
    )


def classes_shown_by_name(everywhere: Iterable[Source]) -> set[str]:
    """Names of the classes that come, directly or not, from those of SHOWN_BY_NAME."""
    bases = {
        node.name: {last_name(base) for base in node.bases}
        for source in everywhere
        for node in source.nodes(ast.ClassDef)
        if isinstance(node, ast.ClassDef)
    }
    shown: set[str] = set()
    while more := {name for name, of in bases.items() if of & (shown | SHOWN_BY_NAME)} - shown:
        shown |= more
    return shown


def last_name(base: ast.expr) -> str:
    """The name of a class that another one is made of: `Answer` of `out.Answer`, `part_of` of `part_of(…)`."""
    if isinstance(base, ast.Call):
        return last_name(base.func)
    if isinstance(base, ast.Subscript):
        return last_name(base.value)
    return ast.unparse(base).rpartition(".")[2]


def defined_by(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """The names that a module defines, each with its statement."""
    for node in tree.body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            yield node, node.name
        elif isinstance(node, ast.Assign):
            yield from ((node, target.id) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node, node.target.id


def names_in(tree: ast.Module) -> Iterator[str]:
    """Every name that a file uses, imports or has in a string of its own, as Django's settings have."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            yield node.value.rpartition(".")[2]


def paths_in(tree: ast.Module) -> Iterator[str]:
    """Dotted paths in strings, by which Django imports, and the words of programs for other processes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if DOTTED.fullmatch(node.value):
                yield node.value
            elif "import " in node.value:
                yield from WORD.findall(node.value)
