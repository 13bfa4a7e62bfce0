"""docs/reference/errors.md: every error that a caller may see."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from access.errors import LociError
from loci_site.management.reference import markdown as md

ROOMS = ("storage", "access", "relations", "memories", "sources", "maintenance", "loci_site")
# What does work when it is imported, or needs another database.
LEFT_OUT = frozenset({"migrations", "management", "asgi", "worker", "postgres", "reference"})
INTRO = """\
Every face gives the same errors. REST answers with the status and `{"code", "message", "hint"}`, and `field` where one
value is at fault; commands print message and hint, with `--json` the same object, and end with status 1. The message says
what is wrong, the hint what to do next. Decide by `code`: messages may be reworded."""


def page() -> str:
    """Give the page."""
    rows = [[md.code(kind.code), str(kind.status), _first_line(kind)] for kind in _kinds()]
    return md.page("Errors", INTRO, md.table(("code", "status", "when"), rows))


def _kinds() -> list[type[LociError]]:
    """Give every error once per code, by status and code."""
    for room in ROOMS:
        _import_all(room)
    by_code: dict[str, type[LociError]] = {}
    for kind in _below(LociError):
        by_code.setdefault(kind.code, kind)
    return sorted(by_code.values(), key=lambda kind: (kind.status, kind.code))


def _below(kind: type[LociError]) -> Iterator[type[LociError]]:
    for child in kind.__subclasses__():
        if child.__module__.split(".")[0] in ROOMS:
            yield child
            yield from _below(child)


def _import_all(name: str) -> None:
    """Import a package and what is in it, so that every error is known."""
    package = import_module(name)
    for found in pkgutil.iter_modules(package.__path__):
        if found.name in LEFT_OUT:
            continue
        if found.ispkg:
            _import_all(f"{name}.{found.name}")
        else:
            import_module(f"{name}.{found.name}")


def _first_line(kind: type[LociError]) -> str:
    return (kind.__doc__ or "").strip().split("\n")[0]
