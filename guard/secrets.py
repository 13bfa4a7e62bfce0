"""Secrets: one pass over the text for the words that announce them, then the rules that those words belong to."""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from guard.findings import GuardFinding
from guard.hidden import Reading, pieced_together, unescaped
from guard.patterns import Keywords, Pattern

DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True)
class _SecretRule:
    """How one kind of secret is written; `guess` names a detector for values that only the words before them give away."""

    kind: str
    label: str
    words: tuple[str, ...]
    pattern: Pattern
    near: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    guess: str = ""


def read_rules(path: Path = DATA / "secrets.toml") -> tuple[_SecretRule, ...]:
    """The rules in the order of the file: where two find the same, the first one names it."""
    with path.open("rb") as file:
        rules = tomllib.load(file)["rule"]
    return tuple(
        _SecretRule(
            rule["kind"],
            rule["label"],
            tuple(rule["words"]),
            Pattern(rule.get("pattern", "")),
            tuple(rule.get("near", ())),
            tuple(rule.get("checks", ())),
            rule.get("guess", ""),
        )
        for rule in rules
    )


RULES: Final = read_rules()


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


def _entropy(value: str) -> float:
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
    return has_all and _entropy(value) >= 3.2


def _has_letters_and_digits(text: str, start: int, end: int) -> bool:
    """True for letters and digits in a fair mixture."""
    value = text[start:end]
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    return digits >= 2 and letters >= 2 and _entropy(value) >= 2.8


def _has_upper_and_lower(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    return any(c.islower() for c in value) and any(c.isupper() for c in value)


def _has_letters(text: str, start: int, end: int) -> bool:
    """True for a value that is not a word: digits, or both cases, in a high mixture."""
    return _entropy(text[start:end]) >= 3.0 and classes(text[start:end]) >= 3


def _is_no_placeholder(text: str, start: int, end: int) -> bool:
    """True for a value that is not the word `password`, a variable or the like."""
    value = text[start:end].strip("'\"`,;")
    return _PLACEHOLDER.match(value) is None and not is_call(value)


def _is_url_password(text: str, start: int, end: int) -> bool:
    """True for a password in an address that is not a placeholder."""
    value = text[start:end]
    return _PLACEHOLDER.match(value) is None and not value.startswith(("//", "$", "{", "<", "%(", "["))


def _is_header_value(text: str, start: int, end: int) -> bool:
    """True for a credential in a header: it has a digit or both cases, and is not a word."""
    value = text[start:end]
    is_random = any(c.isdigit() for c in value) or (
        len(value) >= 20 and classes(value) >= 2 and _entropy(value) > 3.5
    )
    return is_random and _is_no_placeholder(text, start, end)


def _has_key_word(text: str, start: int, end: int) -> bool:
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
    "letters-and-digits": _has_letters_and_digits,
    "upper-and-lower": _has_upper_and_lower,
    "letters": _has_letters,
    "not-placeholder": _is_no_placeholder,
    "url-password": _is_url_password,
    "header-value": _is_header_value,
    "key-word": _has_key_word,
}


_VALUE = r"[\"'`“”„«»*]{0,3}([^\s\"'`“”„«»<>|]{6,200})"
# Between the word and the value: a sign or a verb, or a few words and then one of them.
_IS = (
    r"(?:[\"']?,?\s{1,40}[\"']?value[\"']?\s?[:=]\s?"  # what follows the name of a variable
    r"|[\"'`\]*_]{0,4}\s{0,3}(?:=>|->|→|:=|==?|[:：＝=])\s{0,3}"
    r"|(?:[ \t]+[^\s.,;:=!?]{1,30}){0,7}?[ \t]+(?:is|was|ist|war|lautet|heißt|es|est|era|è|é|jest|то|это|is:|to|equals|now|currently|wurde)"
    r"(?:[ \t]+(?:set to|now|currently|jetzt|auf|ahora|maintenant|still|changed to|always))?[: \t]{0,3}(?:[ \t]|\n)"
    r"|(?:[ \t]+[^\s.,;:=!?]{1,30}){1,7}?[ \t]{0,2}(?:[:：=]|->|→)[ \t]{0,3}"
    r"|[ \t]{1,3}\(?|[ \t]?\n|(?:是|为|為|は|는|은)[ :：]{0,2}"
    # The tag of an element and the cell of a table.
    r"|>|[ \t]{0,20}\|[ \t]{0,20})"
)
_NAMES_OF_PASSWORDS = (
    r"pas(?:word|wort)|passwrod|pass(?:word|wd|phrase|code|wort)?|pwd|kennwort|contrase(?:ñ|n)a|mot de passe|senha|wachtwoord|lösenord|hasło|пароль"
    r"|\bpw\b|parola|salasana|密码|パスワード|비밀번호|şifre|adgangskode|passord|heslo|login|credentials?"
)
_NAMES_OF_SECRETS = (
    r"(?:(?:api|access|auth|private|client|encryption|signing|license|licence|master|secret|service|shared|account|deploy|webhook"
    r"|session|bot|refresh|bearer|app|personal|admin|root|write|read)[ _-]{0,2}){0,3}(?:keys?|tokens?|secrets?|credentials?|pat)"
    r"|schlüssel|clave|clé|chave|chiave|ключ|токен|jeton|密钥"
)
_PASSWORD = Pattern(rf"(?i)(?:{_NAMES_OF_PASSWORDS})s?{_IS}{_VALUE}")
_SECRET = Pattern(rf"(?i)(?:{_NAMES_OF_SECRETS}){_IS}{_VALUE}")
_TRAILING: Final = ".,;:!?)]}…*"
_NOT_SECRET = re.compile(
    r"(?i)^(?:https?:|www\.|/|\./|~/|[a-z]:\\|\w+@\w|\d{4}-\d\d-\d\d|v?\d+(?:\.\d+){1,3}$|#|@\w|--?\w)|\.(?:py|js|ts|json|ya?ml|toml"
    r"|md|txt|go|rs|java|c|h|cpp|sh|env|pem|key|crt|html?|css|sql|xml|ini|cfg|conf|com|org|net|io|dev)$"
)
_PUBLIC = re.compile(
    r"(?i)public|fingerprint|checksum|digest|commit|\bsha|idempotency|cache[_ -]?key|primary key|foreign key|object key|s3 key|sort key|partition"
)
_NETWORK_ADDRESS = re.compile(r"(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){4,7}")
_UUID = re.compile(r"(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_WORD_PARTS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")


def _find_password(text: str) -> Iterator[tuple[int, int]]:
    """Spans of values after a word for password that people would call a password."""
    for start, end in _values(_PASSWORD, text):
        if _looks_chosen(text[start:end]):
            yield start, end


def _find_secret(text: str) -> Iterator[tuple[int, int]]:
    """Spans of values after a word for key or token that look random."""
    for start, end in _values(_SECRET, text):
        if _looks_random(text[start:end]) and not _PUBLIC.search(text[max(0, start - 40) : start]):
            yield start, end


def _values(pattern: Pattern, text: str) -> Iterator[tuple[int, int]]:
    for start, end in pattern.spans(text):
        value = text[start:end]
        opened = sum(map(value.count, "([{")) - sum(map(value.count, ")]}"))
        stop = end
        while stop > start and text[stop - 1] in _TRAILING and not (opened == 0 and text[stop - 1] in ")]}"):
            stop -= 1
        if text[stop:end].startswith("!") and stop + 1 <= end and any(c.isdigit() for c in text[start:stop]):
            stop += 1  # people end passwords, and no sentence that names one, with "!"
        value = text[start:stop]
        if (
            len(value) >= 6
            and not is_filler(value)
            and _is_no_placeholder(text, start, stop)
            and not is_code(value)
        ):
            yield start, stop


def is_code(value: str) -> bool:
    """True for addresses, paths, versions, calls and the like."""
    return (
        bool(_NOT_SECRET.search(value))
        or is_call(value)
        or ("(" in value and ")" in value and value[0].isalpha())
    )


def _looks_chosen(value: str) -> bool:
    """True for what people choose as a password: 8 characters of 3 classes with a digit, or a random value."""
    if _NETWORK_ADDRESS.fullmatch(value):  # "login from 2a02:8109:…"
        return False
    if len(value) >= 8 and classes(value) >= 3 and any(c.isdigit() for c in value):
        return not _is_identifier(value)
    return _looks_random(value)


def _looks_random(value: str) -> bool:
    """True for values that no person would think of: letters and digits in a high mixture."""
    if _UUID.match(value):
        return True
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if len(value) < 12 or digits < 2 or letters < 2 or _is_identifier(value):
        return False
    return _entropy(value) >= (3.0 if len(value) >= 16 else 3.2)


def _is_identifier(value: str) -> bool:
    """True for names in code and titles: words, joined by signs or capitals, with few digits."""
    words = sum(len(part) for part in _WORD_PARTS.findall(value) if len(part) >= 3)
    signs = sum(c in "_-./:" for c in value)
    others = sum(not c.isalnum() and c not in "_-./:" for c in value)
    return others == 0 and words + signs >= 0.8 * len(value)


NEAR_CHARS: Final = 100  # a word that must stand near the value may be this far away
SURE: Final = 0.95
_LIKELY: Final = 0.85  # the format is common, and a word near it names the provider
GUESSED: Final = 0.6
_WORDS = Keywords((word, number) for number, rule in enumerate(RULES) for word in rule.words)
_GUESSES: Final = {"password": _find_password, "secret": _find_secret}


def find_secrets(text: str) -> list[GuardFinding]:
    """The secrets in a text, also escaped, in pieces or in Base64; overlapping findings are left in, the surest rules first."""
    found = search(text)
    if (reading := unescaped(text)) is not None:
        found += _others(reading, found, at_least=GUESSED)
    if (reading := pieced_together(text)) is not None:
        found += _others(reading, found, at_least=SURE)
    return found


def _others(reading: Reading, found: list[GuardFinding], *, at_least: float) -> list[GuardFinding]:
    """What another reading of the text holds and the text itself does not show as surely."""
    others: list[GuardFinding] = []
    for each in search(reading.text):
        span = reading.span(each.span)
        known = (known.span for known in (*found, *others) if known.confidence >= each.confidence)
        if each.confidence >= at_least and not _overlaps(span, known):
            others.append(GuardFinding(each.kind, span, each.confidence))
    return others


def search(text: str) -> list[GuardFinding]:
    """The secrets in a text as it is written; overlapping findings are left in, the surest rules first."""
    found: list[GuardFinding] = []
    taken: list[tuple[int, int]] = []
    for number in sorted(_WORDS.owners(text)):
        rule = RULES[number]
        if rule.guess:
            spans = [span for span in _GUESSES[rule.guess](text) if not _overlaps(span, taken)]
            confidence = GUESSED
        else:
            spans = [span for span in rule.pattern.spans(text) if holds(rule, text, span)]
            confidence = _LIKELY if rule.near else SURE
        for span in spans:
            if not _overlaps(span, taken):
                taken.append(span)
                found.append(GuardFinding(rule.kind, span, confidence))
    return found


def holds(rule: _SecretRule, text: str, span: tuple[int, int]) -> bool:
    """True if what a rule's pattern found is a value and no placeholder, and stands near the right words."""
    start, end = span
    value = text[start:end]
    if is_filler(value):
        return False
    if rule.near:
        around = text[max(0, start - NEAR_CHARS) : end + NEAR_CHARS].lower()
        if not any(word in around for word in rule.near):
            return False
    return all(CHECKS[check](text, start, end) for check in rule.checks)


def _overlaps(span: tuple[int, int], taken: Iterable[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)
