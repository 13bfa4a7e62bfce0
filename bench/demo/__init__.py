"""A fictional team for looking at the pages, and their pictures for the docs: `python -m bench.demo`."""
