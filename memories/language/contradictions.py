"""Contradictions between two texts and the words that cause them, found without a model.

Each one costs a person's time, so only certain ones count. Not a contradiction: another subject, another purpose or
condition, another time, "also", "some", "might", or two things that can both be true.
"""

from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum

from memories.language.claims import Claim, Word, read_claims
from memories.language.predicates import ATTRIBUTES, CLASSES, COUNTRIES, ONLY_ONE, ROLES, STATES, Takes
from memories.language.quantities import differ
from memories.language.word_tables import parse_words, read_sections

# Alternatives that no table knows count as two answers to one question from this cosine on.
ALTERNATIVE_COSINE = 0.8
MAX_SPAN_WORDS = 4
_TABLES = read_sections("contradictions")
_SLOTS = parse_words(_TABLES["slots"])
_LISTS = parse_words(_TABLES["lists"])
# Numbered things are one of many: "ticket 12" and "ticket 13" are two things.
_NUMBERED = parse_words(_TABLES["numbered"])
_DATED = frozenset(_TABLES["dated"])
_OPPOSED = frozenset(pair for one, other in STATES for pair in ((one, other), (other, one)))
_PREFERENCES = frozenset({"prefer", "like", "want"})
_UN = ("un", "in", "im", "non-", "dis")


class ConflictKind(Enum):
    """What two texts disagree about."""

    OBJECT = "object"  # the same subject and predicate with another object
    POLARITY = "polarity"  # one denies what the other states
    VALUE = "value"  # another number, date or version in the same frame
    PREFERENCE = "preference"  # a person likes or prefers something else


@dataclass(frozen=True)
class Contradiction:
    """A contradiction between two texts, with the words of each."""

    kind: ConflictKind
    old: str
    new: str

    @property
    def why(self) -> str:
        """The reason in one line."""
        return f"contradicts: {self.kind.value}, “{self.old}” against “{self.new}”"

    @property
    def evidence(self) -> dict[str, str]:
        """Evidence that a link stores."""
        return {"conflict": self.kind.value, "old": self.old, "new": self.new}


def find_contradiction(old: str, new: str, *, cosine: float) -> Contradiction | None:
    """The first contradiction between two texts; None if both can be true. `cosine` is that of their vectors.

    Compares sentence by sentence, at most six short ones per text, so the work is bounded.
    """
    left, right = read_claims(old), read_claims(new)
    for one in left:
        for other in right:
            found = compare_claims(one, other, cosine)
            if found is not None:
                return found
    return None


def compare_claims(old: Claim, new: Claim, cosine: float) -> Contradiction | None:
    """The contradiction between two claims; None for vague claims and for different times or subjects."""
    if old.marks or new.marks:
        return None
    if old.words == new.words or old.unordered == new.unordered:
        return find_denial(old, new)
    if old.time != new.time or old.is_denied != new.is_denied:
        return None
    if old.name and old.name == new.name:
        if old.about == new.about:
            return compare_objects(old, new, cosine)
        return compare_holders(old, new)
    return find_opposite_words(old.subject, new.subject) if not (old.name or new.name) else None


def find_denial(old: Claim, new: Claim) -> Contradiction | None:
    """Of two claims with the same words, one that is denied and one that is not."""
    if old.is_denied == new.is_denied:
        return None
    kind = ConflictKind.PREFERENCE if old.name in _PREFERENCES else ConflictKind.POLARITY
    shown = _shown(old.object) or _shown(old.subject)
    sides = [f"not {shown}" if claim.is_denied else shown for claim in (old, new)]
    return Contradiction(kind, *sides)


def compare_objects(old: Claim, new: Claim, cosine: float) -> Contradiction | None:
    """The contradiction between two objects of one subject and predicate."""
    swapped = find_swapped_preference(old, new)
    if swapped is not None:
        return swapped
    spans = single_difference(drop_since(old.object), drop_since(new.object))
    if spans is None:
        return None
    before, left, right, after = spans
    if len(left) == len(right) == 1 and left[0].quantity and right[0].quantity:
        return compare_values(old, before, left[0], right[0])
    if old.is_denied:
        return None
    if _are_opposed(left, right):
        return Contradiction(ConflictKind.POLARITY, _shown(left), _shown(right))
    if is_exclusive(old, before, left, right, after, cosine):
        is_liked = old.name in _PREFERENCES or any(w.norm in ("favourite", "favorite") for w in old.subject)
        kind = ConflictKind.PREFERENCE if is_liked else ConflictKind.OBJECT
        return Contradiction(kind, _shown(left), _shown(right))
    return None


def compare_values(claim: Claim, before: tuple[Word, ...], left: Word, right: Word) -> Contradiction | None:
    """The contradiction between two quantities; a numbered thing and an incidental date have none."""
    old, new = left.quantity, right.quantity
    if old is None or new is None or not differ(old, new) or claim.is_denied:
        return None
    if before and before[-1].norm in _NUMBERED:
        return None
    if old.kind in ("date", "weekday", "time") and not is_about_time(claim, before):
        return None
    return Contradiction(ConflictKind.VALUE, _shown((left,)), _shown((right,)))


def is_about_time(claim: Claim, before: tuple[Word, ...]) -> bool:
    """True if the claim states a date, day or hour, and not only when something was done."""
    content = [w for w in before if w.norm not in _SLOTS]
    is_event = claim.time == "past" and claim.name == "is" and bool(content)
    return claim.name in _DATED and not content and not is_event


def is_exclusive(
    claim: Claim,
    before: tuple[Word, ...],
    left: tuple[Word, ...],
    right: tuple[Word, ...],
    after: tuple[Word, ...],
    cosine: float,
) -> bool:
    """True if a subject that has one object is unlikely to have the other as well."""
    norms = {w.norm for w in (*left, *right)}
    if not left or not right or len(left) > MAX_SPAN_WORDS or len(right) > MAX_SPAN_WORDS:
        return False
    if norms & (_SLOTS | _LISTS) or any("," in w.raw for w in (*left, *right)):
        return False
    if {w.norm for w in left} & {w.norm for w in right} or any(w.norm in _SLOTS for w in before):
        return False
    if any(w.quantity for w in (*left, *right)):
        return False
    is_country = [bool({w.norm for w in side} & COUNTRIES) for side in (left, right)]
    if is_country[0] != is_country[1]:
        return False
    if claim.takes is Takes.ONE:
        return True
    if claim.takes is Takes.MANY:
        return False
    return are_alternatives(claim, left, right, after, cosine)


def are_alternatives(
    claim: Claim, left: tuple[Word, ...], right: tuple[Word, ...], after: tuple[Word, ...], cosine: float
) -> bool:
    """True if two objects are of one class of which a subject has one at a time."""
    ours, theirs = {w.norm for w in left}, {w.norm for w in right}
    if any(ours & group and theirs & group for group in CLASSES):
        return True
    match claim.name:
        case "is":
            words = {w.norm for w in claim.subject}
            return bool(words & ONLY_ONE) or head_noun(claim.subject) in ATTRIBUTES
        case "is in":
            return all(w.raw[:1].isupper() for w in (*left, *right)) and len(left) == len(right) == 1
        case "prefer":
            return bool(after and after[0].norm not in _SLOTS) or (
                cosine >= ALTERNATIVE_COSINE and len(left) == len(right) == 1
            )
    # "Uses Jira for tickets", "uses Linear for tickets": one purpose, two tools.
    return bool(after) and after[0].norm in ("for", "as") and len(left) <= 2 and len(right) <= 2


def head_noun(subject: tuple[Word, ...]) -> str:
    """The subject's main noun: the one before "of", else the last."""
    norms = [w.norm for w in subject]
    for at, norm in enumerate(norms):
        if norm in ("of", "for", "in", "on") and at > 0:
            return norms[at - 1]
    return norms[-1] if norms else ""


def compare_holders(old: Claim, new: Claim) -> Contradiction | None:
    """Two people who are each the only lead, owner or chair of the same thing."""
    if old.name != "is" or old.is_denied or not old.object or _norms(old.object) != _norms(new.object):
        return None
    holders = (old.subject, new.subject)
    are_names = all(0 < len(h) <= 2 and all(w.raw[:1].isupper() for w in h) for h in holders)
    if not are_names or old.object[0].norm not in ROLES or len(old.object) < 2:
        return None
    return Contradiction(ConflictKind.OBJECT, _shown(old.subject), _shown(new.subject))


def find_swapped_preference(old: Claim, new: Claim) -> Contradiction | None:
    """The pair "prefers tabs over spaces" against "prefers spaces", with or without its own "over tabs"."""
    if old.name != "prefer" or old.is_denied or new.is_denied:
        return None
    (liked, passed), (likes_now, passes_now) = split_preference(old.object), split_preference(new.object)
    if (passed and passed == likes_now) or (passes_now and passes_now == liked):
        return Contradiction(ConflictKind.PREFERENCE, _shown(old.object), _shown(new.object))
    return None


def split_preference(words: tuple[Word, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The preferred thing and what it is preferred to, which may be empty."""
    norms = _norms(words)
    for sign in ("over", "to", "than"):
        if sign in norms:
            at = norms.index(sign)
            liked = norms[: at - 1] if at and norms[at - 1] == "rather" else norms[:at]
            return liked, norms[at + 1 :]
    return norms, ()


def find_opposite_words(old: tuple[Word, ...], new: tuple[Word, ...]) -> Contradiction | None:
    """A word and its opposite in two otherwise equal sentences; never the first word, which may name the subject."""
    spans = single_difference(old, new)
    if spans is None or not spans[0] or not _are_opposed(spans[1], spans[2]):
        return None
    return Contradiction(ConflictKind.POLARITY, _shown(spans[1]), _shown(spans[2]))


def _are_opposed(left: tuple[Word, ...], right: tuple[Word, ...]) -> bool:
    """True for two single words that are opposite states, or of which one has a negating prefix."""
    if len(left) != 1 or len(right) != 1:
        return False
    one, other = left[0].norm, right[0].norm
    if (one, other) in _OPPOSED:
        return True
    short, long_ = sorted((one, other), key=len)
    return len(short) > 4 and any(long_ == prefix + short for prefix in _UN)


def drop_since(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words before "since"."""
    norms = _norms(words)
    return words[: norms.index("since")] if "since" in norms else words


def single_difference(
    old: tuple[Word, ...], new: tuple[Word, ...]
) -> tuple[tuple[Word, ...], tuple[Word, ...], tuple[Word, ...], tuple[Word, ...]] | None:
    """Words before the only difference, its old and new side, and the words after; None for any other number."""
    codes = SequenceMatcher(None, _norms(old), _norms(new), autojunk=False).get_opcodes()
    changes = [code for code in codes if code[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, i1, i2, j1, j2 = changes[0]
    return old[:i1], old[i1:i2], new[j1:j2], old[i2:]


def _norms(words: tuple[Word, ...]) -> tuple[str, ...]:
    return tuple(w.norm for w in words)


def _shown(words: tuple[Word, ...]) -> str:
    return " ".join(w.raw for w in words).rstrip(",")
