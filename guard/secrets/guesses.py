"""Values that only the words before them give away: "the password is …", `api_key = …`."""

import re
from collections.abc import Iterator
from typing import Final

from guard.patterns import Pattern
from guard.secrets.checks import classes, entropy, is_call, is_filler, is_no_placeholder

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


def find_password(text: str) -> Iterator[tuple[int, int]]:
    """Spans of values after a word for password that people would call a password."""
    for start, end in _values(_PASSWORD, text):
        if looks_chosen(text[start:end]):
            yield start, end


def find_secret(text: str) -> Iterator[tuple[int, int]]:
    """Spans of values after a word for key or token that look random."""
    for start, end in _values(_SECRET, text):
        if looks_random(text[start:end]) and not _PUBLIC.search(text[max(0, start - 40) : start]):
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
            and is_no_placeholder(text, start, stop)
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


def looks_chosen(value: str) -> bool:
    """True for what people choose as a password: 8 characters of 3 classes with a digit, or a random value."""
    if _NETWORK_ADDRESS.fullmatch(value):  # "login from 2a02:8109:…"
        return False
    if len(value) >= 8 and classes(value) >= 3 and any(c.isdigit() for c in value):
        return not is_identifier(value)
    return looks_random(value)


def looks_random(value: str) -> bool:
    """True for values that no person would think of: letters and digits in a high mixture."""
    if _UUID.match(value):
        return True
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if len(value) < 12 or digits < 2 or letters < 2 or is_identifier(value):
        return False
    return entropy(value) >= (3.0 if len(value) >= 16 else 3.2)


def is_identifier(value: str) -> bool:
    """True for names in code and titles: words, joined by signs or capitals, with few digits."""
    words = sum(len(part) for part in _WORD_PARTS.findall(value) if len(part) >= 3)
    signs = sum(c in "_-./:" for c in value)
    others = sum(not c.isalnum() and c not in "_-./:" for c in value)
    return others == 0 and words + signs >= 0.8 * len(value)
