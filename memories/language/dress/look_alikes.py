"""Letters and digits of other scripts that stand for Latin ones: Cherokee capitals, IPA letters, Arabic-Indic digits.

fold() knows Cyrillic and Greek look-alikes. Stored texts are found by it, so these are kept apart: they only make a text
wait.
"""

import re
import unicodedata
from typing import Final

from memories.language.word_tables import parse_mapping, read_sections

_TABLE: Final = parse_mapping(read_sections("look_alikes")["letters"])
_LOOK_ALIKES: Final = str.maketrans({c: letter for letter, group in _TABLE.items() for c in group})
_ANY: Final = re.compile(f"[{''.join(map(chr, _LOOK_ALIKES))}]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_LATIN: Final = re.compile("[A-Za-z]")
_FOREIGN_DIGIT: Final = re.compile(r"(?![0-9])\d")
_INDICATOR: Final = re.compile("[\U0001f1e6-\U0001f1ff]+")
_INDICATORS: Final = {0x1F1E6 + at: chr(0x61 + at) for at in range(26)}
_MOSTLY = 0.9  # a text of that many Latin letters and look-alikes is written in Latin ones


def with_latin_letters(text: str) -> str:
    """The text with Latin letters and digits for those that look like them or count the same."""
    text = _FOREIGN_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)
    if _INDICATOR.search(text):
        text = spell_indicators(text)
    if not _ANY.search(text):
        return text
    plain = text.translate(_LOOK_ALIKES)
    if len(_LATIN.findall(plain)) >= _MOSTLY * sum(c.isalpha() for c in text):
        return plain
    return _WORD.sub(
        lambda word: word[0].translate(_LOOK_ALIKES) if _LATIN.search(word[0]) else word[0], text
    )


def spell_indicators(text: str) -> str:
    """The text with letters for regional indicators that spell words; flags, which are pairs of them, stay."""
    runs = _INDICATOR.findall(text)
    is_spelt = any(len(run) % 2 for run in runs) or 2 * sum(map(len, runs)) > sum(c.isalpha() for c in text)
    return text.translate(_INDICATORS) if is_spelt else text
