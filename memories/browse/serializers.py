"""The services' results as JSON values, in one place so that every face returns the same."""

from operator import attrgetter
from typing import Any, Final

from access.groups.guarding import findings_json, safe_to_show
from memories.browse.inspection import Inspection, RecallReason
from memories.draft.kinds import Moment, Number
from memories.draft.registry import RECORD_FIELDS
from memories.entities.lines import RelationLine
from memories.entities.statements import RelationStatement
from memories.entities.store_relation import RelationResult
from memories.lifecycle.purge import Certificate
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import UndoneWrite
from memories.models import Checkpoint, Link, Memory
from memories.queries.as_of import known_span
from memories.queries.conflicts import OpenConflict
from memories.queries.labels import label_of
from memories.queries.snapshot import as_json
from memories.recall import Item, RecallResult
from memories.recall.around import NearTurn
from memories.recall.scoring import Trace
from memories.sessions.checkpoints import CheckpointResult
from memories.sessions.context_pack import ContextPack
from memories.store import StoreResult
from memories.store.neighbours import Neighbour, NextStep
from memories.types import Trust


def _alike_json(memory: Memory) -> dict[str, Any]:
    """Where a memory that says the same is."""
    thread = {"thread": memory.thread.name} if memory.thread else {}
    return {"id": str(memory.id), "group": memory.group.slug} | thread


def _turn_json(turn: NearTurn) -> dict[str, Any]:
    """A turn beside a hit; its text has the speaker if the thread names any."""
    memory = turn.memory
    return {
        "id": str(memory.id),
        "offset": turn.offset,
        "date": as_json(memory.moment),
        "author": memory.author_name,
        "label": label_of(memory),
        "content": safe_to_show(turn.text),
        "is_cut": turn.is_cut,
    }


def _conflict_json(conflict: OpenConflict) -> dict[str, Any]:
    """An open conflict of a memory: the other memory's id, the value of each, and who verified the other one."""
    shown = {"id": str(conflict.other), "own": conflict.own_value, "other": conflict.other_value}
    return shown | ({"verified_by": conflict.verified_by} if conflict.verified_by else {})


Json = dict[str, Any]
# Stands beside every stored text: whoever shows it to a model fences it first.
_UNTRUSTED: Final = {"untrusted": True}
WITHHELD = "(withheld: the memory is quarantined)"


def _content_for(memory: Memory, *, is_person: bool) -> str:
    """A memory's text; for agents without secrets and hidden characters, and none of a quarantined one."""
    shown = WITHHELD if memory.trust == Trust.QUARANTINED else safe_to_show(memory.content)
    return memory.content if is_person else shown


def memory_json(memory: Memory, *, text: str | None = None, is_person: bool = False) -> Json:
    """A memory as JSON; `text` replaces the content if only a part is shown.

    Here and below, `is_person`: the reader is a person and no agent.
    """
    body = dict(zip(MEMORY_KEYS, _VALUES(memory), strict=True))
    for name in _MOMENTS:
        if (at := body[name]) is not None:
            body[name] = as_json(at)
    for name, digits in _ROUNDED:
        body[name] = round(body[name], digits)
    body["id"] = str(body["id"])
    body["content"] = _content_for(memory, is_person=is_person) if text is None else safe_to_show(text)
    if (thread := body["thread"]) is not None:
        body["thread"] = thread.name
    body["label"] = label_of(memory)
    return body | _UNTRUSTED


_RETURNED: Final = tuple(field for field in RECORD_FIELDS if field.is_returned)
# The keys of a memory in their order. A field of the registry that is not named here follows at the end.
MEMORY_KEYS: Final = tuple(
    dict.fromkeys(
        (
            "id", "content", "type", "scope", "group", "thread", "position", "state", "trust", "label", "tags", "metadata",
            "confidence", "importance", "pinned", "source", "source_ref", "version", "author", "access_count", "valid_from",
            "valid_to", "created_at", "updated_at", "expires_at", *(field.name for field in _RETURNED),
        )
    )
)  # fmt: skip
# Keys that are no column of that name; memory_json() fills in the label itself.
_PATHS = {"group": "group.slug", "author": "author_name", "label": "key"}
_VALUES = attrgetter(*(_PATHS.get(name, name) for name in MEMORY_KEYS))
_MOMENTS = tuple(field.name for field in _RETURNED if isinstance(field.kind, Moment))
_ROUNDED = tuple(
    (field.name, field.kind.digits)
    for field in _RETURNED
    if isinstance(field.kind, Number) and field.kind.digits is not None
)


def neighbour_json(neighbour: Neighbour, stored: StoreResult) -> Json:
    """A neighbour of a stored text: its cosine, whether it states the same, and what to do about it."""
    return {
        "id": str(neighbour.id),
        "content": _content_for(neighbour.memory, is_person=False),
        "group": neighbour.memory.group.slug,
        "state": neighbour.memory.state,
        "cosine": round(neighbour.cosine, 4),
        "sameness": neighbour.comparison.sameness.value,
        "why": neighbour.why,
        "next": stored.next_steps.get(neighbour.id, NextStep.NOTHING).value,
    } | _UNTRUSTED


def stored_json(stored: StoreResult) -> Json:
    """The result of a store."""
    body: Json = {
        "outcome": stored.outcome,
        "id": str(stored.memory.id) if stored.memory else None,
        "group": stored.group,
        "group_created": stored.group_created,
        "type": stored.memory.type if stored.memory else None,
        "scope": stored.memory.scope if stored.memory else None,
        "trust": stored.memory.trust if stored.memory else None,
        "confidence": round(stored.memory.confidence, 4) if stored.memory else None,
        "superseded": str(stored.superseded) if stored.superseded else None,
        "why": stored.why,
        "near": [neighbour_json(neighbour, stored) for neighbour in stored.neighbours],
        "embedding_owed": stored.is_embedding_owed,
        "removed_characters": stored.removed_characters,
    }
    return body | findings_json(stored.findings)


def _item_json(item: Item) -> Json:
    """One memory of an answer, with its score and label."""
    extra: Json = {"score": item.score, "label": item.label, "is_cut": item.is_cut}
    if item.numbers:
        extra["numbers"] = item.numbers
    if (coming := item.coming) is not None:
        text = _content_for(coming, is_person=False)
        extra["coming"] = {
            "id": str(coming.id),
            "valid_from": as_json(coming.valid_from),
            "content": text,
        } | _UNTRUSTED
    if item.conflicts:
        extra["conflicts"] = [_conflict_json(conflict) for conflict in item.conflicts]
    if item.also_in:
        extra["also_in"] = [_alike_json(other) for other in item.also_in]
    if item.around:
        extra["around"] = [_turn_json(turn) | _UNTRUSTED for turn in item.around]
    return memory_json(item.memory, text=item.text) | extra


def recall_json(result: RecallResult) -> Json:
    """The result of a recall."""
    body: Json = {
        "results": [_item_json(item) for item in result.items],
        "count": len(result.items),
        "group": result.group,
        "mode": result.mode,
        "abstained": result.abstained,
        "confidence": result.confidence,
        "nearest": [_item_json(item) for item in result.nearest],
        "degraded": result.degraded,
        "note": result.note,
        "left_out": result.left_out,
        "missing": list(result.missing),
        "tokens": result.tokens,
        "duration_ms": round(result.duration_ms, 2),
    }
    if result.collects:
        body["collects"] = result.collects.value
    if result.relations:
        body["relations"] = [_line_json(line) for line in result.relations]
    return body | ({"explain": _trace_json(result.trace)} if result.trace else {})


def _line_json(line: RelationLine) -> Json:
    return {
        "id": str(line.id),
        "line": line.text,
        "group": line.group,
        "confidence": round(line.confidence, 4),
        "date": f"{line.since:%Y-%m-%d}",
        "author": line.author,
        "evidence": [str(id_) for id_ in line.evidence],
    }


def _trace_json(trace: Trace) -> list[Json]:
    return [{"step": step.name, **step.detail} for step in trace.steps]


def change_json(change: ChangeResult) -> Json:
    """The result of a verb; a purge's with its certificate."""
    body: Json = {
        "verb": change.verb,
        "id": str(change.id),
        "state": change.state,
        "trust": change.trust,
        "changed": change.changed,
        "dry_run": change.dry_run,
        "consequences": list(change.consequences),
        "changes": change.changes,
    }
    if change.queued:
        body |= {"outcome": "queued", "why": change.queued}
    if change.proposal is not None:
        body["proposal"] = str(change.proposal)
    if change.successor is not None:
        body["successor"] = str(change.successor)
    if change.certificate is not None:
        body["certificate"] = certificate_json(change.certificate)
    return body


def certificate_json(c: Certificate) -> Json:
    """What a purge destroyed and checked."""
    lists = {"ids": [str(id_) for id_ in c.ids], "remains": list(c.remains), "checked": list(c.checked)}
    lists |= {"spared": [str(id_) for id_ in c.spared]}
    return vars(c) | lists | {"at": as_json(c.at)}


def link_json(link: Link) -> Json:
    """A link with the ids of its ends."""
    return {
        "id": str(link.id),
        "kind": link.kind,
        "source": str(link.source.id),
        "target": str(link.target.id),
        "status": link.status,
        "score": link.score,
        "reason": link.reason,
    }


def statement_json(statement: RelationStatement, *, is_person: bool = False) -> Json:
    """A relation as a line, with the ids and texts of both ends and the ids of what proves it."""
    relation, line = statement.relation, statement.line
    is_withheld = not is_person and any(
        end.trust == Trust.QUARANTINED for end in (statement.subject, statement.object)
    )
    subject, object_ = (
        {"id": str(end.id), "content": _content_for(end, is_person=is_person), "label": label_of(end)}
        | _UNTRUSTED
        for end in (statement.subject, statement.object)
    )
    return {
        "id": str(relation.id),
        "subject": subject,
        "predicate": relation.predicate,
        "object": object_,
        "line": WITHHELD if is_withheld else line.text,
        "confidence": round(relation.confidence, 4),
        "evidence": [str(id_) for id_ in line.evidence],
        "date": f"{line.since:%Y-%m-%d}",
        "valid_from": as_json(relation.valid_from),
        "valid_to": as_json(relation.valid_to),
        "depth": statement.depth,
    }


def undone_json(undone: UndoneWrite) -> Json:
    """The result of undoing a write."""
    return {
        "undone": undone.undone,
        "ids": [str(id_) for id_ in undone.ids],
        "consequences": list(undone.consequences),
    }


def relation_json(stored: RelationResult) -> Json:
    """The result of store_relation()."""
    return {
        "outcome": stored.outcome,
        "id": str(stored.relation.id),
        "subject": str(stored.subject.id),
        "predicate": stored.relation.predicate,
        "object": str(stored.object.id),
        "confidence": round(stored.relation.confidence, 4),
        "group": stored.group,
        "group_created": stored.group_created,
        "entities_created": list(stored.entities_created),
        "why": stored.why,
    }


def inspection_json(inspection: Inspection, *, is_person: bool = False) -> Json:
    """Everything about a memory."""
    body: Json = {
        "memory": memory_json(inspection.memory, is_person=is_person),
        "recall": inspection.recall_treatment,
        "head": str(inspection.head.id),
        "versions": [_version_json(version, is_person=is_person) for version in inspection.versions],
        "pieces": inspection.pieces,
        "pieces_owed": inspection.pieces_owed,
        "links": [link_json(link) for link in inspection.links],
        "relations": [statement_json(each, is_person=is_person) for each in inspection.relations],
        "log": list(inspection.log),
        "feedback": {"used": inspection.feedback.used, "wrong": inspection.feedback.wrong},
    }  # fmt: skip
    return body | ({"why": _why_json(inspection.why)} if inspection.why else {})


def _version_json(version: Memory, *, is_person: bool = False) -> Json:
    """A version of a chain: its text, when it was true, and when Loci knew it."""
    known = known_span(version)
    return {
        "id": str(version.id),
        "version": version.version,
        "state": version.state,
        "label": label_of(version),
        "content": _content_for(version, is_person=is_person),
        "valid_from": as_json(version.valid_from),
        "valid_to": as_json(version.valid_to),
        "valid_to_known_at": as_json(version.valid_to_known_at),
        "created_at": as_json(version.created_at),
        "known_from": as_json(known.start),
        "known_to": as_json(known.end),
    } | _UNTRUSTED


def _why_json(why: RecallReason) -> Json:
    """Why a question does or does not return a memory."""
    return {
        "query": why.query,
        "rank": why.rank,
        "reason": why.reason,
        "numbers": why.numbers,
        "steps": [{"step": step.name, **step.detail} for step in why.steps],
    }


def pack_json(pack: ContextPack) -> Json:
    """A context pack: its text, its sections without their texts, and its memories."""
    return {
        "text": pack.text,
        **_UNTRUSTED,
        "group": pack.group,
        "sections": [
            {
                "title": section.title,
                "ids": list(section.ids),
                "asked": section.asked,
                "used": section.used,
                "is_cut": section.is_cut,
                "left_out": [str(memory.id) for memory in section.left_out],
                **({"confidence": section.confidence} if section.confidence else {}),
                **({"note": section.note} if section.note else {}),
            }
            for section in pack.sections
        ],
        "items": [
            {
                "id": str(item.memory.id),
                "text": item.text,
                "type": item.memory.type,
                "trust": item.memory.trust,
                "score": item.score,
                "why": item.why,
                "label": item.label,
                "is_cut": item.is_cut,
                **_UNTRUSTED,
            }
            for section in pack.sections
            for item in section.items
        ],
        "threads": [
            {"name": each.name, "memories": each.memories, "checkpoints": each.checkpoints}
            for each in pack.threads
        ],
        "tokens": pack.tokens,
        "token_budget": pack.token_budget,
        "left_out": pack.left_out,
        "mode": pack.mode,
        "degraded": pack.degraded,
        "conflicts": [
            {"memory": str(id_), **_conflict_json(conflict)}
            for id_, conflicts in pack.conflicts.items()
            for conflict in conflicts
        ],
    }


def checkpoint_json(saved: CheckpointResult) -> Json:
    """A saved checkpoint."""
    checkpoint = saved.checkpoint
    return {
        "id": str(checkpoint.id),
        "group": saved.group,
        "group_created": saved.group_created,
        "thread": checkpoint.thread.name if checkpoint.thread else None,
        "created_at": as_json(checkpoint.created_at),
        "count": saved.count,
        "warning": saved.warning,
    }


def saved_checkpoint_json(checkpoint: Checkpoint) -> Json:
    """A checkpoint with its state."""
    return {
        "id": str(checkpoint.id),
        "group": checkpoint.group.slug,
        "thread": checkpoint.thread.name if checkpoint.thread else None,
        "state": checkpoint.state,
        **_UNTRUSTED,
        "author": checkpoint.author_name,
        "created_at": checkpoint.created_at.isoformat(),
    }
