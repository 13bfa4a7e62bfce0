"""docs/reference/errors.md: every error that a caller may see."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from access.errors import LociError
from bench.reference import markdown as md

PACKAGES = ("storage", "guard", "access", "relations", "memories", "sources", "maintenance", "loci_site")
# Modules that do work when imported, or need another database.
SKIPPED = frozenset({"migrations", "management", "asgi", "worker", "postgres", "reference"})
INTRO = """\
All interfaces report the same errors. REST answers with the status and `{"code", "message", "hint"}`, plus `field` if one
value is wrong; commands print message and hint, or with `--json` the same object, and end with status 1. The message says
what is wrong, the hint what to do next. Decide by `code`: messages may be reworded."""


def page() -> str:
    """The page as Markdown."""
    rows = []
    for kind in error_kinds():
        first_line = (kind.__doc__ or "").strip().split("\n")[0]
        rows.append([md.code(kind.code), str(kind.status), first_line])
    return md.page("Errors", INTRO, md.table(("code", "status", "when"), rows))


def error_kinds() -> list[type[LociError]]:
    """The first error class of each code, by status and code."""
    for package in PACKAGES:
        import_modules(package)
    by_code: dict[str, type[LociError]] = {}
    for kind in subclasses_of(LociError):
        by_code.setdefault(kind.code, kind)
    return sorted(by_code.values(), key=lambda kind: (kind.status, kind.code))


def subclasses_of(kind: type[LociError]) -> Iterator[type[LociError]]:
    """All error classes of Loci below this one, parents first."""
    for child in kind.__subclasses__():
        if child.__module__.split(".")[0] in PACKAGES:
            yield child
            yield from subclasses_of(child)


def import_modules(name: str) -> None:
    """Import a package with all its modules, which defines every error class."""
    package = import_module(name)
    for found in pkgutil.iter_modules(package.__path__):
        if found.name in SKIPPED:
            continue
        if found.ispkg:
            import_modules(f"{name}.{found.name}")
        else:
            import_module(f"{name}.{found.name}")
