"""The gate: every text that enters passes admit() once, which finds what is sensitive and applies the rules of the group.

A memory passes it with all its fields (memories/draft/__init__.py), a file with its chunks, every other text alone. Words
next to a change (reasons, questions in the log, names of tokens) pass mask_words().
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Final

from django.conf import settings

from access.answers import Answer, ShownAs
from access.errors import InvalidInput, LociError, SensitiveText
from access.groups.fingerprints import fingerprint
from access.models import Group
from guard import (
    Door,
    Family,
    GuardFinding,
    GuardTreatment,
    Policy,
    find,
    find_secrets,
    has_instruction,
    kind_of,
    mask,
)
from guard.hidden import escape_hidden
from guard.injection import judge_instructions
from guard.policy import KINDS, STRICTNESS, WORD, UnknownRule, read_pairs
from storage.canonical_json import canonical_json

_MAX_RULES_CHARS: Final = 500
MAX_DEPTH: Final = 100  # of nested JSON; deeper values are refused, or become text
_MIN_NUMBER: Final = 10**6  # shorter numbers are not cards, phones or identity numbers
_MAX_CLEAN: Final = 4096  # short labels that were found clean, such as the source of an import
_MAX_LABEL_CHARS: Final = 80
# Too short for any format, and without seven digits in a row: tags, numbers of lines, names.
_PLAIN_LABEL: Final = re.compile(r"[A-Za-z_./:#-]*(?:\d{1,6}[A-Za-z_/:#]*){0,2}")
_MAX_PLAIN_CHARS: Final = 14
# Texts that wait as a whole, or are refused because no person reviews them; in other fields, which lists show of a waiting memory
# too, the value is masked.
_WAITING_FIELDS: Final = frozenset({"content", "predicate", "subject", "object", "title", "instructions"})
_SHOWN_IN_LOG: Final = Policy(
    own={
        Family.SECRET.value: GuardTreatment.MASK,
        Family.GUESSED.value: GuardTreatment.ALLOW,
        Family.PERSONAL.value: GuardTreatment.ALLOW,
        Family.HIDDEN.value: GuardTreatment.MASK,
        Family.INJECTION.value: GuardTreatment.MASK,
        "look-alike-letters": GuardTreatment.ALLOW,
    }
)
_clean: set[tuple[str, Door, tuple[str, ...]]] = set()


class OnHold(StrEnum):
    """What becomes of a text that the policy would not take as it is."""

    WAIT = "wait"  # a person reviews it: it waits, with what it is a part of
    REFUSE = "refuse"  # no person reviews it: what would wait is refused
    MASK = "mask"  # there is no sender to ask: all is masked that would be masked, wait or be refused


_MAX_LISTED: Final = 100  # findings in an answer: a list of thousands would be larger than the text
_DONE: Final = {
    GuardTreatment.ALLOW: "allowed",
    GuardTreatment.LABEL: "stored, and noted",
    GuardTreatment.MASK: "masked",
    GuardTreatment.QUARANTINE: "held back for a person",
    GuardTreatment.REFUSE: "refused",
}


@dataclass(frozen=True)
class TextFinding:
    """A finding in a text that was sent, and what became of it; it never holds the value.

    `field` is the path of the text, such as `metadata.note`; `span` counts the characters of the text as it was sent.
    """

    field: str
    kind: str
    span: tuple[int, int]
    confidence: float
    treatment: GuardTreatment

    @property
    def family(self) -> str:
        """The family of the kind."""
        return kind_of(self.kind).family.value

    @property
    def words(self) -> str:
        """The finding in words, for people and agents."""
        label = kind_of(self.kind).label
        done = (
            _DONE[self.treatment]
            if self.family != Family.HIDDEN or self.treatment != GuardTreatment.MASK
            else "removed"
        )
        return f"{label} in {self.field} at {self.span[0]}-{self.span[1]}: {done}"


class FindingOut(Answer):
    """What the guard found in a text, and what became of it; never the value."""

    field: str
    kind: str
    family: str
    start: Annotated[int, ShownAs(lambda finding, _: finding.span[0])]
    end: Annotated[int, ShownAs(lambda finding, _: finding.span[1])]
    confidence: float
    treatment: Annotated[str, ShownAs("treatment.value")]
    words: str


# Absent if the guard found nothing.
Findings = Annotated[
    tuple[FindingOut, ...], ShownAs(lambda result, _: result.findings[:_MAX_LISTED], is_absent=True)
]
MoreFindings = Annotated[
    int, ShownAs(lambda result, _: max(0, len(result.findings) - _MAX_LISTED), is_absent=True)
]


@dataclass(frozen=True)
class _Admitted:
    """A text or JSON value as it may be stored, the same object if nothing was changed, and what was found in it."""

    value: Any
    findings: tuple[TextFinding, ...] = ()
    refusal: SensitiveText | None = None  # only of a part; admit() raises it


def admit(
    value: Any,
    door: Door,
    rules: Group | Policy | None,
    *,
    field: str = "",
    on_hold: OnHold = OnHold.REFUSE,
    allowed: frozenset[str] = frozenset(),
    may_instruct: bool = False,
) -> _Admitted:
    """A text or JSON value that came in at a door, as the rules of a group (None: of no group) store it.

    `allowed` are guessed kinds that the sender vouches for. `may_instruct`: the text is meant to instruct agents, and a person
    who may do so wrote it or will read it. Findings in JSON name the path of the text.

    Raises:
        SensitiveText: the policy refuses it; the error names kinds and places, never a value.
        InvalidInput: JSON is nested too deep (except with OnHold.MASK).
    """
    policy = rules if isinstance(rules, Policy) else policy_of(rules)
    admitted = _Gate(door, policy, on_hold, allowed, may_instruct).take(value, field)
    if admitted.refusal is not None:
        raise admitted.refusal
    return admitted


def admit_parts(parts: Sequence[str], door: Door, policy: Policy) -> list[_Admitted]:
    """Texts that follow each other in one document; searched together, so that a key of many lines is found where it is cut."""
    gate, at, admitted = _Gate(door, policy, OnHold.WAIT), 0, list[_Admitted]()
    found = find_all("\n".join(parts), policy, door) if parts else []
    for part in parts:
        end = at + len(part)
        own = [
            replace(each, span=(max(each.span[0] - at, 0), min(each.span[1] - at, len(part))))
            for each in found
            if each.span[1] > at and each.span[0] < end
        ]
        admitted.append(gate.treat(part, own, "content"))
        at = end + 1
    return admitted


@dataclass(frozen=True)
class _Gate:
    door: Door
    policy: Policy
    on_hold: OnHold
    allowed: frozenset[str] = frozenset()
    may_instruct: bool = False

    def take(self, value: Any, field: str, key: str = "", depth: int = 0) -> _Admitted:
        """Admit a value; `key` names it, as in JSON."""
        if isinstance(value, str):
            return self.take_text(value, field, f"{key}: " if key else "")
        if _is_long_number(value):
            admitted = self.take_text(str(value), field, f"{key}: " if key else "")
            return admitted if admitted.value != str(value) else replace(admitted, value=value)
        if not isinstance(value, list | tuple | Mapping):
            return _Admitted(value)
        if depth > MAX_DEPTH:
            if self.on_hold is OnHold.MASK:
                return self.take_text(canonical_json(value), field)
            name = re.split(r"[.\[]", field)[0]
            raise InvalidInput(
                f"'{name}' is nested more than {MAX_DEPTH} levels deep.", hint="Send it flatter.", field=name
            )
        names, parts = list[_Admitted](), list[_Admitted]()
        if isinstance(value, Mapping):
            for name, each in value.items():
                names.append(self.take_text(str(name), field))
                shown = names[-1].value
                called = _name_of_value(value, name, shown)
                parts.append(self.take(each, f"{field}.{shown[:40]}", called, depth + 1))
        else:
            parts = [self.take(each, f"{field}[{at}]", key, depth + 1) for at, each in enumerate(value)]
        every = [*names, *parts]
        findings = tuple(each for part in every for each in part.findings)
        refusal = next((part.refusal for part in every if part.refusal is not None), None)
        if not findings:
            return _Admitted(value)
        if not isinstance(value, Mapping):
            return _Admitted(type(value)(part.value for part in parts), findings, refusal)
        keys = [name.value if name.findings else key for name, key in zip(names, value, strict=True)]
        return _Admitted(dict(zip(keys, (part.value for part in parts), strict=True)), findings, refusal)

    def take_text(self, text: str, field: str, before: str = "") -> _Admitted:
        """Admit a text that was searched with its name before it."""
        words = self.policy.words
        if not before and not words and len(text) <= _MAX_PLAIN_CHARS and _PLAIN_LABEL.fullmatch(text):
            return _Admitted(text)
        label = (f"{before}{text}", self.door, words)
        if len(text) <= _MAX_LABEL_CHARS and label in _clean:
            return _Admitted(text)
        found, is_sure = _find_judged(label[0], self.policy, self.door)
        if not found and is_sure and len(text) <= _MAX_LABEL_CHARS and len(_clean) < _MAX_CLEAN:
            _clean.add(label)
        shift = len(before)
        return self.treat(
            text,
            [
                replace(each, span=(max(0, each.span[0] - shift), each.span[1] - shift))
                for each in found
                if each.span[1] > shift
            ],
            field,
        )

    def treat(self, text: str, found: Iterable[GuardFinding], field: str) -> _Admitted:
        """The text with its findings treated."""
        waits = field in _WAITING_FIELDS or field.startswith("state")
        told, masked = list[TextFinding](), list[GuardFinding]()
        for each in found:
            treatment = self._treatment(each, waits=waits)
            is_hidden = kind_of(each.kind).family is Family.HIDDEN
            if treatment is GuardTreatment.MASK or (is_hidden and treatment is GuardTreatment.QUARANTINE):
                masked.append(each)  # the person who decides has to see a hidden message
            if treatment is not GuardTreatment.ALLOW:
                told.append(TextFinding(field, each.kind, each.span, each.confidence, treatment))
        refused = [each for each in told if each.treatment is GuardTreatment.REFUSE]
        spells = waits and self.on_hold is not OnHold.MASK
        return _Admitted(
            mask(text, masked, fingerprint=fingerprint, spells=spells) if masked else text,
            tuple(told),
            _refusal(refused, self.policy) if refused else None,
        )

    def _treatment(self, found: GuardFinding, *, waits: bool) -> GuardTreatment:
        treatment = self.policy.treatment(found.kind, allowed=self.allowed)
        if STRICTNESS[treatment] < STRICTNESS[GuardTreatment.MASK]:
            return treatment
        if (
            self.may_instruct
            and kind_of(found.kind).family is Family.INJECTION
            and treatment is not GuardTreatment.REFUSE
        ):
            return GuardTreatment.LABEL
        if self.on_hold is OnHold.MASK:
            return GuardTreatment.MASK
        if treatment is not GuardTreatment.QUARANTINE:
            return treatment
        if not waits:
            return GuardTreatment.MASK
        return GuardTreatment.REFUSE if self.on_hold is OnHold.REFUSE else treatment


def find_all(text: str, policy: Policy, door: Door) -> list[GuardFinding]:
    """find(), with the group's own words, and if it found no instruction to an AI, the finding of a judge."""
    return _find_judged(text, policy, door)[0]


def _find_judged(text: str, policy: Policy, door: Door) -> tuple[list[GuardFinding], bool]:
    """What find_all() returns, and False if the judge failed or was late."""
    found = find(text, door, policy.pattern)
    folders = settings.LOCI.judges.folders
    if not folders or door.is_typed or has_instruction(each.kind for each in found):
        return found, True
    judged = judge_instructions(text, folders)
    return [*found, *(judged or ())], judged is not None


def policy_of(group: Group | None) -> Policy:
    """The rules for a group; None: for one that is still to be created, or for texts of no group."""
    return _read_policy(group.guard if group is not None else "", settings.LOCI.guard.floor)


@lru_cache(maxsize=512)
def _read_policy(own: str, floor: tuple[str, ...]) -> Policy:
    (rules, words), (least, more) = read_pairs(split_rules(own)), read_pairs(floor)
    return Policy(rules, least, (*words, *more))


def is_milder_guard(old: str, new: str) -> bool:
    """Whether new rules of a group let in what its old ones hold, in any kind, or leave a word unmasked."""
    before, after = (_read_policy(rules, settings.LOCI.guard.floor) for rules in (old, new))
    lowered = any(STRICTNESS[after.treatment(kind)] < STRICTNESS[before.treatment(kind)] for kind in KINDS)
    return lowered or not {*before.words} <= {*after.words}


def split_rules(text: str) -> list[str]:
    """The rules of a group's text, `kind=treatment` or `word=…` each."""
    return [part.strip() for part in text.split(",") if part.strip()]


def without_words(text: str) -> str:
    """The rules of a group's text without the words that it masks."""
    return ", ".join(rule for rule in split_rules(text) if not rule.startswith(f"{WORD}="))


def check_rules(text: str) -> str:
    """The rules of a group as they are stored. Raises InvalidInput if a kind or treatment is unknown, or below the floor."""
    try:
        rules, words = read_pairs(split_rules(text))
    except UnknownRule as error:
        raise InvalidInput(
            str(error), hint="See docs/how-to/sensitive-text.md for the kinds.", field="guard"
        ) from None
    if len(text) > _MAX_RULES_CHARS:
        raise InvalidInput(
            f"The rules have {len(text)} characters; at most {_MAX_RULES_CHARS} are allowed.", field="guard"
        )
    floor = policy_of(None).floor
    for name, treatment in rules.items():
        family = name if name in set(Family) else kind_of(name).family.value
        least = floor.get(name, floor.get(family, GuardTreatment.ALLOW))
        if STRICTNESS[treatment] < STRICTNESS[least]:
            raise InvalidInput(
                f"'{name}={treatment}' is below this server's floor, which is {least}.",
                hint=f"Use {least} or stricter, or ask the operator to change guard.floor.",
                field="guard",
            )
    return ", ".join(
        [*(f"{name}={treatment}" for name, treatment in rules.items()), *(f"word={word}" for word in words)]
    )


def _refusal(refused: Sequence[TextFinding], policy: Policy) -> SensitiveText:
    """The error for a text that the policy refuses; it names kinds and places, never a value."""
    first = refused[0]
    others = f" ({len(refused)} places)" if len(refused) > 1 else ""
    kinds = sorted({each.kind for each in refused})
    can_allow = all(
        kind_of(kind).family is Family.GUESSED
        and policy.treatment(kind, allowed=frozenset({kind})) is not GuardTreatment.REFUSE
        for kind in kinds
    )
    label = kind_of(first.kind).label
    hint = (
        f"Leave it out and say where it is kept. If it is a false alarm, send the text again with allow: {', '.join(kinds)}."
        if can_allow
        else "Leave it out and say where it is kept."
    )
    error = SensitiveText(
        f"'{first.field}' seems to hold {label} at characters {first.span[0]} to {first.span[1]}{others}; nothing was"
        " stored.",
        hint=hint,
        field=first.field.split(".")[0].split("[")[0],
    )
    error.may_allow = can_allow
    return error


def _is_long_number(value: Any) -> bool:
    """True for a whole number that may be a card, phone or identity number."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _MIN_NUMBER


def _name_of_value(pairs: Mapping[Any, Any], key: Any, shown: str) -> str:
    """What a value of a JSON object is called: its key, or of `{"name": "DB_PASSWORD", "value": …}` the name."""
    if key != "value":
        return shown
    named = next((pairs[name] for name in ("name", "key") if isinstance(pairs.get(name), str)), shown)
    return str(named)[:_MAX_LABEL_CHARS]


def mask_words(text: str, *, group: Group | None = None) -> str:
    """A text next to a change, such as a reason or a name, with everything masked that the policy would not store."""
    return str(admit(text, Door.AGENT, group, on_hold=OnHold.MASK).value) if text else text


@lru_cache(maxsize=1024)
def safe_label(text: str) -> str:
    """mask_words() for names that come with every request, such as a program's."""
    return mask_words(text)


def refuse_secret(name: str, *, field: str, label: str) -> None:
    """Raise SensitiveText if a name that others refer to holds a secret: masked, it would be another name."""
    if any(kind_of(each.kind).family is Family.SECRET for each in find_secrets(name)):
        raise SensitiveText(f"{label} seems to hold a secret.", hint="Choose another.", field=field)


def safe_for_agents(value: Any) -> Any:
    """A JSON value of the log as agents get it: no secret, no hidden character, no instruction to an AI."""
    return admit(value, Door.AGENT, _SHOWN_IN_LOG, on_hold=OnHold.MASK).value


def safe_to_show(text: str) -> str:
    """A stored text as agents get it: hidden characters made visible, secrets masked, whenever it was stored.

    Guessed secrets stay: where the policy let one in, its author vouched for it.
    """
    plain = escape_hidden(text)
    found = [each for each in find_secrets(plain) if kind_of(each.kind).family is Family.SECRET]
    return mask(plain, found, fingerprint=fingerprint) if found else plain


def safe_error(error: LociError) -> dict[str, str]:
    """An error as it is answered and kept: what it quotes of the request is masked."""
    return {name: safe_to_show(text) for name, text in error.as_dict().items()}


def quarantine_reason(findings: Iterable[TextFinding]) -> str:
    """Why a text waits for a person, in words; empty if it need not."""
    held = [each for each in findings if each.treatment is GuardTreatment.QUARANTINE]
    if not held:
        return ""
    first, more = held[0], len(held) - 1
    also = f" and {more} more" if more else ""
    return (
        f"it seems to hold {kind_of(first.kind).label} ({first.field}, characters {first.span[0]} to {first.span[1]}{also});"
        " a person decides"
    )


def count_kinds(findings: Iterable[TextFinding]) -> dict[str, int]:
    """How often each kind was found, for the log and for reports."""
    counts: dict[str, int] = {}
    for each in findings:
        counts[each.kind] = counts.get(each.kind, 0) + 1
    return counts
