"""How fast imports are: `python -m bench.imports`."""
