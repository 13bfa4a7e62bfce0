"""The site: settings, faces (REST, MCP, web) and the server; what spans rooms is composed here."""

import os

__version__ = "0.2.0"

# Read when numpy is first imported: its own threads spin beside the encoder's, and took half of each search's time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
