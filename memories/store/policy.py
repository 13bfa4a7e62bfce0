"""Which changes happen at once, which wait for a curator, and which only a person makes: one table, `RULES`.

Every interface passes through it, and docs/reference/trust.md is written from it. Roles and scopes are checked apart:
the table says what happens to a change that its caller has the right to make.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NoReturn

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from access import audit
from access.actor import CURATE, Actor, Via
from access.audit.operations import Operation
from access.errors import NotPermitted
from access.models import AuditEntry, CandidatePolicy, Group
from memories.models import Memory
from memories.queries.conflicts import read_plan
from memories.queries.labels import doubts_of
from memories.queries.versions import head_of, refuse_unseen, versions_of
from memories.types import VISIBLE_TRUSTS, Trust


class Treatment(StrEnum):
    """What happens to a change."""

    NOW = "now"
    QUEUED = "queued"
    REFUSED = "refused"


class ActorKind(StrEnum):
    """Who asks for a change."""

    AGENT = "agent"
    PERSON = "person"
    CURATOR = "curator"  # a person who may curate the group


class Change(StrEnum):
    """A change of a memory, as the table names it."""

    STORE = "store"
    EDIT = "edit"
    LABEL = "label"
    EXPIRE = "expire"
    SUPERSEDE = "supersede"
    RETRACT = "retract"
    FORGET = "forget"
    RESTORE_VERSION = "restore-version"
    DISPUTE = "dispute"
    RESTORE = "restore"
    MERGE = "merge"
    PIN = "pin"
    UNPIN = "unpin"
    PURGE = "purge"
    JUDGE = "verify, approve, reject, quarantine"


NOW, QUEUED, REFUSED = Treatment.NOW, Treatment.QUEUED, Treatment.REFUSED


@dataclass(frozen=True)
class Rule:
    """The treatment of a change: by itself, if the group's policy holds it back, and of a protected memory.

    `protected` None: protection makes no difference.
    """

    plain: Treatment
    held: Treatment
    protected: Treatment | None = None


_WAITS: Final = {
    ActorKind.AGENT: Rule(NOW, QUEUED, QUEUED),
    ActorKind.PERSON: Rule(NOW, QUEUED),
    ActorKind.CURATOR: Rule(NOW, NOW),
}
_FREE: Final = dict.fromkeys(ActorKind, Rule(NOW, NOW))
_CURATED: Final = {ActorKind.PERSON: Rule(REFUSED, REFUSED), ActorKind.CURATOR: Rule(NOW, NOW)}
RULES: Final[dict[Change, dict[ActorKind, Rule]]] = {
    Change.STORE: dict.fromkeys(ActorKind, Rule(NOW, QUEUED)),
    Change.EDIT: _WAITS | {ActorKind.CURATOR: Rule(NOW, QUEUED)},
    Change.LABEL: _FREE | {ActorKind.AGENT: Rule(NOW, NOW, QUEUED)},
    Change.EXPIRE: _WAITS,
    Change.SUPERSEDE: _WAITS,
    Change.RETRACT: _WAITS,
    Change.FORGET: _WAITS,
    Change.RESTORE_VERSION: _WAITS,
    Change.DISPUTE: _FREE,
    # Of a plan that comes back: what it ends again may be verified since.
    Change.RESTORE: _FREE | {ActorKind.AGENT: Rule(NOW, NOW, QUEUED)},
    Change.MERGE: _CURATED | {ActorKind.AGENT: Rule(QUEUED, QUEUED)},
    Change.PIN: _CURATED | {ActorKind.AGENT: Rule(QUEUED, QUEUED)},
    Change.UNPIN: _CURATED | {ActorKind.AGENT: Rule(NOW, NOW, QUEUED)},
    Change.PURGE: _CURATED | {ActorKind.AGENT: Rule(NOW, NOW, REFUSED)},
    Change.JUDGE: _CURATED | {ActorKind.AGENT: Rule(REFUSED, REFUSED)},
}
# Changes that put another text over a memory.
_OVER: Final = frozenset({Change.SUPERSEDE, Change.EDIT, Change.RESTORE_VERSION})


@dataclass(frozen=True)
class _Verdict:
    """The treatment of one change, and the reason in words; empty if it happens now."""

    treatment: Treatment
    why: str = ""


def judge_change(
    actor: Actor, change: Change, memory: Memory, *, confidence: float | None = None
) -> _Verdict:
    """What the table says about a change of a memory that exists.

    `confidence` is the new text's, where there is one; else the memory's own counts.
    """
    kind = _actor_kind(actor, memory.group_id)
    rule = RULES[change][kind]
    if memory.trust == Trust.QUARANTINED and change in _OVER and kind is not ActorKind.CURATOR:
        return _Verdict(QUEUED, "it is in quarantine, so a curator decides about what replaces it")
    if rule.protected is not None and (by_whom := protection(memory)):
        return _Verdict(rule.protected, f"{by_whom}, so a curator decides about changes by agents")
    if rule.plain is not NOW:
        return _Verdict(rule.plain, f"a curator decides about '{change}' by an agent")
    why = policy_doubt(actor, memory.group, memory.confidence if confidence is None else confidence)
    # Of memories that recall returns: a candidate that is not approved may be withdrawn.
    if not why or rule.held is NOW or memory.trust not in VISIBLE_TRUSTS:
        return _Verdict(NOW)
    # A curator's edit of a disputed memory decides about it.
    return _Verdict(NOW) if kind is ActorKind.CURATOR and doubts_of(memory) else _Verdict(rule.held, why)


def held_back(actor: Actor, change: Change, memory: Memory, *, confidence: float | None = None) -> str:
    """Why a change waits for a curator; empty if it happens now.

    Raises:
        NotPermitted: the table refuses it.
    """
    return _settle(change, judge_change(actor, change, memory, confidence=confidence))


def held_with(actor: Actor, change: Change, memory: Memory, reached: Iterable[Memory]) -> str:
    """Why a change of a memory waits because of others that it withdraws, hides or destroys; empty if it happens now.

    Of another group's memory, which it hides in this group alone, only protection counts: that group's policy does not.

    Raises:
        NotPermitted: the table refuses it.
    """
    for row in reached:
        is_own = row.group_id == memory.group_id
        if is_own or (_actor_kind(actor, row.group_id) is ActorKind.AGENT and protection(row)):
            verdict = judge_change(actor, change, row)
            if row.key != memory.key:
                why = gettext("{id} goes with it: {by}").format(id=row.id, by=verdict.why)
                verdict = replace(verdict, why=why)
            if held := _settle(change, verdict):
                return held
    return ""


def _settle(change: Change, verdict: _Verdict) -> str:
    if verdict.treatment is REFUSED:
        raise NotPermitted(
            f"Only a person can {change} this memory: {verdict.why}.",
            hint="Dispute it, or do it in the browser or with a command.",
        )
    return verdict.why if verdict.treatment is QUEUED else ""


def _actor_kind(actor: Actor, group: int) -> ActorKind:
    """The table's column for an actor in a group (by key)."""
    if not actor.is_person:
        return ActorKind.AGENT
    return ActorKind.CURATOR if actor.may(CURATE, group) else ActorKind.PERSON


def protection(memory: Memory) -> str:
    """Who stands behind a memory that agents may not change by themselves; empty if no person does.

    What a plan is to replace protects the plan as well: the memory that counts until then leads to it.
    """
    if by_whom := _own_protection(memory):
        return by_whom
    replaced = read_plan(memory, timezone.now()).replaces if memory.valid_from is not None else ()
    return next(
        (f"{by} ({row.id}, which it is to replace)" for row in replaced if (by := _own_protection(row))), ""
    )


def _own_protection(memory: Memory) -> str:
    """Who stands behind this row itself; empty if no person does."""
    if memory.pinned and _was_pinned_by_person(memory):
        return "a person pinned it"
    if memory.trust == Trust.VERIFIED:
        return "a person verified it"
    return ""


def _was_pinned_by_person(memory: Memory) -> bool:
    """True if a person pinned a memory, or if the log does not tell; an edit carries the pin on, and the newest version has it."""
    head = head_of(memory)
    if head.root_key == memory.root_key and not head.pinned:
        return False
    ids = [version.id for version in versions_of(memory)]
    pins = AuditEntry.objects.filter(
        origin=audit.OWN, memory_id__in=ids, operation__in=[Operation.PIN, Operation.UNPIN]
    )
    last = pins.order_by("-key").first()
    return last is None or last.operation != Operation.PIN or not is_by_agent(last)


def is_by_agent(entry: AuditEntry) -> bool:
    """True if an agent or a job made a row of the log, not a person."""
    return entry.token is not None or entry.via in (Via.MCP, Via.JOB)


def log_of(memory: Memory, *operations: Operation) -> QuerySet[AuditEntry]:
    """The rows of this store's log about this version of a memory, newest first, with their payloads."""
    rows = AuditEntry.objects.filter(origin=audit.OWN, memory_id=memory.id, operation__in=operations)
    return rows.select_related("payload_row").order_by("-key")


def policy_doubt(actor: Actor, group: Group, confidence: float) -> str:
    """Why the group's policy, or the kind of caller, holds this write back for a curator; empty if nothing does."""
    if actor.held_back:
        return actor.held_back
    match group.policy:
        case CandidatePolicy.ALL:
            return f"every write into '{group.slug}' waits for a curator"
        case CandidatePolicy.AGENTS if not actor.is_person:
            return f"writes of agents into '{group.slug}' wait for a curator"
        case CandidatePolicy.BELOW if confidence < group.policy_confidence:
            least = f"{group.policy_confidence:.2f}"
            return f"confidence {confidence:.2f} is below {least}, the least for direct writes into '{group.slug}'"
    return ""


def refuse_write(actor: Actor, memory: Memory) -> NoReturn:
    """Raise NotPermitted for a write of a memory, NotFound if the actor may not know of it."""
    refuse_unseen(actor, memory)
    raise NotPermitted(
        f"You may not write in the group '{memory.group.slug}'.",
        hint="Ask an admin of the group for the role contributor, and for a token with the scope 'write'.",
        field="group",
    )
