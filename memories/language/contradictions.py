"""Whether two texts contradict each other, found without a model, and by which words.

Each one found asks for a person's time, so what is not sure is none: another subject, another purpose or condition,
another time, "also", "some", "might", or two things that can both hold.
"""

from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum

from memories.language.claims import Claim, Word, read_claims
from memories.language.predicates import ATTRIBUTES, CLASSES, COUNTRIES, ONLY_ONE, ROLES, STATES, Takes
from memories.language.quantities import Quantity, differ

# Of alternatives that no table knows, those as near as this are held for two answers to one question.
ALTERNATIVE_COSINE = 0.8
MAX_SPAN_WORDS = 4
_SLOTS = frozenset(
    [
        "for",
        "as",
        "in",
        "on",
        "at",
        "to",
        "with",
        "by",
        "from",
        "of",
        "about",
        "during",
        "when",
        "via",
        "into",
        "than",
        "over",
        "per",
        "after",
        "before",
        "while",
    ]
)
_LISTS = frozenset(["and", "or", "plus", "&"])
# What these number is one of many: "ticket 12" and "ticket 13" are two things.
_NUMBERED = frozenset(
    [
        "ticket",
        "issue",
        "pr",
        "bug",
        "step",
        "phase",
        "chapter",
        "section",
        "line",
        "page",
        "item",
        "task",
        "sprint",
        "rule",
        "question",
        "figure",
        "table",
        "service",
        "server",
        "node",
        "worker",
        "shard",
        "team",
        "player",
        "commit",
        "build",
        "case",
        "test",
        "part",
        "option",
        "request",
    ]
)
_DATED = frozenset(
    ["is", "is in", "is due", "is scheduled", "start at", "end at", "expire on", "was founded in", "was released on", "is born in",
     "run at", "run", "is set to", "deploy"]
)  # fmt: skip
_OPPOSED = frozenset(pair for one, other in STATES for pair in ((one, other), (other, one)))
_PREFERENCES = frozenset({"prefer", "like", "want"})
_UN = ("un", "in", "im", "non-", "dis")


class ConflictKind(Enum):
    """In what two texts contradict each other."""

    OBJECT = "object"  # the same subject and predicate with another object
    POLARITY = "polarity"  # the one denies what the other says
    VALUE = "value"  # another number, date or version in the same frame
    PREFERENCE = "preference"  # somebody likes or prefers something else


@dataclass(frozen=True)
class Contradiction:
    """How two texts contradict each other, with the words of each that do."""

    kind: ConflictKind
    old: str
    new: str

    @property
    def why(self) -> str:
        """The reason in one line."""
        return f"contradicts: {self.kind.value}, “{self.old}” against “{self.new}”"

    @property
    def evidence(self) -> dict[str, str]:
        """What a link keeps of it."""
        return {"conflict": self.kind.value, "old": self.old, "new": self.new}


def find_contradiction(old: str, new: str, *, cosine: float) -> Contradiction | None:
    """Say how two texts contradict each other; None where they need not. `cosine` is how near their vectors are.

    Sentence by sentence: at most six short ones of each are compared, so the work is bounded.
    """
    left, right = read_claims(old), read_claims(new)
    for one in left:
        for other in right:
            found = _between(one, other, cosine)
            if found is not None:
                return found
    return None


def _between(old: Claim, new: Claim, cosine: float) -> Contradiction | None:
    if old.marks or new.marks:
        return None
    if old.words == new.words or _reordered(old) == _reordered(new):
        return _denial(old, new)
    if old.time != new.time or old.is_denied != new.is_denied:
        return None
    if old.name and old.name == new.name:
        if old.about == new.about:
            return _other_object(old, new, cosine)
        return _other_holder(old, new)
    return _opposite_words(old.subject, new.subject) if not (old.name or new.name) else None


def _reordered(claim: Claim) -> tuple[object, ...]:
    return (claim.about, claim.name, tuple(w.norm for w in claim.object))


def _denial(old: Claim, new: Claim) -> Contradiction | None:
    if old.is_denied == new.is_denied:
        return None
    kind = ConflictKind.PREFERENCE if old.name in _PREFERENCES else ConflictKind.POLARITY
    shown = _shown(old.object) or _shown(old.subject)
    sides = [f"not {shown}" if claim.is_denied else shown for claim in (old, new)]
    return Contradiction(kind, *sides)


def _other_object(old: Claim, new: Claim, cosine: float) -> Contradiction | None:
    """Compare two objects of one subject and predicate."""
    swapped = _swapped_preference(old, new)
    if swapped is not None:
        return swapped
    spans = _one_difference(_unqualified(old.object), _unqualified(new.object))
    if spans is None:
        return None
    before, left, right, after = spans
    if len(left) == len(right) == 1 and left[0].quantity and right[0].quantity:
        return _other_value(old, before, left[0], right[0])
    if old.is_denied:
        return None
    if _are_opposed(left, right):
        return Contradiction(ConflictKind.POLARITY, _shown(left), _shown(right))
    if _excludes(old, before, left, right, after, cosine):
        is_liked = old.name in _PREFERENCES or any(w.norm in ("favourite", "favorite") for w in old.subject)
        kind = ConflictKind.PREFERENCE if is_liked else ConflictKind.OBJECT
        return Contradiction(kind, _shown(left), _shown(right))
    return None


def _other_value(claim: Claim, before: tuple[Word, ...], left: Word, right: Word) -> Contradiction | None:
    old, new = left.quantity, right.quantity
    if old is None or new is None or not differ(old, new) or claim.is_denied:
        return None
    if before and before[-1].norm in _NUMBERED:
        return None
    if old.kind in ("date", "weekday", "time") and not _is_its_time(claim, before, old):
        return None
    return Contradiction(ConflictKind.VALUE, _shown((left,)), _shown((right,)))


def _is_its_time(claim: Claim, before: tuple[Word, ...], at: Quantity) -> bool:
    """Say whether a date, day or hour is what the claim is about, and not only when something was done."""
    content = [w for w in before if w.norm not in _SLOTS]
    is_event = claim.time == "past" and claim.name == "is" and bool(content)
    return claim.name in _DATED and not content and not is_event


def _excludes(
    claim: Claim,
    before: tuple[Word, ...],
    left: tuple[Word, ...],
    right: tuple[Word, ...],
    after: tuple[Word, ...],
    cosine: float,
) -> bool:
    """Say whether a thing that has the one object cannot well have the other."""
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
    return _are_alternatives(claim, left, right, after, cosine)


def _are_alternatives(
    claim: Claim, left: tuple[Word, ...], right: tuple[Word, ...], after: tuple[Word, ...], cosine: float
) -> bool:
    """Say whether two objects are of one sort, of which a thing has one at a time."""
    if _share_a_class(left, right):
        return True
    match claim.name:
        case "is":
            words = {w.norm for w in claim.subject}
            last = _head(claim.subject)
            return bool(words & ONLY_ONE) or last in ATTRIBUTES
        case "is in":
            return all(w.raw[:1].isupper() for w in (*left, *right)) and len(left) == len(right) == 1
        case "prefer":
            return bool(after and after[0].norm not in _SLOTS) or (
                cosine >= ALTERNATIVE_COSINE and len(left) == len(right) == 1
            )
    # "Uses Jira for tickets", "uses Linear for tickets": one purpose, two tools.
    return bool(after) and after[0].norm in ("for", "as") and len(left) <= 2 and len(right) <= 2


def _head(subject: tuple[Word, ...]) -> str:
    """Give the noun that a subject is about: before "of", else the last."""
    norms = [w.norm for w in subject]
    for at, norm in enumerate(norms):
        if norm in ("of", "for", "in", "on") and at > 0:
            return norms[at - 1]
    return norms[-1] if norms else ""


def _share_a_class(left: tuple[Word, ...], right: tuple[Word, ...]) -> bool:
    ours, theirs = {w.norm for w in left}, {w.norm for w in right}
    return any(ours & group and theirs & group for group in CLASSES)


def _other_holder(old: Claim, new: Claim) -> Contradiction | None:
    """Find two people who both are the one lead, owner or chair of the same thing."""
    if old.name != "is" or old.is_denied or not old.object or _norms(old.object) != _norms(new.object):
        return None
    holders = (old.subject, new.subject)
    are_names = all(0 < len(h) <= 2 and all(w.raw[:1].isupper() for w in h) for h in holders)
    if not are_names or old.object[0].norm not in ROLES or len(old.object) < 2:
        return None
    return Contradiction(ConflictKind.OBJECT, _shown(old.subject), _shown(new.subject))


def _swapped_preference(old: Claim, new: Claim) -> Contradiction | None:
    """Find "prefers tabs over spaces" against "prefers spaces", with or without its own "over tabs"."""
    if old.name != "prefer" or old.is_denied or new.is_denied:
        return None
    (liked, passed), (likes_now, passes_now) = _choice(old.object), _choice(new.object)
    if (passed and passed == likes_now) or (passes_now and passes_now == liked):
        return Contradiction(ConflictKind.PREFERENCE, _shown(old.object), _shown(new.object))
    return None


def _choice(said: tuple[Word, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give what is preferred, and to what."""
    norms = _norms(said)
    for sign in ("over", "to", "than"):
        if sign in norms:
            at = norms.index(sign)
            liked = norms[: at - 1] if at and norms[at - 1] == "rather" else norms[:at]
            return liked, norms[at + 1 :]
    return norms, ()


def _opposite_words(old: tuple[Word, ...], new: tuple[Word, ...]) -> Contradiction | None:
    """Find one word against its opposite in two sentences that are else the same; not in what they are about."""
    spans = _one_difference(old, new)
    if spans is None or not spans[0] or not _are_opposed(spans[1], spans[2]):
        return None
    return Contradiction(ConflictKind.POLARITY, _shown(spans[1]), _shown(spans[2]))


def _are_opposed(left: tuple[Word, ...], right: tuple[Word, ...]) -> bool:
    if len(left) != 1 or len(right) != 1:
        return False
    one, other = left[0].norm, right[0].norm
    if (one, other) in _OPPOSED:
        return True
    short, long_ = sorted((one, other), key=len)
    return len(short) > 4 and any(long_ == prefix + short for prefix in _UN)


def _unqualified(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Leave out since when something holds."""
    norms = _norms(words)
    return words[: norms.index("since")] if "since" in norms else words


def _one_difference(
    old: tuple[Word, ...], new: tuple[Word, ...]
) -> tuple[tuple[Word, ...], tuple[Word, ...], tuple[Word, ...], tuple[Word, ...]] | None:
    """Give what stands before the one difference, its two sides, and what stands after; None where there are more."""
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
