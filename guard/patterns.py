"""RE2 as the detectors use it: patterns that compile on first use, and passes that say which of many can match.

RE2 matches in linear time, whatever the text. It has no look-around, so patterns capture the value as group 1.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

import re2

_MEMORY_BYTES: Final = 64 << 20  # for each automaton, at most
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


class PatternSets:
    """Which of many RE2 patterns match somewhere in a text.

    One automaton for all of them builds new states for nearly every text and overflows the processor's cache: three to ten
    times slower on unseen texts. So they are spread over `parts` automata.
    """

    def __init__(self, sources: Iterable[str], *, parts: int, ignores_case: bool = False) -> None:
        self._sources = tuple(sources)
        self._parts = parts
        self._ignores_case = ignores_case

    @cached_property
    def _sets(self) -> "tuple[re2._Set, ...]":
        options = re2.Options()
        options.case_sensitive = not self._ignores_case
        options.never_capture = True
        options.max_mem = _MEMORY_BYTES
        made = []
        for part in range(min(self._parts, len(self._sources))):
            patterns = re2.Set.SearchSet(options)
            for source in self._sources[part :: self._parts]:
                patterns.Add(source)
            patterns.Compile()
            made.append(patterns)
        return tuple(made)

    def matching(self, text: str) -> Iterator[int]:
        """The numbers of the patterns that match, in no order."""
        for part, patterns in enumerate(self._sets):
            for index in patterns.Match(text) or ():
                yield index * self._parts + part


class Keywords:
    """Words to look for, whatever their case; each leads to what it may announce (by number).

    A word that begins with `re:` is a pattern.
    """

    def __init__(self, words: Iterable[tuple[str, int]]) -> None:
        literals: dict[str, list[int]] = {}
        patterns: dict[str, list[int]] = {}
        for word, owner in words:
            if word.startswith(_AS_PATTERN):
                patterns.setdefault(word.removeprefix(_AS_PATTERN), []).append(owner)
            else:
                literals.setdefault(re2.escape(word), []).append(owner)
        self._kinds = tuple(
            (PatternSets(each, parts=1, ignores_case=True), [*each.values()]) for each in (literals, patterns)
        )

    def owners(self, text: str) -> set[int]:
        """The numbers whose words occur in the text."""
        return {
            owner for sets, owners in self._kinds for index in sets.matching(text) for owner in owners[index]
        }
