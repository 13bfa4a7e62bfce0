"""Whether a text near a withdrawn one states another fact: another sign, negation, a word in the place of another, a swap.

compare() in same_fact.py proves differences of numbers, identifiers, units and names, and leaves the rest unsure. For a
text near a withdrawn one, unsure means that it waits. These guards let it pass where one or two words took the place of
others, which is how a wrong fact is corrected. An addition, another order of clauses or another phrasing proves nothing,
since that is how a withdrawn text is said again.
"""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby

from memories.language.cleaning import fold
from memories.language.dress import is_kept, tokens_of, undressed_whole, without_accents, without_markup
from memories.language.dress.statements import corrects_or_ends
from memories.language.word_forms import (
    DENIALS,
    DENYING_PARTS,
    EACH,
    JOINING,
    MODALS,
    QUANTITIES,
    STOP,
    TENSE,
    distance,
    strip_endings,
    without_plural,
)

MAX_WORDS = 40  # a longer text does not become another fact by one word
_MAX_REPLACED = 2
_MAX_SWAPPED = 3  # words of each of two parts that changed places
_LIGHT = (STOP - TENSE) | EACH
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
_POINTED = ("ARABIC", "HEBREW")
_CONTRACTED = re.compile(r"(?<=\w)'(?:s|re|ll|ve|m|d)\b")
_NOT = re.compile(r"(?<=\w)n't\b")
_LENGTHENING, _HAMZA = "\u0640", ("\u0653", "\u0655")
_HAN_NUMBER = re.compile("[〇零一二三四五六七八九十百千万亿半两]+")
_SENTENCE_END = re.compile(r"[.!?;。！？]\s*\S")
_TO_HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}


def find_other_fact(old: str, new: str) -> str:
    """Why two near texts state two facts, in words; empty if nothing proves it."""
    left, right = undressed_whole(old), undressed_whole(new)
    if left == right:
        return ""
    if _letters_of(left) == _letters_of(right):
        return "a sign differs that changes a fact"
    if _denials_of(old) != _denials_of(new):
        return "negation differs"
    if corrects_or_ends(old) != corrects_or_ends(new):
        return "one of them says that something is wrong or over"
    if _HAN_NUMBER.findall(old) != _HAN_NUMBER.findall(new):
        return "numbers differ"
    one, other = words_of(old), words_of(new)
    if max(len(one), len(other)) > MAX_WORDS:
        return ""
    shared = QUANTITIES.intersection(one, other)
    if _quantified(one, shared) != _quantified(other, shared):
        return "a quantity belongs to something else"
    if not _SENTENCE_END.search(old) and _are_swapped(one, other):
        return "two parts changed places"
    replaced = _find_replaced(one, other)
    return f"another word in its place: {', '.join(map(' | '.join, replaced))}" if replaced else ""


def _letters_of(undressed: str) -> str:
    """The letters and digits of an undressed text, without its signs."""
    return "".join(c for c in undressed if is_kept(c))


def _denials_of(text: str) -> frozenset[str]:
    """The words that deny, of any language in the table, as they are written."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = tokens_of(plain)
    parts = () if plain.isascii() else (part for part in DENYING_PARTS if part in plain)
    return frozenset(words) & DENIALS | frozenset(parts)


@lru_cache(maxsize=32)
def words_of(text: str) -> tuple[str, ...]:
    """The folded words of a text; in scripts without spaces every letter is one."""
    plain = _CONTRACTED.sub("", _NOT.sub(" not", fold(without_markup(text))))
    if plain.isascii():
        return tuple(re.findall(r"[^\W_]+(?:-[^\W_]+)*", plain))
    words = [""]
    for at, c in enumerate(plain):
        if unicodedata.category(c)[0] == "M":
            words[-1] += c
        elif c.isalnum() and unicodedata.name(c, "").startswith(_UNSPACED):
            words += [c]
        elif c.isalnum():
            joins = words[-1] and at and (is_kept(plain[at - 1]) or plain[at - 1] == "-")
            words += [] if joins and not is_unspaced(words[-1]) else [""]
            words[-1] += c
        elif c == "-" and words[-1] and plain[at + 1 : at + 2].isalnum() and is_kept(plain[at - 1]):
            words[-1] += c
    return tuple(word for word in words if word)


def is_unspaced(word: str) -> bool:
    """True if a word is a letter of a script without spaces."""
    return unicodedata.name(word[0], "").startswith(_UNSPACED)


def _quantified(words: tuple[str, ...], quantities: frozenset[str]) -> list[tuple[str, str]]:
    """Each of the quantities with the word after it."""
    content = [bare(word) for word in words if word not in _LIGHT]
    return sorted(
        (w, without_plural(n)) for w, n in zip(content, [*content[1:], ""], strict=False) if w in quantities
    )


def _are_swapped(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """True if two parts around a third changed places: "A trusts B" and "B trusts A", not "A and B" and "B and A"."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    left, right = one[start : len(one) - end], other[start : len(other) - end]
    if len(left) != len(right):
        return False
    for first in range(1, _MAX_SWAPPED + 1):
        for last in range(1, min(_MAX_SWAPPED, len(left) - first - 1) + 1):
            middle = left[first : len(left) - last]
            if right == left[-last:] + middle + left[:first] and not JOINING.issuperset(middle):
                return True
    return False


def _find_replaced(one: Sequence[str], other: Sequence[str]) -> list[tuple[str, str]]:
    """The words that took the place of others; empty if something else differs too, or if they are variants."""
    found: list[tuple[str, str]] = []
    is_reworded = False  # "works" and "is working" are not two tenses
    for kind, start, end, from_, to in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        left = [word for word in one[start:end] if word not in _LIGHT]
        right = [word for word in other[from_:to] if word not in _LIGHT]
        is_reworded |= len(left) != end - start or len(right) != to - from_
        if bare("".join(left)) == bare("".join(right)):
            continue  # other light words, or the same letters with other spaces
        if len(left) != len(right):
            return []
        found += [(a, b) for a, b in zip(left, right, strict=True) if not _are_variants(a, b)]
    unread = sum(not (is_read(a) and is_read(b)) for a, b in found)
    is_few = len(found) <= _MAX_REPLACED + (unread > 0)
    # Two forms of one verb are two tenses: "leads" and "led".
    is_proven = any(
        _name_two_things(a, b) or (not is_reworded and strip_endings(a) == strip_endings(b)) for a, b in found
    )
    return found if is_few and is_proven else []


def _name_two_things(one: str, other: str) -> bool:
    """True if two words that are not variants of one are not synonyms either.

    They are one letter apart, or both quantities, or both say how sure something is; or the model cannot read them, so
    that their being near says nothing.
    """
    if not is_read(one) or not is_read(other):
        return True
    is_closed = any({one, other} <= kind for kind in (QUANTITIES, MODALS))
    return is_closed or distance(bare(one), bare(other), most=1) <= 1


def is_read(word: str) -> bool:
    """True for a word in Latin letters: the model was trained on English."""
    return all(c.isascii() or unicodedata.name(c, "").startswith("LATIN") for c in word if c.isalpha())


def _are_variants(one: str, other: str) -> bool:
    """True for two spellings or forms of one word: accents, points on one side only, plural, a doubled or moved letter."""
    left, right = bare(one), bare(other)
    if left == right or without_plural(left) == without_plural(right):
        return True
    if "".join(c for c, _ in groupby(left)) == "".join(c for c, _ in groupby(right)):
        return True
    if unicodedata.name(one[0], "").startswith(_POINTED) and _are_pointed_alike(one, other):
        return True
    differing = [at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b]
    is_moved = len(left) == len(right) and len(differing) == 2 and differing[1] - differing[0] == 1
    return (
        is_moved and left[differing[0]] == right[differing[1]] and left[differing[1]] == right[differing[0]]
    )


def bare(word: str) -> str:
    """A word without accents, hyphens and the difference between the two kana."""
    return (
        word.replace("-", "")
        if word.isascii()
        else without_accents(word).replace("-", "").translate(_TO_HIRAGANA)
    )


def _are_pointed_alike(one: str, other: str) -> bool:
    """True for two Arabic or Hebrew words of the same letters, if one of them has no points, or no hamza."""
    (left, points, hamza), (right, other_points, other_hamza) = _split_points(one), _split_points(other)
    is_same_points = not points or not other_points or points == other_points
    return left == right and is_same_points and (not hamza or not other_hamza or hamza == other_hamza)


def _split_points(word: str) -> tuple[str, str, str]:
    """The letters of a word, its points, and its other marks, without lengthening marks."""
    letters, points, others = "", "", ""
    for c in unicodedata.normalize("NFD", word):
        if unicodedata.category(c) != "Mn":
            letters += c.replace(_LENGTHENING, "")
        elif _HAMZA[0] <= c <= _HAMZA[1]:
            others += c
        else:
            points += c
    return letters, points, others
