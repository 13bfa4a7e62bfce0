"""Contradictions between two texts and the words that cause them, found without a model.

Each one costs a person's time, so only certain ones count. Not a contradiction: another subject, another purpose or
condition, another time, "also", "some", "might", or two things that can both be true.
"""

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import Enum

from memories.language.claims import (
    ATTRIBUTES,
    CLASSES,
    COUNTRIES,
    ONLY_ONE,
    ROLES,
    STATES,
    Claim,
    Takes,
    Word,
    read_claims,
)
from memories.language.cleaning import fold
from memories.language.quantities import differ
from memories.language.word_tables import parse_words, read_sections

# Alternatives that no table knows count as two answers to one question from this cosine on.
_ALTERNATIVE_COSINE = 0.8
_MAX_SPAN_WORDS = 4
_READ_CHARS = 600  # of a text that tells a change
_TABLES = read_sections("contradictions")
_SLOTS = parse_words(_TABLES["slots"])
_LISTS = parse_words(_TABLES["lists"])
# Numbered things are one of many: "ticket 12" and "ticket 13" are two things.
_NUMBERED = parse_words(_TABLES["numbered"])
_LIMITS = parse_words(_TABLES["limits"])
_ANY_VERSION = frozenset(_TABLES["any version"])
_HELD_BY_ONE = frozenset(_TABLES["held by one"])
_HELD_FOR_ANYTHING = frozenset(_TABLES["held by one for anything"])
_LED = parse_words(_TABLES["led"])
_EVENTS = parse_words(_TABLES["events"])
_DATED = frozenset(_TABLES["dated"])
_ACTIVE = {"is led by": "lead", "is maintained by": "maintain", "is owned by": "own"}
_LOCATED = frozenset(_TABLES["located"])
# Each with the groups `to` and `gone`, or `who` of a move that does not say from where.
_CHANGES = tuple(re.compile(line, re.I) for line in _TABLES["changes"])
_MANY_VALUED = parse_words(_TABLES["many valued"])
_ORDINALS = parse_words(_TABLES["ordinals"])
_EVERYBODY = parse_words(_TABLES["everybody"])
_FILLED_BY_NAMES = parse_words(_TABLES["filled by names"])
_SPEAKERS = frozenset({"we", "i", "they"})
_OPPOSED = frozenset(pair for one, other in STATES for pair in ((one, other), (other, one)))
_PREFERENCES = frozenset({"prefer", "like", "want"})
_PARTICIPLES = ("ed", "done", "made", "sent", "paid", "run", "cut", "held", "built", "given")
_UN = ("un", "in", "im", "non-", "dis")


class ConflictKind(Enum):
    """What two texts disagree about."""

    OBJECT = "object"  # the same subject and predicate with another object
    POLARITY = "polarity"  # one denies what the other states
    VALUE = "value"  # another number, date or version in the same frame
    PREFERENCE = "preference"  # a person likes or prefers something else
    JUDGED = "judged"  # a judge of the user's says so, not these rules


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


def find_contradiction(old: str, new: str, cosine: float) -> Contradiction | None:
    """The first contradiction between two texts; None if both can be true. `cosine` is that of their vectors.

    Compares sentence by sentence, at most six short ones per text, so the work is bounded.
    """
    left, right = read_claims(old), read_claims(new)
    for one in left:
        for other in right:
            found = _compare_claims(one, other, cosine) or _compare_frames(one, other)
            if found is not None:
                return found
    if (sides := _find_change(old, new)) is not None:
        return Contradiction(ConflictKind.OBJECT, *sides)
    sides = _find_change(new, old)
    return None if sides is None else Contradiction(ConflictKind.OBJECT, *reversed(sides))


def _compare_claims(old: Claim, new: Claim, cosine: float) -> Contradiction | None:
    """The contradiction between two claims; None for vague claims and for different times or subjects."""
    if old.marks or new.marks:
        return None
    if old.words == new.words or old.unordered == new.unordered:
        return _find_denial(old, new)
    if old.time != new.time or old.is_denied != new.is_denied:
        return None
    if old.name and old.name == new.name and old.about == new.about:
        return _compare_objects(old, new, cosine)
    held, holds = _by_holder(old), _by_holder(new)
    if old.name and held.name == holds.name:
        return _compare_holders(held, holds)
    if old.name or new.name:
        return None
    return _find_opposite_words(old.subject, new.subject) or _find_other_value(old, new)


def _compare_frames(old: Claim, new: Claim) -> Contradiction | None:
    """The contradiction between two claims of one frame that differ in one slot, unless what they say takes many values.

    The slot follows the subject and the verb, whatever they are, and both sides are of one kind: names, days, ordinals.
    """
    if old.marks or new.marks or old.time != new.time or old.is_told_as_past or new.is_told_as_past:
        return None
    if old.is_denied != new.is_denied:
        return _find_whole_denial(old, new)
    spans = _single_difference(old.flat, new.flat)
    if old.is_denied or spans is None:
        return None
    before, left, right, after = spans
    if _is_permission(before, left, right, after):
        return Contradiction(ConflictKind.POLARITY, _shown(left), _shown(right))
    # Without a known verb, the first word is the subject and the next may be the verb.
    is_told = len(before) > (len(old.subject) if old.name else 1)
    if not is_told or _takes_many(before, after) or any(word.norm in _EVENTS for word in before):
        return None
    if not _are_of_one_kind(before, left, right, after):
        return None
    kind = ConflictKind.VALUE if left[0].quantity else ConflictKind.OBJECT
    return Contradiction(kind, _shown(left), _shown(right))


def _find_whole_denial(old: Claim, new: Claim) -> Contradiction | None:
    """One claim denies altogether what the other says of more words: "never expire", "expire after 90 days"."""
    denied, stated = (old, new) if old.is_denied else (new, old)
    words, more = (" ".join(_norms(claim.flat)).split() for claim in (denied, stated))
    is_more = len(words) >= 2 and len(more) > len(words) and more[: len(words)] == words
    if not is_more or not any(word.quantity and word.quantity.kind == "duration" for word in stated.flat):
        return None  # "not in August" leaves the rest of the year
    shown = (f"not {_shown(denied.flat[1:])}", _shown(stated.flat[1:]))
    return Contradiction(ConflictKind.POLARITY, *(shown if denied is old else shown[::-1]))


def _is_permission(
    before: tuple[Word, ...], left: tuple[Word, ...], right: tuple[Word, ...], after: tuple[Word, ...]
) -> bool:
    """True if one side is allowed alone and the other is everybody: "only admins may", "every member may"."""
    sides = [{word.norm for word in side} for side in (left, right)]
    if not any("only" in side for side in sides) or not any(side & _EVERYBODY for side in sides):
        return False
    return before[-1].norm in _SLOTS if before else len(after) > 1


def _takes_many(before: tuple[Word, ...], after: tuple[Word, ...]) -> bool:
    """True if the frame's verb takes several values at a time, or what follows the slot sets its sides apart."""
    words = {part for word in before[1:] for part in word.norm.split()}
    return bool(words & _MANY_VALUED) or any(word.norm in _SLOTS and word.norm != "of" for word in after)


def _are_of_one_kind(
    before: tuple[Word, ...], left: tuple[Word, ...], right: tuple[Word, ...], after: tuple[Word, ...]
) -> bool:
    """True if both sides fill the slot in the same way: two days, two ordinals, two names after a preposition."""
    sides = (left, right)
    if {w.norm for w in left} & {w.norm for w in right} or max(map(len, sides)) > _MAX_SPAN_WORDS:
        return False
    if any("," in w.raw or w.norm in _LISTS for side in sides for w in side):
        return False
    place = before[-1].norm.split()[-1]
    if place == "to" and before[0].norm in _SPEAKERS:
        return False  # "we go to" many places
    if all(len(side) == 1 and side[0].quantity for side in sides):
        old, new = left[0].quantity, right[0].quantity
        is_day = old is not None and old.kind in ("weekday", "date")
        is_persons = _is_person(before[0]) and "call" not in {w.norm for w in before}
        is_other = old is not None and new is not None and differ(old, new)
        return is_day and place == "on" and not is_persons and is_other
    if any(w.quantity for side in sides for w in side):
        return False
    if all(len(side) == 1 and side[0].norm in _ORDINALS for side in sides):
        return bool(after)
    if place not in _FILLED_BY_NAMES:
        return False
    if all(is_name(w) for side in sides for w in side):
        are_countries = [bool({w.norm for w in side} & COUNTRIES) for side in sides]
        return are_countries[0] == are_countries[1]
    return place == "by" and bool(after) and all(len(side) == 1 for side in sides)


def _find_change(stated: str, told: str) -> tuple[str, str] | None:
    """What a text states that another tells a change of, and to what: "we use Cursor", "switched from Cursor to Zed"."""
    for form in _CHANGES:
        for found in form.finditer(told[:_READ_CHARS]):
            change = found.groupdict()
            for claim in read_claims(stated):
                if (was := _find_changed(claim, change)) is not None:
                    return was, change["to"].strip()
    return None


def _find_changed(claim: Claim, change: dict[str, str]) -> str | None:
    """The words of a present claim that the change ends; None if it is about something else, or says the new already."""
    if claim.marks or claim.is_denied or claim.time != "present" or not claim.name:
        return None
    held, ended, begun = _shown(claim.object), change.get("gone") or "", change["to"]
    if fold(begun) in fold(held):
        return None
    if ended:
        return held if re.search(rf"(?<!\w){re.escape(fold(ended))}(?!\w)", fold(held)) else None
    is_same = fold(change["who"]) == fold(_shown(claim.subject))
    return held if is_same and claim.name in _LOCATED and is_name(claim.object[0]) else None


def _find_denial(old: Claim, new: Claim) -> Contradiction | None:
    """Of two claims with the same words, one that is denied and one that is not."""
    if old.is_denied == new.is_denied:
        return None
    kind = ConflictKind.PREFERENCE if old.name in _PREFERENCES else ConflictKind.POLARITY
    shown = _shown(old.object) or _shown(old.subject)
    sides = [f"not {shown}" if claim.is_denied else shown for claim in (old, new)]
    return Contradiction(kind, *sides)


def _compare_objects(old: Claim, new: Claim, cosine: float) -> Contradiction | None:
    """The contradiction between two objects of one subject and predicate."""
    swapped = _find_swapped_preference(old, new)
    if swapped is not None:
        return swapped
    spans = _single_difference(_drop_since(old.object), _drop_since(new.object))
    if spans is None:
        return None
    before, left, right, after = spans
    if len(left) == len(right) == 1 and left[0].quantity and right[0].quantity:
        return _compare_values(old, before, left[0], right[0])
    if old.is_denied:
        return None
    if _are_opposed(left, right):
        return Contradiction(ConflictKind.POLARITY, _shown(left), _shown(right))
    if _is_exclusive(old, before, left, right, after, cosine):
        is_liked = old.name in _PREFERENCES or any(w.norm in ("favourite", "favorite") for w in old.subject)
        kind = ConflictKind.PREFERENCE if is_liked else ConflictKind.OBJECT
        return Contradiction(kind, _shown(left), _shown(right))
    return None


def _compare_values(claim: Claim, before: tuple[Word, ...], left: Word, right: Word) -> Contradiction | None:
    """The contradiction between two quantities; a numbered thing and an incidental date have none."""
    old, new = left.quantity, right.quantity
    if old is None or new is None or not differ(old, new) or claim.is_denied:
        return None
    if before and (before[-1].norm in _NUMBERED or (claim.name in _ANY_VERSION and is_name(before[-1]))):
        return None
    if old.kind in ("date", "weekday", "time") and not _is_about_time(claim, before):
        return None
    if old.kind == "weekday" and claim.name != "is" and _is_person(claim.subject[0]):
        return None  # a person does one thing on several days
    return Contradiction(ConflictKind.VALUE, _shown((left,)), _shown((right,)))


def _is_about_time(claim: Claim, before: tuple[Word, ...]) -> bool:
    """True if the claim states a date, day or hour, and not only when something was done."""
    if before and before[-1].norm in _LIMITS:
        return True
    content = [w for w in before if w.norm not in _SLOTS]
    is_habit = claim.name == "is" and claim.time == "present" and len(content) == 1
    if is_habit and before[-1].norm == "on" and content[0].norm.endswith(_PARTICIPLES):
        return True  # "is done on Mondays"
    is_event = claim.time == "past" and claim.name == "is" and bool(content)
    return claim.name in _DATED and not content and not is_event


def _is_exclusive(
    claim: Claim,
    before: tuple[Word, ...],
    left: tuple[Word, ...],
    right: tuple[Word, ...],
    after: tuple[Word, ...],
    cosine: float,
) -> bool:
    """True if a subject that has one object is unlikely to have the other as well."""
    norms = {w.norm for w in (*left, *right)}
    if not left or not right or len(left) > _MAX_SPAN_WORDS or len(right) > _MAX_SPAN_WORDS:
        return False
    if norms & (_SLOTS | _LISTS) or any("," in w.raw for w in (*left, *right)):
        return False
    if {w.norm for w in left} & {w.norm for w in right} or any(w.quantity for w in (*left, *right)):
        return False
    if any(w.norm in _SLOTS for w in before):
        # "Sends alerts to PagerDuty": within a slot only what is known to exclude each other.
        return claim.takes is not Takes.MANY and len(left) == len(right) == 1 and _share_class(left, right)
    is_country = [bool({w.norm for w in side} & COUNTRIES) for side in (left, right)]
    if is_country[0] != is_country[1]:
        return False
    if claim.takes is Takes.ONE:
        # "In Vault" and "in encrypted form" answer two questions.
        return is_name(left[0]) == is_name(right[0])
    if claim.takes is Takes.MANY:
        return False
    return _are_alternatives(claim, left, right, after, cosine)


def _are_alternatives(
    claim: Claim, left: tuple[Word, ...], right: tuple[Word, ...], after: tuple[Word, ...], cosine: float
) -> bool:
    """True if two objects are of one class of which a subject has one at a time."""
    if _share_class(left, right):
        return True
    match claim.name:
        case "is":
            words = {w.norm for w in claim.subject}
            return bool(words & ONLY_ONE) or _head_noun(claim.subject) in ATTRIBUTES | ROLES
        case "is in":
            return all(w.raw[:1].isupper() for w in (*left, *right)) and len(left) == len(right) == 1
        case "prefer":
            return bool(after and after[0].norm not in _SLOTS) or (
                cosine >= _ALTERNATIVE_COSINE and len(left) == len(right) == 1
            )
    # "Uses Jira for tickets", "uses Linear for tickets": one purpose, two tools.
    return (
        claim.name in ("use", "must use")
        and bool(after)
        and after[0].norm in ("for", "as")
        and len(left) <= 2
        and len(right) <= 2
    )


def _share_class(left: tuple[Word, ...], right: tuple[Word, ...]) -> bool:
    """True if both hold a thing of one class, or both are addresses."""
    ours, theirs = {w.norm for w in left}, {w.norm for w in right}
    if all(len(side) == 1 and "@" in side[0].norm.strip("@") for side in (left, right)):
        return True
    return any(ours & group and theirs & group for group in CLASSES)


def is_name(word: Word) -> bool:
    """True if the word is written as a name: Vault, iOS, 1Password."""
    return any(letter.isupper() for letter in word.raw)


def _is_person(word: Word) -> bool:
    """True if a subject's first word is a name; a plural has a capital there too."""
    return is_name(word) and not word.raw.endswith("s")


def _find_other_value(old: Claim, new: Claim) -> Contradiction | None:
    """Another quantity at the end of two otherwise equal sentences without a known verb; events are left out.

    An event ("bought ten laptops") happens more than once.
    """
    spans = _single_difference(old.subject, new.subject)
    if (
        spans is None
        or len(spans[0]) < 2
        or len(spans[1]) != 1
        or len(spans[2]) != 1
        or len(spans[3]) > _MAX_SPAN_WORDS
    ):
        return None
    if any(w.norm in _EVENTS or w.norm.endswith("ed") for w in old.subject):
        return None
    return _compare_values(old, spans[0], spans[1][0], spans[2][0])


def _head_noun(subject: tuple[Word, ...]) -> str:
    """The subject's main noun: the one before "of", else the last."""
    norms = [w.norm for w in subject]
    for at, norm in enumerate(norms):
        if norm in ("of", "for", "in", "on") and at > 0:
            return norms[at - 1]
    return norms[-1] if norms else ""


def _by_holder(claim: Claim) -> Claim:
    """The claim with the person who holds a role as its subject: "the team is led by Bo", "the head of the team is Bo"."""
    if not claim.object or len(claim.object) > 2 or not all(is_name(word) for word in claim.object):
        return claim
    if claim.name in _ACTIVE:
        return replace(claim, subject=claim.object, name=_ACTIVE[claim.name], object=claim.subject)
    if claim.name == "is" and _head_noun(claim.subject) in ROLES and len(claim.subject) > 1:
        return replace(claim, subject=claim.object, object=claim.subject)
    return claim


def _compare_holders(old: Claim, new: Claim) -> Contradiction | None:
    """Two people who are each the only lead, owner or chair of the same thing, or who each lead it."""
    if old.is_denied or not old.object or _norms(old.object) != _norms(new.object):
        return None
    holders = (old.subject, new.subject)
    if not all(0 < len(held_by) <= 2 and all(is_name(w) for w in held_by) for held_by in holders):
        return None
    if not _is_held_by_one(old) or not _is_held_by_one(new):
        return None
    return Contradiction(ConflictKind.OBJECT, _shown(old.subject), _shown(new.subject))


def _is_held_by_one(claim: Claim) -> bool:
    """True if one person at a time does or is what the claim states: leads the data team, is the product owner."""
    if claim.name in _HELD_FOR_ANYTHING:
        return not any(w.quantity for w in claim.object)
    if claim.name in _HELD_BY_ONE:
        is_named = claim.name == "lead" and len(claim.object) == 1 and is_name(claim.object[0])
        return is_named or _head_noun(claim.object) in _LED
    if claim.name != "is":
        return False
    is_of_a_thing = claim.object[0].norm in ROLES and len(claim.object) > 1
    return is_of_a_thing or (claim.object[0].is_definite and _head_noun(claim.object) in ROLES)


def _find_swapped_preference(old: Claim, new: Claim) -> Contradiction | None:
    """The pair "prefers tabs over spaces" against "prefers spaces", with or without its own "over tabs"."""
    if old.name != "prefer" or old.is_denied or new.is_denied:
        return None
    (liked, passed), (likes_now, passes_now) = _split_preference(old.object), _split_preference(new.object)
    if (passed and passed == likes_now) or (passes_now and passes_now == liked):
        return Contradiction(ConflictKind.PREFERENCE, _shown(old.object), _shown(new.object))
    return None


def _split_preference(words: tuple[Word, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The preferred thing and what it is preferred to, which may be empty."""
    norms = _norms(words)
    for sign in ("over", "to", "than"):
        if sign in norms:
            at = norms.index(sign)
            liked = norms[: at - 1] if at and norms[at - 1] == "rather" else norms[:at]
            return liked, norms[at + 1 :]
    return norms, ()


def _find_opposite_words(old: tuple[Word, ...], new: tuple[Word, ...]) -> Contradiction | None:
    """A word and its opposite in two otherwise equal sentences; never the first word, which may name the subject."""
    spans = _single_difference(old, new)
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


def _drop_since(words: tuple[Word, ...]) -> tuple[Word, ...]:
    norms = _norms(words)
    return words[: norms.index("since")] if "since" in norms else words


def _single_difference(
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
