"""Text as tools return it: between marks."""

import re

_FENCED = re.compile(r"<(memory|checkpoint|reason|relations|question)( [^>]*)?>\n(.*)\n</\1>", re.S)


def inside(fenced: str) -> str:
    """The text between the marks of one memory; it must stand between marks."""
    found = _FENCED.fullmatch(fenced)
    assert found is not None, f"not between marks: {fenced}"
    return found[3]
