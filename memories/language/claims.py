"""Sentences parsed into claims: subject, predicate, object, denied or not. Word tables only, no model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from memories.language.quantities import Quantity, read_quantity
from memories.language.word_tables import parse_mapping, parse_pairs, parse_words, read_sections


class Takes(Enum):
    """How many objects a predicate has at a time."""

    ONE = "one"  # lives in, reports to: another object is another claim
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
_PREDICATES: Final = _read_predicates()

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


MAX_SENTENCES = 6  # per text
MAX_WORDS = 40  # per sentence: a longer one is too complex for word tables
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?![a-z])|\n+")
_EDGES: Final = "\"'`“”‘’()[]{}<>,;!*…"
_TABLES: Final = read_sections("claims")
_LABELS: Final = parse_words(_TABLES["labels"])
_PRONOUNS: Final = parse_words(_TABLES["pronouns"])
_ARTICLES: Final = parse_words(_TABLES["articles"])
_FILLERS: Final = parse_words(_TABLES["fillers"])
# The claim covers only some, is uncertain or holds at times: two such claims can both be true.
_VAGUE: Final = parse_words(_TABLES["vague"])
_ADDING: Final = parse_words(_TABLES["adding"])
_PAST: Final = parse_words(_TABLES["past"])
_FUTURE: Final = parse_words(_TABLES["future"])
_SHORT: Final = parse_mapping(_TABLES["short forms"])
_PHRASES: Final = tuple(
    (re.compile(rf"\b{pattern}\b", re.I), instead.strip())
    for pattern, _, instead in (line.partition(" →") for line in _TABLES["phrases"])
)
_NOUNS: Final = parse_words(_TABLES["nouns"])
_PREDICATE_BEGINS: Final = frozenset(wording[0] for wording in _PREDICATES)
_OF: Final = frozenset({"of", "for"})
_TOLD_AS_PAST: Final = frozenset({"was", "were", "had"})


@dataclass(frozen=True)
class Word:
    """A word in its normalised and its written form; a number with its unit, or a date, is one word."""

    norm: str
    raw: str
    quantity: Quantity | None = None
    is_definite: bool = False  # follows "the" or "our": the one of its kind


@dataclass(frozen=True)
class Claim:
    """A parsed sentence. `name` is the predicate; without a known predicate it is empty and `subject` holds every word."""

    subject: tuple[Word, ...]
    name: str
    takes: Takes
    object: tuple[Word, ...]
    is_denied: bool
    time: str  # past, future or present
    marks: frozenset[str]  # adding, vague
    is_told_as_past: bool = False  # "was", "were", "had": what was may have been several things

    @property
    def words(self) -> tuple[str, ...]:
        """Every word except the denial."""
        return (*(w.norm for w in self.subject), self.name, *(w.norm for w in self.object))

    @property
    def flat(self) -> tuple[Word, ...]:
        """Every word in its place, the predicate by its name; without the denial."""
        verb = (Word(self.name, self.name),) if self.name else ()
        return (*self.subject, *verb, *self.object)

    @property
    def about(self) -> tuple[str, ...]:
        """The subject's words in a fixed order, so that "port of the API" and "API port" are one."""
        return tuple(sorted(w.norm for w in self.subject if w.norm not in _OF))

    @property
    def unordered(self) -> tuple[str | tuple[str, ...], ...]:
        """Subject in a fixed order, predicate and object: equal for the same statement in another order."""
        return (self.about, self.name, tuple(w.norm for w in self.object))


@lru_cache(maxsize=32)  # a new text is compared with several; the next stores evict it
def read_claims(text: str) -> tuple[Claim, ...]:
    """Claims of the text's first sentences; long sentences, questions and tables are skipped."""
    sentences = [part for part in _SENTENCE_END.split(text[:4_000]) if part.strip()][:MAX_SENTENCES]
    claims = []
    for number, sentence in enumerate(sentences):
        words = [] if sentence.rstrip().endswith("?") or "|" in sentence else _normalize_words(sentence)
        refers_back = number > 0 and words and words[0].norm in _PRONOUNS
        if 1 < len(words) <= MAX_WORDS and not refers_back:
            claims.append(_parse_claim(words))
    return tuple(claims)


def _normalize_words(sentence: str) -> list[Word]:
    """Words as they are compared: short forms expanded, articles and fillers dropped, verbs without their s."""
    for pattern, instead in _PHRASES:
        sentence = pattern.sub(instead, sentence)
    words: list[Word] = []
    for raw in _expand_colon(sentence.split()):
        words += _split_short_form(raw)
    kept: list[Word] = []
    is_definite = False
    for at, word in enumerate(words):
        # The A of "Service A" is not an article.
        if word.norm in _ARTICLES and (at == 0 or word.raw != "A"):
            is_definite = word.norm in ("the", "our")
        elif word.raw.casefold() not in _FILLERS:
            kept.append(replace(word, is_definite=True) if is_definite else word)
            is_definite = False
    return _join_quantities(kept)


def _expand_colon(raws: list[str]) -> list[str]:
    """Turn "timeout: 30 s" into "timeout is 30 s" and drop a label such as "Decision: …"."""
    for at, raw in enumerate(raws[:5]):
        if raw.endswith(":"):
            if raw[:-1].strip(_EDGES).casefold() in _LABELS:
                return raws[at + 1 :]
            has_verb = any(w.casefold() in ("is", "are", "use", "uses") for w in raws)
            return raws if has_verb else [*raws[:at], raw[:-1], "is", *raws[at + 1 :]]
    return raws


def _split_short_form(raw: str) -> list[Word]:
    """The words that one written word stands for: "isn't" is two, a mark alone is none."""
    bare = raw.strip(_EDGES).rstrip(".:?").replace("’", "'")
    if not bare:
        return []
    low = bare.casefold()
    bare += "," * raw.endswith(",")  # marks the word as part of a list
    if low in _SHORT:
        return [Word(part, bare) for part in _SHORT[low].split()]
    if "'" not in low:
        return [Word(_singular(low), bare)]
    if low.endswith("n't"):
        return [Word(_SHORT.get(low[:-3], low[:-3]), bare), Word("not", bare)]
    for ending in ("'s", "s'", "'re", "'ve", "'ll"):
        if low.endswith(ending):
            rest = low[: -len(ending)] + ("s" if ending == "s'" else "")
            return [Word(_singular(rest), bare)]
    return [Word(_singular(low), bare)]


def _singular(word: str) -> str:
    """The word without the s of a plural or of the third person, by its common name: "uses" and "use" are one word."""
    if not word[-1:].isalpha() or len(word) < 4:
        return ALIASES.get(word, word)
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return ALIASES.get(word, word)


def _join_quantities(words: list[Word]) -> list[Word]:
    """Join a number with its unit, and the parts of a date, into one word each."""
    joined: list[Word] = []
    at = 0
    while at < len(words):
        found = read_quantity([w.raw for w in words[at : at + 4]])
        if found is None:
            joined.append(words[at])
            at += 1
            continue
        raw = " ".join(w.raw for w in words[at : at + found.words])
        joined.append(Word(found.norm, raw, found))
        at += found.words
    return joined


def _parse_claim(words: list[Word]) -> Claim:
    """The claim that the words make: split at the first known predicate."""
    norms = [w.norm for w in words]
    marks = frozenset(mark for mark, signs in (("vague", _VAGUE), ("adding", _ADDING)) if signs & set(norms))
    is_denied = norms.count("not") % 2 == 1
    time = "past" if _PAST & set(norms) else "future" if _FUTURE & set(norms) else "present"
    is_past = any(w.raw.casefold() in _TOLD_AS_PAST for w in words)
    words = [w for w in words if w.norm not in ("not", "do", "formerly")]
    found = _find_predicate(words)
    if found is None:
        return Claim(tuple(words), "", Takes.MANY, (), is_denied, time, marks, is_past)
    start, length, name, takes = found
    held = tuple(words[start + length :])
    claim = Claim(tuple(words[:start]), name, takes, held, is_denied, time, marks, is_past)
    return replace(claim, time="present") if name.startswith("was ") else claim


class _FoundPredicate(NamedTuple):
    """A predicate in a sentence: the index of its first word, its number of words, its name and how many objects it takes."""

    start: int
    length: int
    name: str
    takes: Takes


def _find_predicate(words: Sequence[Word]) -> _FoundPredicate | None:
    """The first known predicate.

    A noun that looks like a predicate gives way to a later verb.
    """
    norms = [w.norm for w in words]
    noun: _FoundPredicate | None = None
    for start, norm in enumerate(norms):
        if norm not in _PREDICATE_BEGINS:
            continue
        for length in (4, 3, 2, 1):
            found = _PREDICATES.get(tuple(norms[start : start + length]))
            if found is None or len(norms[start : start + length]) != length:
                continue
            predicate = _FoundPredicate(start, length, *found)
            if not _is_noun(words, start, length):
                return predicate
            noun = noun or predicate
            break
    return noun


def _is_noun(words: Sequence[Word], start: int, length: int) -> bool:
    """True if the words that look like a predicate are a noun: "the lead of ops is", "deploys happen"."""
    word = words[start]
    if length > 1 or word.norm in ("is", "has"):
        return False
    is_inflected = word.raw.endswith("s")
    if word.norm in _NOUNS and not is_inflected:
        return True
    after = words[start + 1].norm if start + 1 < len(words) else ""
    return after == "is" or (is_inflected and after in _PREDICATE_BEGINS and after not in _NOUNS)
