"""Which of a question's words a text has, in any ending."""

from collections.abc import Sequence

from access.limits.deadline import check_time
from memories.language.cleaning import without_marks
from memories.language.word_forms import DOT, ROOT_CHARS, SIGNS, contains_run, list_forms, root
from memories.search.query_terms import Match, words

# Of a text; those of other scripts take ten times as long.
READ_CHARS, READ_OTHER_CHARS = 20_000, 5_000


def shared_word_shares(match: Match | None, contents: Sequence[str]) -> list[float]:
    """Share (0–1) of the query's words in each text, in any ending, inside identifiers too."""
    number = len(wanted_roots(match))
    return [count / number if number else 0.0 for count in count_shared_words(match, contents)]


def count_shared_words(match: Match | None, contents: Sequence[str]) -> list[int]:
    """How many of the query's words each text has, in any ending, inside identifiers too."""
    wanted = wanted_roots(match)
    if match is None or not wanted:
        return [0] * len(contents)
    with_signs = any(term.endswith(SIGNS) or term.startswith(DOT) for term in match.terms)
    return [len(find_roots(text, wanted, with_signs=with_signs)) for text in contents]


def wanted_roots(match: Match | None) -> set[str]:
    """The roots of the query's words."""
    return {root(word) for term in match.terms for word in term.split()} - {""} if match else set()


def find_roots(text: str, wanted: set[str], *, with_signs: bool) -> set[str]:
    """Those of the roots that the beginning of a text has.

    In ASCII text, searching for each root is faster than taking every word's.
    """
    check_time()
    text = text[: READ_CHARS if text.isascii() else READ_OTHER_CHARS]
    if not text.isascii():
        found = wanted & {
            root(word) for word in {*words(text), *words(without_marks(text)), *list_forms(text)}
        }
    else:
        lowered = text.lower()
        found = {form for form in wanted if _has_root(lowered, form)}
        if with_signs:
            found |= wanted & {root(form) for form in list_forms(text)}
    return found | {form for form in wanted - found if contains_run(text, form, read_as=root)}


def _has_root(lowered: str, form: str) -> bool:
    """Whether a word of a lower-case ASCII text has this root, as root() returns it."""
    at = lowered.find(form)
    while at >= 0:
        if not at or not lowered[at - 1].isalnum():
            end = at + len(form)
            goes_on = lowered[end : end + 1].isalnum()
            if len(form) == ROOT_CHARS and (goes_on or form[-1] != "s"):
                return True
            while lowered[end : end + 1] == "s" and end < at + ROOT_CHARS:
                end += 1
            if form[-1] != "s" and not lowered[end : end + 1].isalnum():
                return True
        at = lowered.find(form, at + 1)
    return False
