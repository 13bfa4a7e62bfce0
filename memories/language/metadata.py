"""The words of a memory's metadata, by which it is found as by tags."""

from collections.abc import Iterator
from typing import Any, Final

from memories.language.cleaning import first_words

_MAX_WORDS: Final = 30  # more would drown the memory's own words, since BM25 counts the whole row
_IN_TEXT: Final = frozenset({"speaker"})  # keys whose values the text contains already
_OWN_SOURCE: Final = "loci:"  # of what maintenance made: its metadata says how


def metadata_words(metadata: dict[str, Any], source: str) -> str:
    """The first words of the texts and numbers in the metadata of a memory of this source, at any depth, without keys."""
    if not metadata or source.startswith(_OWN_SOURCE):
        return ""
    searched = {name: value for name, value in metadata.items() if name not in _IN_TEXT}
    return first_words(" ".join(_leaves(searched)), _MAX_WORDS)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _leaves(part)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
