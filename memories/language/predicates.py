"""What is known about predicates and things without a model: how many objects a predicate takes, what excludes what."""

from enum import Enum
from typing import Final

from memories.language.word_tables import parse_mapping, parse_pairs, parse_words, read_sections


class Takes(Enum):
    """How many objects a predicate has at a time."""

    ONE = "one"  # lives in, reports to: another object is another claim
    ONE_NAME = "one name"  # is approved by, is sent through: another name is another claim
    ONE_OF_A_CLASS = "one of a class"  # uses, prefers: another object of the same class is another claim
    MANY = "many"  # speaks, likes, has: only another number is another claim


def _read_predicates() -> dict[tuple[str, ...], tuple[str, Takes]]:
    """Name and number of objects of each predicate, by the words of its wordings."""
    found = {}
    for section, lines in read_sections("predicates").items():
        for line in lines:
            name, _, wordings = line.partition(":")
            for wording in [name, *wordings.split(",")]:
                if wording.strip():
                    found[tuple(wording.split())] = (name.strip(), Takes(section))
    return found


# Each wording as normalised by read_claims(): no articles, verbs without the s of the third person.
PREDICATES: Final = _read_predicates()

_THINGS: Final = read_sections("things")
# Things that exclude each other in most places; the words as read_claims() normalises them.
CLASSES: Final = tuple(frozenset(line.split()) for line in _THINGS["classes"])
ALIASES: Final = parse_mapping(_THINGS["aliases"])
# A thing has one of each, so "the owner of X is Y" names it.
ATTRIBUTES: Final = parse_words(_THINGS["attributes"])
ONLY_ONE: Final = parse_words(_THINGS["only one"])
ROLES: Final = parse_words(_THINGS["roles"])
COUNTRIES: Final = parse_words(_THINGS["countries"])
# One of a pair excludes the other, whatever the subject.
STATES: Final = parse_pairs(_THINGS["states"])
