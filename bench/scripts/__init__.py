"""How well recall finds facts in several scripts: `python -m bench.scripts`."""
