"""RE2 as the detectors use it: patterns that compile on first use, and one pass that says which of them can match.

RE2 matches in linear time, whatever the text. It has no look-around, so patterns capture the value as group 1.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

import re2

_AS_PATTERN: Final = "re:"  # before a word that is a pattern


class Pattern:
    """An RE2 pattern, compiled on first use."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def _compiled(self) -> "re2._Regexp":
        options = re2.Options()
        options.log_errors = False
        return re2.compile(self.source, options)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans of the first group that matched (of the whole match if there is none)."""
        compiled = self._compiled
        groups = range(1, compiled.groups + 1)
        for match in compiled.finditer(text):
            spans = (match.span(group) for group in groups)
            yield next((span for span in spans if span[0] >= 0), match.span())

    def is_found(self, text: str) -> bool:
        """True if the pattern matches somewhere."""
        return self._compiled.search(text) is not None


class Keywords:
    """Words to look for in one pass, whatever their case; each leads to what it may announce (by number).

    A word that begins with `re:` is a pattern.
    """

    def __init__(self, words: Iterable[tuple[str, int]]) -> None:
        owners: dict[str, list[int]] = {}
        for word, owner in words:
            owners.setdefault(word, []).append(owner)
        self._owners = tuple(tuple(each) for each in owners.values())
        self._words = tuple(owners)

    @cached_property
    def _set(self) -> "re2.Set":
        options = re2.Options()
        options.case_sensitive = False
        options.never_capture = True
        options.max_mem = 64 << 20
        made = re2.Set.SearchSet(options)
        for word in self._words:
            is_pattern = word.startswith(_AS_PATTERN)
            made.Add(word.removeprefix(_AS_PATTERN) if is_pattern else re2.escape(word))
        made.Compile()
        return made

    def owners(self, text: str) -> set[int]:
        """The numbers whose words occur in the text."""
        return {owner for index in self._set.Match(text) or () for owner in self._owners[index]}
