"""Django's own SQLite backend, imported on top of the library that Loci chose instead of the standard one.

Its cursor subclasses the library's C type at import, so the library cannot be swapped afterwards. Only during that
import does `sqlite3` name our library; then every name in `sys.modules` is restored, whatever was imported before.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

BACKEND = "django.db.backends.sqlite3"


def import_backend(library: ModuleType) -> ModuleType:
    """A private copy of `django.db.backends.sqlite3.base` that uses `library`."""
    dbapi = importlib.import_module(f"{library.__name__}.dbapi2")
    importlib.import_module(BACKEND)  # the package itself stays; only its modules are copied
    with substitute_modules({"sqlite3": library, "sqlite3.dbapi2": dbapi}):
        return importlib.import_module(f"{BACKEND}.base")


@contextmanager
def substitute_modules(names: dict[str, ModuleType]) -> Iterator[None]:
    """Replace `sqlite3` by `names` in `sys.modules` and import the backend again during the block."""
    package = sys.modules[BACKEND]
    attributes = dict(vars(package))
    before = {name: sys.modules.pop(name) for name in [*sys.modules] if _is_substituted(name)}
    sys.modules.update(names)
    try:
        yield
    finally:
        for name in [*sys.modules]:
            if _is_substituted(name):
                del sys.modules[name]
        sys.modules.update(before)
        vars(package).clear()
        vars(package).update(attributes)


def _is_substituted(name: str) -> bool:
    return name == "sqlite3" or name.startswith(("sqlite3.", f"{BACKEND}."))
