"""The single steps of the write path; each runs inside store()'s transaction."""

import re
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import UUID

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, NotPermitted
from access.models import ApiToken, AuditEntry, CandidatePolicy, Group
from memories.draft import Draft
from memories.language.cleaning import fold
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.queries.snapshot import as_json, snapshot
from memories.store.pieces import PIECES, EmbeddedText, claim_index, piece_rows
from memories.store.search_columns import (
    TextColumns,
    context_of,
    filter_tokens,
    neighbours_of,
    refresh_around,
    refresh_beside,
    text_columns,
)
from memories.store.threads import take_place
from memories.types import State, Trust, Type
from relations.models import EntityAlias
from storage.bulk_insert import ManyInsert, like
from storage.compiled_queries import CompiledInsert
from storage.ids import new_id

if TYPE_CHECKING:
    from memories.store import PreparedDraft
    from memories.store.existing import StoredSource

# Where an entity's name ends and what is said of it begins: "Anna: leads the team", "Anna is …", "Anna, who …".
_NAME_END = re.compile(r":|\n| [-–—] |, | is | are | was |\. ")
MAX_ALIAS_CHARS = 80
ON_APPROVAL = "on_approval"  # in a link's evidence: what approving its candidate does to the other end
MEMORIES, LINKS = ManyInsert(Memory), CompiledInsert(Link)
REINFORCEMENT = 0.1  # added to the confidence, once per author and day


def insert(
    actor: Actor,
    prepared: "PreparedDraft",
    group: Group,
    *,
    trust: str = Trust.ACTIVE,
    state: str = State.LIVE,
    after: Memory | None = None,
    replaces: Memory | None = None,
    now: datetime,
) -> Memory:
    """Write a memory with its pieces, as the next version of `after` where that is given.

    In its thread it stands where what it `replaces` stands, else at the place named, else after the last.
    """
    memory = new_row(actor, prepared.draft, group, trust=trust, after=after, now=now)
    memory.state = state
    take_place(memory, prepared.draft, group, replaces=replaces)
    insert_row(memory, prepared.embedded)
    return memory


def insert_row(memory: Memory, embedded: EmbeddedText) -> None:
    """Insert a row that has its place, with its context, pieces and name; set right the contexts beside it."""
    beside = neighbours_of(memory)
    memory.context = context_of(memory, beside)
    MEMORIES.add([memory])
    claim_index(embedded.model)
    PIECES.add(piece_rows(memory, embedded))
    add_names([memory])
    if memory.state == State.LIVE:
        refresh_beside(memory, beside)


def add_names(memories: Iterable[Memory]) -> None:
    """Let the entities among the memories go by the names that their texts begin with."""
    entities = [memory for memory in memories if memory.type == Type.ENTITY]
    if not entities:
        return
    named = [(memory, _NAME_END.split(memory.content, maxsplit=1)[0].strip()) for memory in entities]
    EntityAlias.objects.bulk_create(
        [
            EntityAlias(memory_id=memory.root_key, fold=fold(name), group_id=memory.group_id, name=name)
            for memory, name in named
            if 0 < len(name) <= MAX_ALIAS_CHARS
        ],
        ignore_conflicts=True,
    )


def add_alias(memory: Memory, name: str) -> None:
    """Let an entity go by `name`; what is too long for a name is none."""
    if 0 < len(name.strip()) <= MAX_ALIAS_CHARS:
        EntityAlias.objects.get_or_create(
            memory_id=memory.root_key,
            fold=fold(name),
            defaults={"group_id": memory.group_id, "name": name.strip()},
        )


def new_row(
    actor: Actor,
    draft: Draft,
    group: Group,
    *,
    trust: str,
    after: Memory | None,
    now: datetime,
    columns: TextColumns | None = None,
) -> Memory:
    """Give the unsaved row of a draft, without its place in a thread; `columns` where they were made beforehand."""
    columns = columns or text_columns(draft)
    is_undated_successor = after is not None and draft.valid_from is None and draft.type != Type.EPISODIC
    if draft.valid_to is not None and draft.valid_to < now:
        is_undated_successor = False  # it ended before now, so it cannot have begun now
    memory = like(
        _example(),
        {
            "id": new_id(),
            "content": draft.content,
            "content_hash": columns.content_hash,
            "fold_hash": columns.fold_hash,
            "forms": columns.forms,
            "type": draft.type,
            "scope": draft.scope,
            "trust": trust,
            "tags": list(draft.tags),
            "metadata": draft.metadata,
            "source": draft.source,
            "source_ref": draft.source_ref,
            "confidence": draft.confidence,
            "importance": draft.importance,
            # What replaces another without saying since when is true from now.
            "valid_from": now if is_undated_successor else draft.valid_from,
            "valid_to": draft.valid_to,
            "valid_to_known_at": now if draft.valid_to else None,
            "expires_at": draft.expires_at,
            "created_at": now,
            "updated_at": now,
            "author_id": actor.user_id,
            "author_name": actor.name,
            "token_id": actor.token_key,
            "client": actor.client[:120],
            "run": actor.run,
            "root_id": after.root_key if after else None,
            "version": after.version + 1 if after else 1,
        },
        {"group": group},
    )
    if actor.token_key is not None:
        # Its key and id are known already; whatever else is asked of it would be read then.
        memory.token = ApiToken.from_db(None, ["key", "id"], [actor.token_key, actor.token_id])
    memory.filter = filter_tokens(memory)
    return memory


@cache
def _example() -> Memory:
    """Give a row with every column's default; made at the first call, since it asks the models."""
    return Memory()


def reinforce(actor: Actor, memory: Memory, *, wording: "PreparedDraft | None" = None) -> str:
    """Count a restatement; a differing wording is kept as a merged row. Say what was done.

    Confidence rises once per author and day, so that nobody certifies a fact by repeating it. Where storage.dedup is
    `overwrite`, it rises each time, and the restatement counts as an access.
    """
    if wording is not None:
        keep_wording(actor, memory, wording)
    now = timezone.now()
    # It may have been read before the transaction.
    memory.refresh_from_db(fields=["confidence", "decayed_at", "updated_at"])
    counted = not is_overwriting() and memory.id in confirmed_today(actor, [memory.id])
    before = memory.confidence
    values: dict[str, Any] = {"confidence": before, "updated_at": now}
    if not counted:
        values["confidence"] = min(1.0, round(before + REINFORCEMENT, 6))
    if before <= settings.LOCI.maintenance.decay_floor:
        values["decayed_at"] = now  # it had decayed to the end: the time until now is paid for
    changes = {name: [as_json(getattr(memory, name)), as_json(value)] for name, value in values.items()}
    for name, value in values.items():
        setattr(memory, name, value)
    used = {"access_count": F("access_count") + 1} if is_overwriting() else {}
    Memory.objects.filter(pk=memory.pk).update(**values, **used)
    audit.append(
        actor,
        Operation.REINFORCE,
        memory_id=memory.id,
        group=memory.group.id,
        payload={"changes": changes},
    )
    if counted:
        return "you said so today already: confidence unchanged"
    return f"confidence {before:.2f} → {memory.confidence:.2f}"


def is_overwriting() -> bool:
    """Say whether a near restatement updates the old memory, as storage.dedup has it."""
    return bool(settings.LOCI.storage.dedup == "overwrite")


def confirmed_today(actor: Actor, ids: Iterable[UUID]) -> set[UUID]:
    """Give those of the memories that the actor stored or confirmed today: saying so again adds no confidence.

    All tokens of a user count as that user, and so does the user in the browser.
    """
    day = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    said = AuditEntry.objects.filter(
        memory_id__in=list(ids),
        operation__in=[Operation.REINFORCE, Operation.STORE],
        at__gte=day,
    )
    user = _user_of(actor.name)
    return {
        id_
        for id_, name in said.values_list("memory_id", "actor")
        if id_ is not None and _user_of(name) == user
    }


def _user_of(actor_name: str) -> str:
    """Give the user's part of an actor's name, "user" or "user/token"; Django allows no slash in a user's name."""
    return actor_name.partition("/")[0]


def keep_wording(
    actor: Actor, memory: Memory, wording: "PreparedDraft", *, origin: "StoredSource | None" = None
) -> None:
    """Keep a restatement, or what another source says as well, as a merged row that leads to the memory."""
    after = origin.current if origin is not None else None
    row = new_row(actor, wording.draft, memory.group, trust=Trust.ACTIVE, after=after, now=timezone.now())
    if origin is not None:
        row.source_ref = ""  # the source's first row keeps it
    row.scope, row.state, row.superseded_by = memory.scope, State.MERGED, memory
    row.state_changed_at = row.retired_at = row.created_at
    MEMORIES.add([row])
    claim_index(wording.embedded.model)
    PIECES.add(piece_rows(row, wording.embedded))
    audit.append(
        actor,
        Operation.MERGE,
        memory_id=row.id,
        group=row.group.id,
        payload={"after": snapshot(row), "into": str(memory.id)},
    )


def supersede(actor: Actor, old: Memory, new: Memory, *, operation: Operation = Operation.SUPERSEDE) -> UUID:
    """Let `new` take the place of `old`, which stays as history with the end of its valid time.

    An edit says that the old text was never right: its record time ends, and its valid time stays as it was.

    Raises:
        Conflict: somebody else changed `old` meanwhile.
    """
    now = timezone.now()
    before = snapshot(old)
    changed = Memory.objects.filter(pk=old.pk, state=State.LIVE).update(
        state=State.SUPERSEDED,
        superseded_by=new,
        state_changed_at=now,
        updated_at=now,
        **({"retired_at": now} if operation == Operation.EDIT else end_of(old, new, now)),
    )
    if changed != 1:
        raise Conflict(
            f"{old.id} was changed by somebody else just now.", hint="Look at it again and repeat."
        )
    old.refresh_from_db()
    refresh_around([old])
    audit.append(
        actor,
        Operation.SUPERSEDE,
        memory_id=old.id,
        group=old.group.id,
        payload={"before": before, "after": snapshot(old), "by": str(new.id)},
    )
    return old.id


def end_of(old: Memory, new: Memory, now: datetime) -> dict[str, datetime]:
    """Give the end of the valid time of what is superseded; an event has none, an end before it stays."""
    end = max(filter(None, [new.valid_from or now, old.valid_from]))
    if old.type == Type.EPISODIC or (old.valid_to is not None and old.valid_to <= end):
        return {}
    return {"valid_to": end, "valid_to_known_at": now}


def make_way(actor: Actor, lapsed: Memory) -> None:
    """Retire a live row whose time is over, so that its text can be written anew.

    One that was true until then is history, one whose time to live ran out is expired.
    """
    now, before = timezone.now(), snapshot(lapsed)
    has_expired = lapsed.expires_at is not None and lapsed.expires_at <= now
    lapsed.state = State.EXPIRED if has_expired else State.SUPERSEDED
    lapsed.state_changed_at = lapsed.updated_at = now
    lapsed.save(update_fields=["state", "state_changed_at", "updated_at"])
    refresh_around([lapsed])
    audit.append(
        actor,
        Operation.SUPERSEDE,
        memory_id=lapsed.id,
        group=lapsed.group.id,
        payload={"before": before, "after": snapshot(lapsed)},
    )


def lead_on(actor: Actor, old: Memory, new: Memory) -> bool:
    """Let a row that counts no more lead to what took its place, and log it; False where it leads somewhere already."""
    if Memory.objects.filter(pk=old.pk, superseded_by=None).update(superseded_by=new) != 1:
        return False
    audit.append(
        actor,
        Operation.SUPERSEDE,
        memory_id=old.id,
        group=old.group.id,
        payload={"changes": {"superseded_by": [None, str(new.id)]}, "by": str(new.id)},
    )
    return True


def link(
    actor: Actor,
    memory: Memory,
    other: Memory,
    *,
    kind: LinkKind,
    score: float | None = None,
    reason: str = "",
    evidence: dict[str, str] | None = None,
) -> Link | None:
    """Tie two chains' roots, once per kind; None where both are the same chain."""
    if memory.root_key == other.root_key:
        return None
    tie, _ = Link.objects.get_or_create(
        kind=kind,
        source_id=memory.root_key,
        target_id=other.root_key,
        defaults={
            "score": score,
            "reason": reason,
            "evidence": evidence or {},
            "author_name": actor.name,
            "run": actor.run,
        },
    )
    return tie


def link_successor(actor: Actor, candidate: Memory, old: Memory, *, operation: Operation) -> None:
    """Note that a candidate will take the place of `old` once it is approved, by this operation (supersede or edit).

    Where the two are known to contradict each other, that link says so from now on, and is open again.
    """
    reason, waits = f"will {operation} it once approved", {ON_APPROVAL: operation.value}
    tie = link(actor, candidate, old, kind=LinkKind.CONFLICT, reason=reason, evidence=waits)
    if tie is not None and ON_APPROVAL not in tie.evidence:
        tie.reason, tie.evidence, tie.status = reason, tie.evidence | waits, LinkStatus.OPEN
        tie.settled_at, tie.settled_by = None, ""
        tie.save(update_fields=["reason", "evidence", "status", "settled_at", "settled_by"])


def policy_doubt(actor: Actor, group: Group, confidence: float) -> str:
    """Say why the group's policy holds this write back; empty where it does not."""
    match group.policy:
        case CandidatePolicy.ALL:
            return f"every write into '{group.slug}' waits for a curator"
        case CandidatePolicy.AGENTS if not actor.is_person:
            return f"writes of agents into '{group.slug}' wait for a curator"
        case CandidatePolicy.BELOW if confidence < group.policy_confidence:
            return f"confidence {confidence:.2f} is below {group.policy_confidence:.2f}, from which '{group.slug}' takes writes"
    return ""


def refuse_write(slug: str) -> NoReturn:
    """Raise NotPermitted for a write into a group."""
    raise NotPermitted(
        f"You may not write in the group '{slug}'.",
        hint="Ask an admin of the group for the role contributor, and for a token with the scope 'write'.",
        field="group",
    )
