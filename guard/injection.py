"""Instructions to an AI inside a text, by phrases of several languages. A hint for a person, never proof."""

import codecs
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from pathlib import Path
from typing import Final

from guard.findings import Door, GuardFinding
from guard.hidden import LOOK_ALIKES, unbase64, unescaped
from guard.judge import PATIENT_S, JudgeError, JudgeUse, find_judge
from guard.patterns import Keywords, Pattern, PatternSets

DATA: Final = Path(__file__).parent / "data"
CONFIDENCE: Final = 0.6
_MAX_SPANS: Final = 50  # of one sign in a text
PARTS: Final = 3  # of the automaton of all signs: the fastest of 1, 2, 3, 4, 6, 8, 12 and 20
# RE2's \w and \b know ASCII alone: before "ü" or after "é" there is no \b.
_BOUNDARY: Final = r"\b"
_ANY_BOUNDARY: Final = r"(?:\b|^|$|[^\pL\pN_])"
_AROUND: Final = frozenset(" \t\n.,;:!?()\"'`“”„«»‘’「」、。，：；")
_WORD: Final = re.compile(r"\[([^\]\\]*)\\w|\\w")

_Span = tuple[int, int]


# A line of a conversation begins with a name in capitals; "IMPORTANT:" and a list's "to:" do not.
_NEXT_SPEAKER: Final = re.compile(r"\n[A-Z][a-z]+(?: [A-Z][a-z]+)?: ")


class _Signs:
    """The groups of signs that count, from the last of some data files, with the signs of all; `kind` is that of their findings."""

    def __init__(self, *names: str, kind: str) -> None:
        files = [tomllib.loads((DATA / name).read_text(encoding="utf-8")) for name in names]
        data = {**files[-1], "signs": {name: sign for file in files for name, sign in file["signs"].items()}}
        self._groups = tuple(tuple(each.split()) for each in data["pairs"])
        self._names = tuple(dict.fromkeys(name for group in self._groups for name in group))
        sources = ["".join(data["signs"][name]) for name in self._names]
        in_any_script = [_in_any_script(source) for source in sources]
        self._patterns = dict(zip(self._names, map(Pattern, in_any_script), strict=True))
        # Letters of every script make the automata seven times as slow, which plain English need not pay.
        self._in_ascii = PatternSets(sources, parts=PARTS, ignores_case=True)
        self._in_any_script = PatternSets(in_any_script, parts=PARTS)
        self._reach: int = data["reach"]
        self._kind = kind

    def find(self, text: str) -> Iterator[GuardFinding]:
        """One finding per group of signs within reach of each other."""
        sets = self._in_ascii if text.isascii() else self._in_any_script
        present = {self._names[index] for index in sets.matching(text)}
        wanted = [group for group in self._groups if present.issuperset(group)]
        names = {name for group in wanted for name in group}
        spans = {
            name: [_trimmed(text, span) for span in islice(self._patterns[name].spans(text), _MAX_SPANS)]
            for name in names
        }
        for group in wanted:
            found = _first_together(text, [spans[name] for name in group], self._reach)
            if found is not None:
                yield GuardFinding(self._kind, found, CONFIDENCE)


def _in_any_script(source: str) -> str:
    """The pattern, case-insensitive, with RE2's word characters and boundaries widened to letters of every script."""

    def widened(match: re.Match[str]) -> str:
        inside = match.group(1)
        return r"[\pL\pN_]" if inside is None else rf"[{inside}\pL\pN_"

    return f"(?i){_WORD.sub(widened, source).replace(_BOUNDARY, _ANY_BOUNDARY)}"


def _trimmed(text: str, span: _Span) -> _Span:
    """The span without the space or mark at its ends that a boundary took."""
    start, end = span
    return start + (text[start] in _AROUND), end - (end - start > 1 and text[end - 1] in _AROUND)


def _first_together(text: str, signs: Sequence[Sequence[_Span]], reach: int) -> _Span | None:
    """The span of the first non-overlapping places, one per sign, within `reach` characters of one speaker; or None."""
    for first in signs[0]:
        chosen = [first]
        for others in signs[1:]:
            near = next((span for span in others if _is_near(text, [*chosen, span], reach)), None)
            if near is None:
                break
            chosen.append(near)
        else:
            return min(span[0] for span in chosen), max(span[1] for span in chosen)
    return None


def _is_near(text: str, spans: Sequence[_Span], reach: int) -> bool:
    """True if the spans lie within reach in what one speaker says, and none overlaps another."""
    start, end = min(start for start, _ in spans), max(end for _, end in spans)
    if end - start > reach or _NEXT_SPEAKER.search(text, start, end):
        return False
    return all(one[1] <= other[0] or other[1] <= one[0] for one, other in combinations(spans, 2))


SIGNS: Final = _Signs("signals.toml", kind="injected-instruction")
OUTSIDE: Final = _Signs("signals.toml", "outside.toml", kind="instruction-like")


_MIN_LEET_WORDS: Final = 2  # one is a name: k8s, log4j, web3
_MIN_PRINTABLE: Final = 0.9  # of what Base64 decodes to; less is not text
_MAX_PASSAGES: Final = 50
# One pass that says whether there is anything to undress; most texts have nothing.
_ANY = Pattern(
    r"(?i)\b\w(?:[ .\-_*]\w){3}|[a-z]{2}(?:[._*+~|-]|/\*)+[a-z]{2,}(?:[._*+~|-]|/\*)+[a-z]|[a-z][013457@$]+[a-z]{2}|[013457@$][a-z]{3}"
    r"|[a-z0-9+/]{24}|snoitcurtsni|tpmorp|erongi|droges|selur|rot-?13"
)
_ROT13 = Pattern(r"(?i)rot-?13")
_BACKWARDS = Pattern(r"(?i)snoitcurtsni|tpmorp|erongi|droges|selur")
_LEET = Pattern(
    r"(?i)\b(?:[a-z]{1,20}[013457@$]{1,3}[a-z]{2,20}|[013457@$]{1,3}[a-z]{3,20})[a-z013457@$]{0,20}\b"
)
_LEET_LETTERS: Final = str.maketrans("013457@$", "oieastas")
_SIGNS = re.compile(r"(?:[._*+~|-]|/\*+/)+")


def _undisguised(text: str) -> tuple[str, tuple[int, int]] | None:
    """The disguised passages of a text in plain letters, and the span they cover; None without any."""
    if not _ANY.is_found(text):
        return None
    whole = (0, len(text))
    if _ROT13.is_found(text):
        return codecs.decode(text, "rot13"), whole
    if _BACKWARDS.is_found(text):
        return text[::-1], whole
    if len(leet := [*_LEET.spans(text)]) >= _MIN_LEET_WORDS:
        return _in_letters(text, leet), whole
    told = [
        (span, plain)
        for pattern, reveal in _DRESSES
        for span in [*pattern.spans(text)][:_MAX_PASSAGES]
        if (plain := reveal(text[slice(*span)]))
    ]
    if not told:
        return None
    span = min(start for (start, _), _ in told), max(end for (_, end), _ in told)
    return ". ".join(plain for _, plain in told), span


def _in_letters(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with digits in these words replaced by the letters they stand for."""
    parts, at = list[str](), 0
    for start, end in spans:
        parts += text[at:start], text[start:end].replace("11", "ll").translate(_LEET_LETTERS)
        at = end
    return "".join((*parts, text[at:]))


def _close_up(spaced: str) -> str:
    """Spaced letters joined to words; two or more separators end a word."""
    return " ".join(re.sub(r"[ .\-_*]", "", word) for word in re.split(r"[ .\-_*]{2,}", spaced))


def _separate(joined: str) -> str:
    """Joined words separated by spaces."""
    return _SIGNS.sub(" ", joined)


def decode(raw: str) -> str:
    """The text that Base64 encodes; empty if it is not text."""
    told = unbase64(raw, "utf-8")
    printable = sum(character.isprintable() for character in told)
    return told if told and printable >= _MIN_PRINTABLE * len(told) else ""


_DRESSES: Final[tuple[tuple[Pattern, Callable[[str], str]], ...]] = (
    (Pattern(r"\b[A-Za-z0-9+/]{24,900}={0,2}"), decode),
    (Pattern(r"\b\w(?:[ .\-_*]\w){3,40}(?:[ .\-_*]{2,4}\w(?:[ .\-_*]\w){1,40}){0,20}\b"), _close_up),
    (Pattern(r"[A-Za-z]{2,20}(?:(?:[._*+~|-]|/\*+/)[A-Za-z]{2,20}){3,30}"), _separate),
)


def judge_instructions(text: str, folders: tuple[str, ...]) -> list[GuardFinding] | None:
    """A finding for the first part of a text that the judge of judges.folders is sure of; None if it fails or is late."""
    until = time.monotonic() + PATIENT_S
    try:
        judge = find_judge(folders, JudgeUse.INJECTIONS, PATIENT_S)
        if judge is None:
            return []
        for span in judge.windows(text):
            [score] = judge.score([text[slice(*span)]], until - time.monotonic())
            if score >= judge.threshold:
                return [GuardFinding("injected-instruction", span, round(score, 3))]
    except JudgeError:
        return None
    return []


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
_NEGATION_CHARS: Final = 14  # before a phrase
_MARKUP: Final = "prompt-markup"
_AGREEING: Final = 2  # rules, for a text that a person types
_OPENING, _CLOSING = frozenset("\"'“„«‘「"), frozenset("\"'”“»’」")


def _read(path: Path) -> tuple[tuple[str, tuple[str, ...], Pattern, float], ...]:
    with path.open("rb") as file:
        rules = tomllib.load(file)["rule"]
    return tuple(
        (rule["kind"], tuple(rule["words"]), Pattern(rule["pattern"]), float(rule.get("confidence", 0.8)))
        for rule in rules
    )


_RULES: Final = _read(DATA / "injection.toml")
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
        disguised = _undisguised(text)  # a disguised order is not a quotation
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
        if not _NEGATED.search(text, max(0, span[0] - _NEGATION_CHARS), span[1])
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
    if door.is_typed and len({number for number, _ in phrases}) + len(hits) - len(phrases) < _AGREEING:
        hits = [hit for hit in hits if hit.kind == _MARKUP]
    return _merged(hits)


def _is_quoted(text: str, span: tuple[int, int]) -> bool:
    """True for a phrase alone in quotation marks, as in a text about such phrases."""
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
