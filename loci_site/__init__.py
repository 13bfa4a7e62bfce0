"""The site: settings, interfaces (REST, MCP, web) and the server; the only package that imports all others."""

import os
import sys

# An installed Loci has its other packages in a folder of its own: their names are words that other projects use too.
_PACKAGES = os.path.join(os.path.dirname(__file__), "_packages")  # noqa: PTH118, PTH120 - loci-hook starts without pathlib
if _PACKAGES not in sys.path and (os.path.isdir(_PACKAGES) or ".whl" in _PACKAGES):  # noqa: PTH112 - a zip has no folders
    sys.path.insert(0, _PACKAGES)

from storage.version import __version__  # noqa: E402 - found in that folder

__all__ = ["__version__"]

# Read when numpy is first imported: its threads would compete with the encoder's, which cost half of each search's time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def __getattr__(name: str) -> object:
    """The Celery app, where `celery -A loci_site` looks for it; loaded only then."""
    if name != "celery":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Here, since loci-hook imports this package, and its start must take no time.
    from importlib import import_module  # noqa: PLC0415

    app: object = import_module("loci_site.worker").app
    return app
