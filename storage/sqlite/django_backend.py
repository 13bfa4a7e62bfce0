"""Django's own SQLite backend, imported over the library that Loci chose instead of the standard one.

Its cursor subclasses the library's C type at import, so the library cannot be swapped afterwards. For that import
alone `sqlite3` names ours; then every name in `sys.modules` is put back, whatever was imported before.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

BACKEND = "django.db.backends.sqlite3"


def import_backend(library: ModuleType) -> ModuleType:
    """Give a private copy of `django.db.backends.sqlite3.base` that stands on `library`."""
    dbapi = importlib.import_module(f"{library.__name__}.dbapi2")
    importlib.import_module(BACKEND)  # the package itself stays; only its modules are copied
    with _standing_in({"sqlite3": library, "sqlite3.dbapi2": dbapi}):
        return importlib.import_module(f"{BACKEND}.base")


@contextmanager
def _standing_in(names: dict[str, ModuleType]) -> Iterator[None]:
    package = sys.modules[BACKEND]
    attributes = dict(vars(package))
    before = {name: sys.modules.pop(name) for name in [*sys.modules] if _is_affected(name)}
    sys.modules.update(names)
    try:
        yield
    finally:
        for name in [*sys.modules]:
            if _is_affected(name):
                del sys.modules[name]
        sys.modules.update(before)
        vars(package).clear()
        vars(package).update(attributes)


def _is_affected(name: str) -> bool:
    return name == "sqlite3" or name.startswith(("sqlite3.", f"{BACKEND}."))
