"""The guard's step for drafts of memories: every text of one passes here, once, before it is hashed or embedded."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from access.groups.guarding import TextFinding, guard_json, guard_text, policy_of, quarantine_reason
from access.models import Group
from memories.draft import Draft

# The texts of a draft; the content is first, since what it holds is what a person must see first.
TEXTS: Final = ("content", "tags", "metadata", "source", "source_ref", "thread")
MAX_CHARS: Final = {
    "source": 200,
    "source_ref": 300,
    "thread": 200,
}  # a mask may be longer than what it replaces
_OTHERS: Final = TEXTS[1:]


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


def held_for_person(draft: Draft) -> str:
    """Why a draft waits in quarantine, in words; empty if it does not."""
    return quarantine_reason(draft.findings) if draft.findings else ""
