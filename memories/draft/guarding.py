"""The guard's step for drafts of memories: every text of one passes here, once, before it is hashed or embedded."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from access.errors import TooLarge
from access.groups.guarding import TextFinding, guard_json, guard_text, policy_of, quarantine_reason, refusal
from access.models import Group
from guard import GuardTreatment, Policy, has_instruction
from guard.injection.reading import KIND, find_reading
from guard.policy import STRICTNESS
from memories.draft import Draft

# The texts of a draft; the content is first, since what it holds is what a person must see first.
TEXTS: Final = ("content", "tags", "metadata", "source", "source_ref", "thread", "anchor_commit")
MAX_CHARS: Final = {
    "source": 200,
    "source_ref": 300,
    "thread": 200,
    "anchor_commit": 64,
}  # a mask may be longer than what it replaces
_OTHERS: Final = TEXTS[1:]

Pieces = Iterable[tuple[tuple[int, int], NDArray[np.float32]]]  # spans with their vectors


def guard_draft(draft: Draft, group: Group | None, *, names: Collection[str] = TEXTS) -> Draft:
    """The checked draft as the group's policy stores it, with what was found in it.

    `names` are the texts that are new; an edit leaves the others as they are.

    Raises:
        SensitiveText: the policy refuses it; the error names the field, the kind and the place.
    """
    policy, allowed = policy_of(group), frozenset(draft.allow)
    found: list[TextFinding] = []
    changed: dict[str, Any] = {}
    if "content" in names:
        content, found = guard_text(draft.content, policy, field="content", allowed=allowed)
        if content is not draft.content:
            refuse_grown(content)
            changed["content"] = content.strip() or "[hidden text]"
    for name in _OTHERS:
        value = getattr(draft, name)
        if not value or name not in names:
            continue
        safe, told = guard_json(value, policy, field=name, allowed=allowed)
        found += told
        if safe is not value:
            changed[name] = safe[: MAX_CHARS[name]] if name in MAX_CHARS else safe
    if not found:
        return draft
    removed = sum(each.span[1] - each.span[0] for each in found if each.kind == "hidden-text")
    return replace(
        draft, **changed, findings=tuple(found), removed_characters=draft.removed_characters + removed
    )


def refuse_grown(masked: str) -> None:
    """Raise TooLarge for a text that its masks made longer than texts may be: nobody could edit it."""
    limit = settings.LOCI.storage.max_content_chars
    if len(masked) > limit:
        raise TooLarge(
            f"'content' has {len(masked):,} characters once its values are masked; at most {limit:,} are allowed.",
            hint="Store the important parts as separate memories.",
            field="content",
        )


def guard_reading(draft: Draft, group: Group | None, pieces: Pieces) -> Draft:
    """The guarded draft with a finding if one of its pieces, given as span and vector, reads like an instruction to an AI.

    Raises:
        SensitiveText: the policy refuses it.
    """
    if has_instruction(each.kind for each in draft.findings):
        return draft
    policy = policy_of(group)
    told = read_text(draft.content, pieces, policy, outside=draft.outside)
    if told is None:
        return draft
    if told.treatment is GuardTreatment.REFUSE:
        raise refusal([told], policy)
    return replace(draft, findings=(*draft.findings, told))


def read_text(content: str, pieces: Pieces, policy: Policy, *, outside: bool) -> TextFinding | None:
    """A finding if one of the pieces of a content reads like an instruction to an AI, and what the policy does with it.

    What comes from outside is treated by the policy. A text of the team is only labelled, as teams write instructions to
    their agents themselves, unless the group or the floor has a rule for this very kind.
    """
    treatment = policy.treatment(KIND)
    if not outside and KIND not in policy.own and KIND not in policy.floor:
        treatment = min(treatment, GuardTreatment.LABEL, key=STRICTNESS.__getitem__)
    if treatment is GuardTreatment.ALLOW:
        return None
    if treatment is GuardTreatment.MASK:  # there is no single value to mask
        treatment = GuardTreatment.QUARANTINE
    found = next((each for each in (find_reading(content, *piece) for piece in pieces) if each), None)
    return TextFinding("content", KIND, found.span, found.confidence, treatment) if found else None


def held_for_person(draft: Draft) -> str:
    """Why a draft waits in quarantine, in words; empty if it does not."""
    return quarantine_reason(draft.findings) if draft.findings else ""
