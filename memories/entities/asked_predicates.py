"""Whether a question asks for a predicate: "who owns X?" asks for owned_by, and "who is responsible for X?" as well."""

from collections.abc import Collection, Iterable
from typing import Final

from memories.language.word_forms import root
from memories.language.word_tables import parse_mapping, read_sections
from memories.search.query_terms import STOP_WORDS, words

# The verb that a word of a question asks for.
ASKED_AS: Final = {
    word: verb
    for verb, asking in parse_mapping(read_sections("predicate_words")["asked as"]).items()
    for word in asking.split()
}
_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("er", ""), ("s", ""), ("e", ""))
MIN_STEM_CHARS = 3


def predicate_forms(text: str) -> frozenset[str]:
    """What the words of a question have in common with the predicates that they ask for."""
    found = words(text)
    verbs = [ASKED_AS[word] for word in found if word in ASKED_AS]
    return frozenset(forms_of_words([*found, *verbs]))


def matches_predicate(predicate: str, forms: Collection[str]) -> bool:
    """Whether predicate_forms() of a question contain a content word of the predicate ("works_at": work)."""
    content = [word for word in predicate.split("_") if word and word not in STOP_WORDS]
    verbs = [ASKED_AS[word] for word in content if word in ASKED_AS]
    return not forms_of_words([*content, *verbs]).isdisjoint(forms)


def forms_of_words(each: Iterable[str]) -> set[str]:
    """The roots and verb stems of words."""
    return {form for word in each for form in (root(word), verb_stem(word))}


def verb_stem(word: str) -> str:
    """A word without a verb's ending, so that owns, owned and owner are one, and carries and carried."""
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM_CHARS:
            return word.removesuffix(ending) + instead
    return word
