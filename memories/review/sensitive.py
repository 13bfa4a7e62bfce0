"""Sensitive text that was stored before the guard looked: a scan lists it, and a person masks, quarantines or keeps it."""

from collections.abc import Iterable
from uuid import UUID

from django.utils.translation import gettext, gettext_noop, pgettext

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.groups.guarding import OnHold, admit, policy_of
from guard import Family, GuardTreatment, Policy, kind_of
from memories.draft import EditDraft, clean_reason, stored_door
from memories.lifecycle.edit import EditResult, edit
from memories.lifecycle.target import find_head, require_person
from memories.models import FindingStatus, Memory, MemoryFinding
from memories.types import State, Trust

# What agents may get now; a quarantined or rejected memory has its own card.
SHOWN = (Trust.ACTIVE, Trust.VERIFIED)
OLD_VERSION = gettext_noop("the former version still holds it, for people only; purge destroys it")


def find_sensitive(groups: list[int] | None, *, limit: int) -> list[int]:
    """The keys of the live memories in which a scan found something undecided, oldest first."""
    rows = MemoryFinding.objects.filter(
        status=FindingStatus.OPEN, memory__state=State.LIVE, memory__trust__in=SHOWN
    )
    found = rows.order_by("memory").values_list("memory", "memory__group").distinct()
    # Groups are compared here: asked for them, SQLite reads every memory of theirs.
    seen = found[:limit] if groups is None else [row for row in found if row[1] in groups][:limit]
    return [key for key, _ in seen]


def open_findings(memory: Memory) -> list[MemoryFinding]:
    """What a scan found in this version and is undecided."""
    return list(MemoryFinding.objects.filter(memory=memory, status=FindingStatus.OPEN).order_by("kind"))


def describe(findings: Iterable[MemoryFinding]) -> str:
    """The findings in words, without a value."""
    parts = (
        pgettext("word", kind_of(each.kind).label)
        + (gettext(" ({places} places)").format(places=each.places) if each.places > 1 else "")
        for each in findings
    )
    return gettext("it seems to hold {parts}").format(parts=gettext(", ").join(parts))


def mask_values(actor: Actor, id_: str | UUID, *, reason: str) -> EditResult:
    """Write a new version with the found values masked.

    Raises:
        Conflict: no scan found anything in it, or nothing in its text.
        NotFound, NotPermitted: the actor may not see it, or may not curate its group.
    """
    memory, findings = find_open(actor, id_)
    others = dict.fromkeys((family.value for family in Family), GuardTreatment.ALLOW)
    masking = dict.fromkeys((each.kind for each in findings), GuardTreatment.MASK)
    policy = Policy({**others, **masking}, words=policy_of(memory.group).words)
    masked = admit(memory.content, stored_door(memory), policy, field="content", on_hold=OnHold.WAIT).value
    if masked == memory.content:
        raise Conflict(
            "The text itself holds none of it: it is in the tags, the metadata or the source.",
            hint="Edit the memory, or quarantine it.",
        )
    edited = edit(actor, memory.id, EditDraft(content=masked), reason=reason, is_decided=True)
    settle(actor, findings)
    return edited


def keep_text(actor: Actor, id_: str | UUID, *, reason: str) -> tuple[Memory, int]:
    """Leave the text as it is and list it no longer; the memory and the number of kinds. Logged.

    Raises:
        Conflict: no scan found anything in it.
        NotFound, NotPermitted: the actor may not see it, or may not curate its group.
    """
    memory, findings = find_open(actor, id_)
    settle(actor, findings)
    kinds = [each.kind for each in findings]
    payload = {"action": FindingStatus.KEPT, "kinds": kinds, "reason": clean_reason(reason)}
    audit.append(actor, Operation.GUARD, memory_id=memory.id, group=memory.group.id, payload=payload)
    return memory, len(findings)


def find_open(actor: Actor, id_: str | UUID) -> tuple[Memory, list[MemoryFinding]]:
    """The memory's current version with its open findings, for a person who may curate."""
    memory = find_head(actor, id_, right=CURATE)
    require_person(actor, "decide about the sensitive text of")
    findings = open_findings(memory)
    if not findings:
        raise Conflict(f"Nothing sensitive is open in {memory.id}.", hint="It may have been decided already.")
    return memory, findings


def settle(actor: Actor, findings: Iterable[MemoryFinding]) -> None:
    """Mark findings as decided."""
    keys = [each.key for each in findings]
    MemoryFinding.objects.filter(key__in=keys).update(status=FindingStatus.KEPT, settled_by=actor.name[:300])
