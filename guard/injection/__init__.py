"""Instructions to an AI inside a text, by phrases of several languages. A hint for a person, never proof."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from guard.escapes import unescaped
from guard.findings import Door, GuardFinding
from guard.hidden import LOOK_ALIKES
from guard.injection.disguise import undressed
from guard.injection.signals import OUTSIDE, SIGNS
from guard.patterns import Keywords, Pattern

DATA: Final = Path(__file__).parent.parent / "data" / "injection.toml"
# "Do not forget the instructions" is the opposite of an injected instruction.
_NEGATED = re.compile(
    r"(?:don['’]?t|do not|never|not to|must not) (?:ignore|disregard|forget|skip|bypass|override|drop)|vergiss(?: bitte)? nicht|vergesst nicht"
    r"|nicht (?:vergessen|ignorieren|umgehen)|n['’](?:oubli|ignor)|ne pas (?:oublier|ignorer)|no (?:olvid|ignor)|non (?:dimentic|ignor)"
    r"|não (?:esque|ignor)|niet (?:vergeten|negeren)|nie (?:zapomn|ignor)|не (?:забу|забы|игнор)|(?:不要|别|勿)(?:忘|忽略|无视)",
    re.I,
)
# An article on attacks quotes orders that aim at nothing; one with an address, a path or a command in it is held all the same.
_ABOUT_ATTACKS: Final = re.compile(
    r"\b(?:prompt[- ]injections?|injections? d|jailbreaks?|red team\w*|attack(?:s|ers?)?|malicious|Angreifer|Angriffe?|attaquants?|attaques?"
    r"|ataques?|atacantes?|attacchi|aanvallers?|атак\w*|злоумышленник\w*)\b|提示注入|攻击|攻撃|공격",
    re.I,
)
_QUOTED: Final = re.compile(
    r"\"[^\"@/~$|\n]{3,80}\"|“[^”@/~$|\n]{3,80}”|„[^“”@/~$|\n]{3,80}[“”]|«[^»@/~$|\n]{3,80}»|「[^」@/~$|\n]{3,80}」|`[^`@/~$|\n]{3,80}`"
)
NEGATION_CHARS: Final = 14  # before a phrase
MARKUP: Final = "prompt-markup"
AGREEING: Final = 2  # rules, for a text that a person types
_OPENING, _CLOSING = frozenset("\"'“„«‘「"), frozenset("\"'”“»’」")


def _read(path: Path) -> tuple[tuple[str, tuple[str, ...], Pattern, float], ...]:
    with path.open("rb") as file:
        rules = tomllib.load(file)["rule"]
    return tuple(
        (rule["kind"], tuple(rule["words"]), Pattern(rule["pattern"]), float(rule.get("confidence", 0.8)))
        for rule in rules
    )


_RULES: Final = _read(DATA)
_WORDS = Keywords((word, number) for number, (_, words, _, _) in enumerate(_RULES) for word in words)


def find_injections(text: str, door: Door = Door.AGENT) -> list[GuardFinding]:
    """Phrases that give an AI instructions, also in look-alike letters or disguised.

    What a person types may well tell an agent what to do: there it takes two rules that agree, or markup of a prompt. In a
    text from outside it is enough that it tells its reader to do what only the user may ask for (data/outside.toml).
    """
    found = _search(text, door)
    if not found and not text.isascii():
        latin = text.translate(LOOK_ALIKES)
        found = _search(latin, door) if latin != text else []
    if not found and (reading := unescaped(text)) is not None:
        found = [
            GuardFinding(f.kind, reading.span(f.span), f.confidence) for f in _search(reading.text, door)
        ]
    if not found:
        disguised = undressed(text)  # nobody quotes in disguise
        if disguised is not None and (hidden := _search(disguised[0].replace('"', " "), door)):
            surest = max(hidden, key=lambda each: each.confidence)
            found = [GuardFinding(surest.kind, disguised[1], surest.confidence)]
    return found


def _search(text: str, door: Door) -> list[GuardFinding]:
    phrases = [
        (number, GuardFinding(kind, span, confidence))
        for number in sorted(_WORDS.owners(text))
        for kind, _, pattern, confidence in (_RULES[number],)
        for span in pattern.spans(text)
        if not _NEGATED.search(text, max(0, span[0] - NEGATION_CHARS), span[1])
        and (door is Door.OUTSIDE or not _is_quoted(text, span))
    ]
    hits = [*(found for _, found in phrases), *SIGNS.find(text)]
    if door is Door.OUTSIDE:
        hits += OUTSIDE.find(text)
        if hits and _ABOUT_ATTACKS.search(text):
            quoted = [match.span() for match in _QUOTED.finditer(text)]
            hits = [
                hit for hit in hits if not any(at <= hit.span[0] and hit.span[1] <= end for at, end in quoted)
            ]
    if door.is_typed and len({number for number, _ in phrases}) + len(hits) - len(phrases) < AGREEING:
        hits = [hit for hit in hits if hit.kind == MARKUP]
    return _merged(hits)


def _is_quoted(text: str, span: tuple[int, int]) -> bool:
    """True for a phrase that stands in quotation marks by itself, as in a text about such phrases."""
    return text[max(0, span[0] - 1) : span[0]] in _OPENING and text[span[1] : span[1] + 1] in _CLOSING


def _merged(findings: Iterable[GuardFinding]) -> list[GuardFinding]:
    """The findings in order; overlapping ones of the same kind become one."""
    found: list[GuardFinding] = []
    for each in sorted(findings, key=lambda each: (each.kind, each.span)):
        last = found[-1] if found else None
        if last is not None and last.kind == each.kind and each.span[0] <= last.span[1]:
            span = (last.span[0], max(last.span[1], each.span[1]))
            found[-1] = GuardFinding(each.kind, span, max(last.confidence, each.confidence))
        else:
            found.append(each)
    return found
