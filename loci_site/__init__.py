"""The site: settings, interfaces (REST, MCP, web) and the server; the only package that imports all others."""

import os

from storage.version import __version__

__all__ = ["__version__"]

# Read when numpy is first imported: its threads would compete with the encoder's, which cost half of each search's time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
