"""Personal data that a checksum or a plan of numbers confirms. Names are not part of it: memories are about people."""

import ipaddress
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final

from guard.findings import GuardFinding
from guard.patterns import Pattern

_EMAIL = Pattern(
    r"\b([A-Za-z0-9](?:[A-Za-z0-9._%+'-]{0,62}[A-Za-z0-9_+-])?@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\.[A-Za-z]{2,24})\b"
)
_UNICODE_EMAIL = Pattern(
    r"([\p{L}\p{N}][\p{L}\p{N}._%+-]{0,62}@[\p{L}\p{N}][\p{L}\p{N}-]*(?:\.[\p{L}\p{N}-]+)*\.\p{L}{2,24})"
)
_AT_MARKS: Final = ("(at", "( at", "[at", "[ at", "{at", "<at")
_NO_EMAIL = re.compile(
    r"(?i)^(?:git@|no-?reply@|.*@\dx\.|user(?:name)?@)|@(?:localhost|example\.(?:com|org|net)$)|\.(?:png|jpe?g|gif|svg|webp|js|css|local|internal|service|socket|timer|target|mount|slice)$"
)
# Addresses written so that programs do not see them: "anna [at] hafenlicht [dot] de"; with bare words only before a known ending.
_SPELT_EMAIL = Pattern(
    r"(?i)\b([a-z0-9][a-z0-9._+-]{0,62} ?[(\[{<] ?at ?[)\]}>] ?[a-z0-9-]+(?:(?: ?[(\[{<] ?dot ?[)\]}>] ?| dot |\.)[a-z0-9-]+)+"
    r"|[a-z0-9][a-z0-9._+-]{0,62} at [a-z0-9-]+(?: dot [a-z0-9-]+)* dot (?:com|org|net|info|edu|gov|eu|io|de|ch|uk|ie|fr|es|nl|pl|cz|pt|se|dk|fi|au|nz|ca|br|jp))\b"
)
# Seven digits or more, with what people write between them.
_NUMBERS = Pattern(r"((?:\+|\b|\()\d[\d ().\-/\x{A0}]{5,40}\d)")
# What may be an identity number without a run of seven digits: British, Italian.
_SIX_DIGITS = re.compile(r"\d{6}|\d\d ?\d\d ?\d\d ?[A-D]\b|\d\d[A-Z]\d\d[A-Z]\d{3}[A-Z]\b")
_IBAN = Pattern(r"\b([A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{1,4}){3,8})\b")
_GROUPED_IBAN = Pattern(r"(?i)\b([A-Z]{2}\d{2}(?:[ -][A-Z0-9]{4}){2,7}(?:[ -][A-Z0-9]{1,4})?)\b")
_LONG_IDS = Pattern(
    r"(?i)\b([A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]|[A-CEGHJ-PR-TW-Z]{2} ?\d\d ?\d\d ?\d\d ?[A-D]|[XYZ]?\d{7,8}-?[A-Z]|[1-4] ?\d\d ?\d\d ?(?:\d\d|2A|2B) ?\d{3} ?\d{3} ?\d\d|\d{6}[-+]\d{4}|\d{9,11}|\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}|\d{6} ?\d{5}|\d{4} \d{6}|[A-Z]{5}\d{4}[A-Z]|\d{6}[-+A]\d{3}[0-9A-Y]|\d{8}-\d{4}|\d{3}-\d\d-\d{4}|\d{3} \d\d \d{4}|\d{3}\.\d{3}\.\d{3}-\d\d|\d{4} \d{4} \d{4}|\d{3} \d{3} \d{4}|\d{2} \d{3} \d{3} \d{3}|756\.\d{4}\.\d{4}\.\d\d)\b"
)
_IP = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)(?!\.\d)")
_IPV6 = re.compile(r"(?i)(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])")
_PHONE_WORD = re.compile(
    r"(?i)(?:phone|mobile|mob\b|cell|tel(?:\b|\.|efon|éfono|éphone|efone|efono|efoon)|call (?:me|her|him|us|them)?|call\b|fax|whatsapp|handy|sms|contact|rang\b|nås|joindre|répond|after hours|erreich|anruf|llam|chiam|lig(?:ar|ue)|bel\b|bellen|ringa?|office|text me|dial|ring|reach"
    r"|hotline|nummer|numéro|número|numero|portable|móvil|cellulare|celular|telefon|telefoon|mobil|rufnummer|voicemail|телефон|电话|電話|手机|전화|signal)"
)
_LOCAL_GROUPS = re.compile(r"\(?0\d{1,4}\)?(?:[ .-]\d{2,4}){2,4}|\(?0\d{1,4}\)?[ /-]\d{3,4}[ -]?\d{3,5}")
_CARD_WORD = re.compile(
    r"(?i)card|karte|carte|tarjeta|carta|visa|master|amex|cc\b|credit|debit|pan\b|pay|kredit"
)
_ID_WORD = re.compile(
    r"(?i)\bids?\b|_id|order|ticket|timestamp|serial|imei|ref\b|reference|invoice|tracking|account|commit|nonce|epoch|seed|isbn|ean\b|sku"
    r"|parcel|shipment|article|part n|batch|micro|nano|hash|build|device|bestell|artikel|sendung"
)
_VERSION_WORD = re.compile(
    r"(?i)(?:\bv|version|versions?=\"?|release|build|rev|section|chapter|upgrade to|openssl|==|>=|<=|~=|-)\s*$"
)
_CARD_START: Final = re.compile(r"^(?:4|5[1-5]|2[2-7]|3[47]|30|36|38|39|6011|65|64|35|62|50|5[6-8]|6)")
# Identity and tax numbers by country: the module of python-stdnum, and the words that must stand near.
_NATIONAL: Final = (
    ("us.ssn", re.compile(r"(?i)ssn|social security|social-security|soc\.? sec")),
    ("us.itin", re.compile(r"(?i)itin|taxpayer")),
    ("it.codicefiscale", None),
    ("fr.nir", re.compile(r"(?i)nir\b|sécurité sociale|securite sociale|sécu|vitale|insee|social|french")),
    ("es.dni", re.compile(r"(?i)dni|nif|documento|identidad|spanish|españ")),
    ("es.nie", re.compile(r"(?i)nie\b|extranjero|residen")),
    ("de.idnr", re.compile(r"(?i)steuer|idnr|tax|identifikation")),
    ("pl.pesel", re.compile(r"(?i)pesel")),
    ("br.cpf", re.compile(r"(?i)cpf|cadastro")),
    ("in_.aadhaar", re.compile(r"(?i)aadhaar|aadhar|uidai|आधार")),
    ("nl.bsn", re.compile(r"(?i)bsn|burgerservice|sofi")),
    ("ch.ssn", re.compile(r"(?i)ahv|avs\b|sozialversicherung|756")),
    ("se.personnummer", re.compile(r"(?i)person(?:al)?n(?:umme)?r|personal (?:id|identity)|swedish|samordning")),
    ("dk.cpr", re.compile(r"(?i)cpr")),
    ("fi.hetu", re.compile(r"(?i)hetu|henkilötunnus")),
    ("ca.sin", re.compile(r"(?i)\bsin\b|social insurance")),
    ("au.tfn", re.compile(r"(?i)tfn|tax file")),
    ("gb.nhs", re.compile(r"(?i)nhs")),
    ("be.nn", re.compile(r"(?i)rijksregister|registre national|national number|belg")),
    ("no.fodselsnummer", re.compile(r"(?i)fødselsnummer|fodselsnummer|norw|personnummer")),
    ("pt.nif", re.compile(r"(?i)nif\b|contribuinte|portug")),
    ("at.vnr", re.compile(r"(?i)svnr|sozialversicherung|versicherungsnummer|sv-nummer")),
    ("tr.tckimlik", re.compile(r"(?i)kimlik|t\.?c\.? ?no|turk")),
    ("in_.pan", re.compile(r"(?i)\bpan\b|permanent account")),
)  # fmt: skip
_INNER: Final = tuple(
    map(
        ipaddress.ip_network,
        ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "255.0.0.0/8"),
    )
)
_REGIONS: Final = (
    "US", "GB", "DE", "FR", "ES", "IT", "NL", "IN", "AU", "CH", "AT", "BR", "PL", "IE", "SE", "NO",
    "DK", "FI", "BE", "PT",
)  # fmt: skip
# British numbers have no check digit: shape and word must do.
_NINO = re.compile(
    r"(?i)(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]"
)
_NINO_WORD = re.compile(r"(?i)\bni\b|\bnino|national insurance|insurance number")
NEAR_CHARS: Final = 40


def find_personal(text: str) -> list[GuardFinding]:
    """Personal data in a text."""
    found: list[GuardFinding] = []
    if "@" in text:
        pattern = _EMAIL if text.isascii() else _UNICODE_EMAIL
        found += (
            GuardFinding("email-address", s, 0.95)
            for s in pattern.spans(text)
            if not _NO_EMAIL.search(text[slice(*s)])
        )
    if " dot " in (lower := text.lower()) or ("at" in lower and any(mark in lower for mark in _AT_MARKS)):
        found += (GuardFinding("email-address", span, 0.85) for span in _SPELT_EMAIL.spans(text))
    numbers = list(_NUMBERS.spans(text))
    if numbers or _SIX_DIGITS.search(text) is not None:
        found += find_numbers(text, numbers)
    if (":" in text and "::" in text) or text.count(":") > 5:
        found += (
            GuardFinding("ip-address", m.span(), 0.9)
            for m in _IPV6.finditer(text)
            if _is_public_ip(m.group())
        )
    return found


def find_numbers(text: str, numbers: list[tuple[int, int]]) -> Iterator[GuardFinding]:
    """Accounts, cards, identity numbers, addresses and phones in a text with runs of digits."""
    starts = dict([*_GROUPED_IBAN.spans(text), *_IBAN.spans(text)])
    for span in starts.items():
        if (end := _iban_end(text, span)) is not None:
            yield GuardFinding("iban", (span[0], end), 0.99)
    for match in _IP.finditer(text):
        if _is_public_ip(match.group()) and not _VERSION_WORD.search(
            text[max(0, match.start() - 16) : match.start()]
        ):
            yield GuardFinding("ip-address", match.span(), 0.8)
    for span in _LONG_IDS.spans(text):
        if _is_national_id(text, span):
            yield GuardFinding("national-id", span, 0.97)
    for span in numbers:
        yield from _card_or_phone(text, span)


def _card_or_phone(text: str, span: tuple[int, int]) -> Iterator[GuardFinding]:
    """The card or phone number that a run of digits is, if it is one."""
    start, end = span
    value = text[start:end]
    digits = "".join(c for c in value.replace("(0)", "") if c.isdigit())
    if 13 <= len(digits) <= 19 and not (value.startswith("+") or digits.startswith("00")):
        if _is_card(text, span, value, digits):
            yield GuardFinding("card-number", span, 0.95)
        return
    if 7 <= len(digits) <= 15 and _is_phone(text, span, value, digits):
        if start and text[start - 1] == "(":
            start -= 1
        yield GuardFinding("phone-number", (start, end), 0.9 if value.startswith("+") else 0.75)


def _is_card(text: str, span: tuple[int, int], value: str, digits: str) -> bool:
    """True for a valid card number: issuer, length, check digit, and either its usual groups or a word for it."""
    start, end = span
    if not _CARD_START.match(digits) or len(set(digits)) < 2 or not _module("luhn").is_valid(digits):
        return False
    if (start and text[start - 1] in ".-_/#") or (end < len(text) and text[end] in "-_/%"):
        return False
    if value.isdigit() and len(value) in (15, 16) and not _is_near(_ID_WORD, text, span):
        return True
    is_grouped = (
        re.fullmatch(r"\d{4}(?:[ -]\d{4}){2,3}(?:[ -]\d{1,3})?|\d{4}[ -]\d{6}[ -]\d{4,5}", value) is not None
    )
    return is_grouped or _is_near(_CARD_WORD, text, span)


def _is_phone(text: str, span: tuple[int, int], value: str, digits: str) -> bool:
    """True for a valid phone number: with its country, in the usual groups, or after a word for it."""
    start, end = span
    if (start and (text[start - 1].isalnum() or text[start - 1] in "-_./=#$€£@&%")) or value.count(".") == 3:
        return False
    if end < len(text) and (
        text[end] in "%°_=@€$" or (text[end].isalnum() and not text[end : end + 1].isspace())
    ):
        return False
    if re.search(
        r"\d{4}-\d\d-\d\d|\d\d?/\d\d?/\d{2,4}|\b(?:19|20)\d\d ?[-–/] ?(?:19|20)\d\d\b|\d\.\d\d? |\(\d{4}-",
        value,
    ):
        return False
    if value.startswith("+") or digits.startswith("00"):
        plain = value.replace("(0)", "")
        return _is_valid_phone(plain if plain.startswith("+") else "+" + digits.removeprefix("00"), None)
    is_american = re.fullmatch(
        r"(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[.-])\d{3}[.-]\d{4}|1 \d{3} \d{3} \d{4}",
        value.lstrip("(") if value.startswith("((") else value,
    )
    if value[:1].isdigit() and start and text[start - 1] == "(":
        is_american = is_american or re.fullmatch(r"\d{3}\) ?\d{3}[ .-]\d{4}", value)
    if is_american is not None:
        return _is_valid_phone(digits, "US")
    has_word = _is_near(_PHONE_WORD, text, span, before_only=True)
    if _LOCAL_GROUPS.fullmatch(value) and 9 <= len(digits) <= 11:
        # Written as people write numbers at home: a leading zero and groups. Some numbers in use are in no plan.
        return has_word or any(_is_valid_phone(digits, each) for each in _REGIONS)
    return has_word and any(_is_valid_phone(digits, each) for each in _REGIONS)


def _is_valid_phone(number: str, region: str | None) -> bool:
    phonenumbers = import_module("phonenumbers")  # its metadata takes 10 ms to load, and few texts need it
    try:
        parsed = phonenumbers.parse(number, region)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_valid_number(parsed))


def _iban_end(text: str, span: tuple[int, int]) -> int | None:
    """Where a valid IBAN that begins there ends; None if there is none. Words in capitals may follow it."""
    start, end = span
    iban = _module("iban")
    while end - start >= 15:
        try:
            iban.validate(
                text[start:end], check_country=False
            )  # checks of single countries change with their banks
            return end
        except _module("exceptions").ValidationError:
            pass
        cut = text.rfind(" ", start, end)
        if cut < 0:
            return None
        end = cut
    return None


def _is_national_id(text: str, span: tuple[int, int]) -> bool:
    """True for an identity or tax number of a country with a valid checksum, near a word for it if it is only digits."""
    value = text[slice(*span)]
    for name, word in _NATIONAL:
        if word is not None and not _is_near(word, text, span):
            continue
        module = _module(name)
        try:
            if module.is_valid(value):
                return True
        except Exception:  # noqa: S112 - a library's check of foreign text: a failure means no
            continue
    if _NINO.fullmatch(value) and _is_near(_NINO_WORD, text, span):
        return True
    # US numbers are known by their groups.
    if (end := span[1]) < len(text) and text[end] == "-":
        return False
    return bool(re.fullmatch(r"\d{3}-\d\d-\d{4}", value)) and bool(_module("us.ssn").is_valid(value))


def _is_public_ip(value: str) -> bool:
    """True for an address that is reachable from outside, and so may be a person's."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    is_special = (
        address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified
    )
    is_inner = any(address in network for network in _INNER if network.version == address.version)
    return not is_special and not is_inner and not value.endswith(".0") and not value.startswith("0.")


def _is_near(word: re.Pattern[str], text: str, span: tuple[int, int], *, before_only: bool = False) -> bool:
    start, end = span
    after = "" if before_only else text[end : end + NEAR_CHARS]
    return word.search(text[max(0, start - NEAR_CHARS) : start]) is not None or word.search(after) is not None


@cache
def _module(name: str) -> Any:
    return import_module(f"stdnum.{name}")
