"""The guard's step for texts that enter: find, apply the policy of the group, mask or refuse. Faces show `TextFinding`s.

Memories pass guard_fields() (memories/draft/guarding.py). Texts that nobody reviews (checkpoints, relations) pass
guard_unreviewed(); words beside a change (reasons, queries in the log, names of tokens) pass mask_words().
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from django.conf import settings

from access.errors import InvalidInput, SensitiveText
from access.groups.fingerprints import fingerprint
from access.groups.text_finding import TextFinding
from access.models import Group
from guard import (
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
from guard.injection.classifier import load_classifier
from guard.policy import STRICTNESS, UnknownRule, read_pairs
from storage.canonical_json import canonical_json

MAX_DEPTH: Final = 100  # of nested JSON; deeper values are refused, or become text
MIN_NUMBER: Final = 10**6  # shorter numbers are no card, phone or identity number
MAX_CLEAN: Final = 4096  # short labels that were found clean, such as the source of an import
MAX_LABEL_CHARS: Final = 80
MAX_LISTED: Final = 100  # findings in an answer: a list of thousands would be larger than the text
# Too short for any format, and without seven digits in a row: tags, numbers of lines, names.
_PLAIN_LABEL: Final = re.compile(r"[A-Za-z_./:#-]*(?:\d{1,6}[A-Za-z_/:#]*){0,2}")
MAX_PLAIN_CHARS: Final = 14
# Texts that wait as a whole, or are refused because nobody reviews them.
WAITING_FIELDS: Final = frozenset({"content", "predicate", "subject", "object", "title", "instructions"})
_clean: set[str] = set()


SHOWN_IN_LOG: Final = Policy(
    own={
        Family.SECRET.value: GuardTreatment.MASK,
        Family.GUESSED.value: GuardTreatment.ALLOW,
        Family.PERSONAL.value: GuardTreatment.ALLOW,
        Family.HIDDEN.value: GuardTreatment.MASK,
        Family.INJECTION.value: GuardTreatment.MASK,
        "look-alike-letters": GuardTreatment.ALLOW,
    }
)


def policy_of(group: Group | None) -> Policy:
    """The rules for a group; None: for one that is still to be created, or for texts of no group."""
    return _read_policy(group.guard if group is not None else "", settings.LOCI.guard.floor)


@lru_cache(maxsize=512)
def _read_policy(own: str, floor: tuple[str, ...]) -> Policy:
    return Policy(own=read_pairs(split_rules(own)), floor=read_pairs(floor))


def split_rules(text: str) -> list[str]:
    """The rules of a group's text, `kind=treatment` each."""
    return [part.strip() for part in text.split(",") if part.strip()]


def check_rules(text: str) -> str:
    """The rules of a group as they are stored. Raises InvalidInput if a kind or treatment is unknown, or below the floor."""
    try:
        rules = read_pairs(split_rules(text))
    except UnknownRule as error:
        raise InvalidInput(str(error), hint="See docs/guard.md for the kinds.", field="guard") from None
    for name, treatment in rules.items():
        family = name if name in set(Family) else kind_of(name).family.value
        floor = policy_of(None).floor
        least = floor.get(name, floor.get(family, GuardTreatment.ALLOW))
        if STRICTNESS[treatment] < STRICTNESS[least]:
            raise InvalidInput(
                f"'{name}={treatment}' is below this server's floor, which is {least}.",
                hint=f"Use {least} or stricter, or ask the operator to change guard.floor.",
                field="guard",
            )
    return ", ".join(f"{name}={treatment}" for name, treatment in rules.items())


def find_all(text: str) -> list[GuardFinding]:
    """find(), and if it found no instruction to an AI, the finding of the classifier (guard.classifier)."""
    found = find(text)
    folder = settings.LOCI.guard.classifier
    if not folder or has_instruction(each.kind for each in found):
        return found
    classifier = load_classifier(folder)
    return [*found, *classifier.find(text)] if classifier is not None else found


def guard_text(
    text: str, policy: Policy, *, field: str, allowed: frozenset[str] = frozenset(), before: str = ""
) -> tuple[str, list[TextFinding]]:
    """The text as it may be stored, and what was found in it. `before` names the value, as the key of JSON does.

    Raises:
        SensitiveText: the policy refuses a kind of finding.
    """
    if not before and len(text) <= MAX_PLAIN_CHARS and _PLAIN_LABEL.fullmatch(text):
        return text, []
    is_label = len(text) <= MAX_LABEL_CHARS
    whole = f"{before}{text}" if before else text
    if is_label and whole in _clean:
        return text, []
    found = find_all(whole)
    if not found:
        if is_label and len(_clean) < MAX_CLEAN:
            _clean.add(whole)
        return text, []
    return apply_policy(text, without_name(found, before), policy, field=field, allowed=allowed)


def without_name(found: Iterable[GuardFinding], before: str) -> list[GuardFinding]:
    """Findings in a text that was searched with its name before it, with their spans in the text alone."""
    shift = len(before)
    return [
        GuardFinding(each.kind, (max(0, each.span[0] - shift), each.span[1] - shift), each.confidence)
        for each in found
        if each.span[1] > shift
    ]


def apply_policy(
    text: str, found: Iterable[GuardFinding], policy: Policy, *, field: str, allowed: frozenset[str]
) -> tuple[str, list[TextFinding]]:
    """guard_text() for findings that are known.

    Only a content or a state waits for a person; in a label, which lists show of a waiting memory too, the value is masked.
    """
    treated = [(each, policy.treatment(each.kind, allowed=allowed)) for each in found]
    is_label = field not in WAITING_FIELDS and not field.startswith("state")
    if is_label:
        treated = [
            (each, GuardTreatment.MASK if treatment is GuardTreatment.QUARANTINE else treatment)
            for each, treatment in treated
        ]
    told = [
        TextFinding(field, each.kind, each.span, each.confidence, treatment)
        for each, treatment in treated
        if treatment is not GuardTreatment.ALLOW
    ]
    refused = [each for each in told if each.treatment is GuardTreatment.REFUSE]
    if refused:
        raise refusal(refused, policy)
    masked = [
        each
        for each, treatment in treated
        if treatment is GuardTreatment.MASK or is_spelt_out(each, treatment)
    ]
    return mask(text, masked, fingerprint=fingerprint, spells=not is_label) if masked else text, told


def is_spelt_out(finding: GuardFinding, treatment: GuardTreatment) -> bool:
    """True for hidden messages in quarantine: the person who decides has to see them."""
    return treatment is GuardTreatment.QUARANTINE and kind_of(finding.kind).family is Family.HIDDEN


def refusal(refused: list[TextFinding], policy: Policy) -> SensitiveText:
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
        f"Leave it out and say where it is kept. If it is none, send the text again with allow: {', '.join(kinds)}."
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


def guard_json(
    value: Any,
    policy: Policy,
    *,
    field: str,
    allowed: frozenset[str] = frozenset(),
    key: str = "",
    depth: int = 0,
) -> tuple[Any, list[TextFinding]]:
    """guard_text() for every string of a JSON value, with the path of each in its findings."""
    before = f"{key}: " if key else ""
    if isinstance(value, str):
        return guard_text(value, policy, field=field, allowed=allowed, before=before)
    if is_long_number(value):
        safe, told = guard_text(str(value), policy, field=field, allowed=allowed, before=before)
        return (value if safe == str(value) else safe), told
    if not isinstance(value, list | tuple | Mapping):
        return value, []
    if depth > MAX_DEPTH:
        name = re.split(r"[.\[]", field)[0]
        raise InvalidInput(
            f"'{name}' is nested more than {MAX_DEPTH} levels deep.", hint="Send it flatter.", field=name
        )
    found: list[TextFinding] = []
    if isinstance(value, Mapping):
        body: dict[Any, Any] = {}
        for name, each in value.items():
            safe, told = guard_text(str(name), policy, field=field, allowed=allowed)
            new, more = guard_json(
                each, policy, field=f"{field}.{safe[:40]}", allowed=allowed, key=name_of_value(value, name, safe),
                depth=depth + 1,
            )  # fmt: skip
            found += (*told, *more)
            body[safe if told else name] = new
        return (body if found else value), found
    parts = [
        guard_json(each, policy, field=f"{field}[{index}]", allowed=allowed, key=key, depth=depth + 1)
        for index, each in enumerate(value)
    ]
    found = [each for _, told in parts for each in told]
    return (type(value)(part for part, _ in parts) if found else value), found


def is_long_number(value: Any) -> bool:
    """True for a whole number that may be a card, phone or identity number."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) >= MIN_NUMBER


def name_of_value(pairs: Mapping[Any, Any], key: Any, shown: str) -> str:
    """What a value of a JSON object is called: its key, or of `{"name": "DB_PASSWORD", "value": …}` the name."""
    if key != "value":
        return shown
    named = next((pairs[name] for name in ("name", "key") if isinstance(pairs.get(name), str)), shown)
    return str(named)[:MAX_LABEL_CHARS]


def guard_unreviewed(
    group: Group | None, value: Any, *, field: str, allows_instructions: bool = False
) -> Any:
    """A JSON value or text that nobody reviews, as it may be stored; what would wait for a person is refused.

    `allows_instructions`: the text is meant to instruct agents, and a person who may do so wrote it.
    """
    policy = policy_of(group)
    safe, found = guard_json(value, policy, field=field)
    waiting = [
        each
        for each in found
        if each.treatment is GuardTreatment.QUARANTINE
        and not (allows_instructions and each.family == Family.INJECTION)
    ]
    if waiting:
        raise refusal(waiting, policy)
    return safe


def mask_words(text: str, *, group: Group | None = None) -> str:
    """A text beside a change, such as a reason or a name, with everything masked that the policy would not store."""
    if not text:
        return text
    return str(mask_all(text, policy_of(group)))


def refuse_secret(name: str, *, field: str, label: str) -> None:
    """Raise SensitiveText if a name that others refer to holds a secret: masked, it would be another name."""
    if any(kind_of(each.kind).family is Family.SECRET for each in find_secrets(name)):
        raise SensitiveText(f"{label} seems to hold a secret.", hint="Choose another.", field=field)


@lru_cache(maxsize=1024)
def safe_label(text: str) -> str:
    """mask_words() for names that come with every request, such as a program's."""
    return mask_words(text)


def mask_all(
    value: Any, policy: Policy, *, spares_instructions: bool = False, key: str = "", depth: int = 0
) -> Any:
    """A JSON value with everything masked that the policy would not store; for texts that come without a sender to ask.

    `key` names the value, as in JSON; what is nested too deep becomes text.
    """
    if isinstance(value, str):
        return mask_text(
            value, policy, spares_instructions=spares_instructions, before=f"{key}: " if key else ""
        )
    if is_long_number(value):
        safe = mask_text(str(value), policy, before=f"{key}: " if key else "")
        return value if safe == str(value) else safe
    if not isinstance(value, list | Mapping):
        return value
    if depth > MAX_DEPTH:
        return mask_text(canonical_json(value), policy, spares_instructions=spares_instructions)
    mask_part = partial(mask_all, policy=policy, spares_instructions=spares_instructions, depth=depth + 1)
    if isinstance(value, list):
        return [mask_part(each, key=key) for each in value]
    return {
        mask_all(name, policy): mask_part(each, key=name_of_value(value, name, str(name)))
        for name, each in value.items()
    }


def mask_text(text: str, policy: Policy, *, spares_instructions: bool = False, before: str = "") -> str:
    """A text with everything masked that the policy would not store; `before` names it, as the key of JSON does."""
    kept_out = [
        each
        for each in without_name(find_all(before + text), before)
        if STRICTNESS[policy.treatment(each.kind)] >= STRICTNESS[GuardTreatment.MASK]
        and not (spares_instructions and kind_of(each.kind).family is Family.INJECTION)
    ]
    return mask(text, kept_out, fingerprint=fingerprint, spells=False) if kept_out else text


def mask_found(text: str, kinds: set[str]) -> str:
    """The text with every value of these kinds masked, and hidden characters of these kinds removed."""
    found = [each for each in find(text) if each.kind in kinds]
    return mask(text, found, fingerprint=fingerprint) if found else text


def safe_for_agents(value: Any) -> Any:
    """A JSON value of the log as agents get it: no secret, no hidden character, no instruction to an AI."""
    return mask_all(value, SHOWN_IN_LOG)


def safe_to_show(text: str) -> str:
    """A stored text as agents get it: hidden characters made visible, secrets masked, whenever it was stored.

    Guessed secrets stay: where the policy let one in, somebody vouched for it.
    """
    plain = escape_hidden(text)
    found = [each for each in find_secrets(plain) if kind_of(each.kind).family is Family.SECRET]
    return mask(plain, found, fingerprint=fingerprint) if found else plain


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


def findings_json(findings: Iterable[TextFinding]) -> dict[str, Any]:
    """What the guard found, in the words of every face, and how much more than is listed; nothing if it found nothing."""
    told = list(findings)
    body: dict[str, Any] = {"findings": [each.as_json() for each in told[:MAX_LISTED]]} if told else {}
    return body | {"more_findings": len(told) - MAX_LISTED} if len(told) > MAX_LISTED else body


def count_kinds(findings: Iterable[TextFinding]) -> dict[str, int]:
    """How often each kind was found, for the log and for reports."""
    counts: dict[str, int] = {}
    for each in findings:
        counts[each.kind] = counts.get(each.kind, 0) + 1
    return counts


__all__ = [
    "TextFinding", "check_rules", "count_kinds", "findings_json", "fingerprint", "guard_json", "guard_text", "guard_unreviewed",
    "mask_all", "mask_found", "mask_words", "policy_of", "quarantine_reason", "safe_for_agents", "safe_label", "safe_to_show", "split_rules",
]  # fmt: skip
