"""Connecting agents' clients: which files they read (`catalogue.py`), and merging Loci's own keys into them (`connect.py`)."""
