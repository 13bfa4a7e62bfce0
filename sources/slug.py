"""Headings and titles as parts of references and file names."""

import re
from typing import Final

_SLUG: Final = re.compile(r"[^\w]+")


def slug_of(text: str) -> str:
    """A heading as part of a reference: lower case, words joined by hyphens."""
    return _SLUG.sub("-", text.lower()).strip("-")
