"""What a value must look like beyond its pattern. Each check sees the text and the value's span."""

import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Final

_FILLER_WORDS = re.compile(
    r"(?i)^[<\[{(]|^\$|^%|^\*+$|x{6,}|\*{4,}|\.{3,}|…|_here\b|your[_-]?|replace[_-]?me|change[_-]?me|placeholder"
    r"|example_|redacted|insert[_-]|dummy|^(?:abc|123)+$|<[a-z_ -]+>|\$\{|\{\{"
)
_PLACEHOLDER = re.compile(
    r"(?i)^(?:pass(?:word|wd|wort)?|pwd|secret|token|key|user(?:name)?|xxx+|\*+|\.+|none|null|true|false|undefined|string"
    r"|str|value|changeme|example|test|foo|bar|empty|required|optional|hunter2?|stdin|file|prompt|auto|env|os|self"
    r"|\$\w+|\$\{.*|<.*|\{.*|%.*|\[.*|…)$"
)
_KEY_WORDS = re.compile(r"(?i)key|token|secret|password|credential|auth|api|schlüssel|clave|clé")


def is_filler(value: str) -> bool:
    """True for placeholders such as `AKIAXXXXXXXXXXXXXXXX`, and for what a mask already replaced."""
    if len(value) > 400:
        return False
    if _FILLER_WORDS.search(value):
        return True
    if len(value) < 16:
        return False
    return len(set(value.lower())) < 6 or _is_counting(value)


def _is_counting(value: str) -> bool:
    """True if nearly every character follows its predecessor, as in abcdef0123456789."""
    steps = sum(1 for a, b in pairwise(value) if ord(b) - ord(a) in (0, 1))
    return steps > 0.75 * len(value)


def classes(value: str) -> int:
    """How many of these a value has: lower case, upper case, digits, other signs."""
    return sum(
        (
            any(c.islower() for c in value),
            any(c.isupper() for c in value),
            any(c.isdigit() for c in value),
            any(not c.isalnum() for c in value),
        )
    )


def entropy(value: str) -> float:
    """Shannon entropy of the value's characters, in bits."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


def is_mixed(text: str, start: int, end: int) -> bool:
    """True for upper and lower case and digits, without a pattern that people made."""
    value = text[start:end]
    has_all = (
        any(c.islower() for c in value)
        and any(c.isupper() for c in value)
        and any(c.isdigit() for c in value)
    )
    return has_all and entropy(value) >= 3.2


def has_letters_and_digits(text: str, start: int, end: int) -> bool:
    """True for letters and digits in a fair mixture."""
    value = text[start:end]
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    return digits >= 2 and letters >= 2 and entropy(value) >= 2.8


def has_upper_and_lower(text: str, start: int, end: int) -> bool:
    """True for upper and lower case."""
    value = text[start:end]
    return any(c.islower() for c in value) and any(c.isupper() for c in value)


def has_letters(text: str, start: int, end: int) -> bool:
    """True for a value that is no word: digits, or both cases, in a high mixture."""
    return entropy(text[start:end]) >= 3.0 and classes(text[start:end]) >= 3


def is_no_placeholder(text: str, start: int, end: int) -> bool:
    """True for a value that is not the word `password`, a variable or the like."""
    value = text[start:end].strip("'\"`,;")
    return _PLACEHOLDER.match(value) is None and not is_call(value)


def is_url_password(text: str, start: int, end: int) -> bool:
    """True for a password in an address that is no placeholder."""
    value = text[start:end]
    return _PLACEHOLDER.match(value) is None and not value.startswith(("//", "$", "{", "<", "%(", "["))


def is_header_value(text: str, start: int, end: int) -> bool:
    """True for a credential in a header: it has a digit or both cases, and is no word."""
    value = text[start:end]
    is_random = any(c.isdigit() for c in value) or (
        len(value) >= 20 and classes(value) >= 2 and entropy(value) > 3.5
    )
    return is_random and is_no_placeholder(text, start, end)


def has_key_word(text: str, start: int, end: int) -> bool:
    """True if the words before the value speak of a key."""
    return _KEY_WORDS.search(text[max(0, start - 60) : start]) is not None


def is_call(value: str) -> bool:
    """True for code that reads a value from elsewhere: os.environ["X"], get_secret(), config.token."""
    return _CODE.search(value) is not None


_CODE = re.compile(
    r"^[A-Za-z_]\w*(?:\.\w+)*\(|^[A-Za-z_]\w*\[|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\(?|^[A-Za-z_]\w*(?:->|::)\w|^(?:self|this|process|os|config|settings|env|secrets|vars)\."
    r"|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^[a-z]+(?:_[a-z]+)+$"
)

Check = Callable[[str, int, int], bool]
CHECKS: Final[dict[str, Check]] = {
    "mixed": is_mixed,
    "letters-and-digits": has_letters_and_digits,
    "upper-and-lower": has_upper_and_lower,
    "letters": has_letters,
    "not-placeholder": is_no_placeholder,
    "url-password": is_url_password,
    "header-value": is_header_value,
    "key-word": has_key_word,
}
