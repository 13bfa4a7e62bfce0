"""Names and words of a question that no candidate has: strangers to the group."""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from memories.language.cleaning import without_marks
from memories.language.word_forms import contains_run, root
from memories.recall.abstention.shared_words import find_roots
from memories.recall.question import Question
from memories.recall.weights import MAX_LENGTH_DIFFERENCE, NAME_CHARS, NAME_SEARCH_CHARS, SPELLING_RATIO

_CAPITALISED = re.compile(r"[^\W\d_][\w'’]{2,}")


def unknown_share(names: Collection[str], contents: Iterable[str]) -> float:
    """Share (0–1) of the names that no text has, in any ending or spelling; 0 without names."""
    unknown = set(names)
    texts: list[str] = []
    for content in contents:
        if not unknown:
            return 0.0
        texts.append(content)
        lowered = content.lower()
        unknown = {name for name in unknown if not has_name(lowered, name)}
    if unknown:
        beginnings = "\n".join(text[:NAME_SEARCH_CHARS] for text in texts)
        capitalised = {
            without_marks(word) for word in set(_CAPITALISED.findall(beginnings)) if word[0].isupper()
        }
        unknown = {name for name in unknown if not is_other_spelling(without_marks(name), capitalised)}
        unknown = {name for name in unknown if not any(contains_run(text, name) for text in texts)}
    return len(unknown) / len(names) if names else 0.0


def has_name(lowered: str, name: str) -> bool:
    """Whether a lower-case text has a word that begins like the name; a short name whole, or in the plural."""
    beginning, is_whole = name[:NAME_CHARS], len(name) <= NAME_CHARS
    at = lowered.find(beginning)
    while at >= 0:
        rest = lowered[at + len(beginning) :][:2].removeprefix("s") if is_whole else ""
        if not lowered[max(at - 1, 0) : at].isalnum() and not rest[:1].isalnum():
            return True
        at = lowered.find(beginning, at + 1)
    return False


def is_other_spelling(name: str, words: Collection[str]) -> bool:
    """Whether one of the lower-case words may be the same name: Mohammed and Muhammad, Akib and Aqib."""
    alike = [
        word for word in words if word[0] == name[0] and abs(len(word) - len(name)) <= MAX_LENGTH_DIFFERENCE
    ]
    return bool(get_close_matches(name, alike, n=1, cutoff=SPELLING_RATIO))


def unknown_word_share(question: Question, contents: Iterable[str]) -> float:
    """Share (0–1) of the question's words that no text has in any ending; names of persons are not counted as words here."""
    named = {root(name) for name in question.person_names}
    wanted = (
        {root(term) for term in question.match.terms if " " not in term} - {""} if question.match else set()
    )
    unknown = wanted - named
    for content in contents:
        if not unknown:
            break
        unknown = unknown - find_roots(content, unknown, with_signs=False)
    return len(unknown) / len(wanted) if wanted else 0.0
