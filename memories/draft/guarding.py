"""The gate for drafts of memories: every text of one passes it here, once, before it is hashed or embedded."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from django.conf import settings

from access.actor import Actor
from access.errors import TooLarge
from access.groups.guarding import OnHold, TextFinding, admit, quarantine_reason
from access.models import Group
from guard import Door
from memories.draft import Draft
from memories.models import Memory

# The texts of a draft; the content is first, since what it holds is what a person must see first.
TEXTS: Final = ("content", "tags", "metadata", "source", "source_ref", "thread", "anchor_commit")
MAX_CHARS: Final = {
    "source": 200,
    "source_ref": 300,
    "thread": 200,
    "anchor_commit": 64,
}  # a mask may be longer than what it replaces


def guard_draft(draft: Draft, group: Group | None, door: Door, *, names: Collection[str] = TEXTS) -> Draft:
    """The checked draft as the group's policy stores it, with what was found in it.

    `names` are the texts that are new; an edit leaves the others as they are. A draft from outside comes in there, whoever
    sends it.

    Raises:
        SensitiveText: the policy refuses it; the error names the field, the kind and the place.
    """
    door, allowed = Door.OUTSIDE if draft.outside else door, frozenset(draft.allow)
    found, changed = list[TextFinding](), dict[str, Any]()
    for name in TEXTS:
        value = getattr(draft, name)
        if not value or name not in names:
            continue
        admitted = admit(value, door, group, field=name, on_hold=OnHold.WAIT, allowed=allowed)
        found += admitted.findings
        if admitted.value is not value:
            changed[name] = admitted.value[: MAX_CHARS[name]] if name in MAX_CHARS else admitted.value
    if not found:
        return draft
    if "content" in changed:
        refuse_grown(changed["content"])
        changed["content"] = changed["content"].strip() or "[hidden text]"
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


def bulk_door(actor: Actor) -> Door:
    """The door of many drafts at once, which nobody types."""
    return Door.AGENT if actor.door.is_typed else actor.door


def stored_door(memory: Memory) -> Door:
    """The door that a stored memory came in at. What hooks stored was typed to an agent, or passed the stricter door then."""
    if memory.outside:
        return Door.OUTSIDE
    if memory.source.startswith("hook:"):
        return Door.PROMPT
    is_typed = memory.token_id is None and memory.author_id is not None
    return Door.PERSON if is_typed else Door.AGENT


def held_for_person(draft: Draft) -> str:
    """Why a draft waits in quarantine, in words; empty if it does not."""
    return quarantine_reason(draft.findings) if draft.findings else ""
