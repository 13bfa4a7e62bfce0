"""What every face shows of the services' answers, as JSON values; one place, so that all faces say the same."""

from typing import Any

from memories.browse.inspection import Inspection, RecallReason
from memories.entities.statements import RelationStatement
from memories.entities.store_relation import RelationResult
from memories.lifecycle.verbs import ChangeResult
from memories.models import Link, Memory
from memories.queries.as_of import known_span
from memories.queries.labels import label_of
from memories.queries.snapshot import as_json
from memories.recall import Item, RecallResult
from memories.recall.trace import Trace
from memories.sessions.checkpoints import CheckpointResult
from memories.sessions.context_pack import ContextPack
from memories.store import StoreResult
from memories.store.neighbours import Neighbour
from memories.types import Trust

Json = dict[str, Any]
WITHHELD = "(withheld: the memory is quarantined)"


def content_for(memory: Memory, *, is_person: bool) -> str:
    """Give a memory's text; of a quarantined one only to a person, who has to judge it."""
    return WITHHELD if memory.trust == Trust.QUARANTINED and not is_person else memory.content


def memory_json(memory: Memory, *, text: str | None = None, is_person: bool = False) -> Json:
    """Give a memory as a face shows it; `text` stands for the content where only a part is given.

    `is_person`: the reader is one, and not an agent; so of all functions here.
    """
    return {
        "id": str(memory.id),
        "content": content_for(memory, is_person=is_person) if text is None else text,
        "type": memory.type,
        "scope": memory.scope,
        "group": memory.group.slug,
        "thread": memory.thread.name if memory.thread else None,
        "position": memory.position,
        "state": memory.state,
        "trust": memory.trust,
        "label": label_of(memory),
        "tags": memory.tags,
        "metadata": memory.metadata,
        "confidence": round(memory.confidence, 4),
        "importance": memory.importance,
        "pinned": memory.pinned,
        "source": memory.source,
        "source_ref": memory.source_ref,
        "version": memory.version,
        "author": memory.author_name,
        "access_count": memory.access_count,
        "valid_from": as_json(memory.valid_from),
        "valid_to": as_json(memory.valid_to),
        "created_at": as_json(memory.created_at),
        "updated_at": as_json(memory.updated_at),
        "expires_at": as_json(memory.expires_at),
    }


def neighbour_json(near: Neighbour) -> Json:
    """Give a near memory: how near, and whether it says the same."""
    return {
        "id": str(near.id),
        "content": content_for(near.memory, is_person=False),
        "group": near.memory.group.slug,
        "state": near.memory.state,
        "cosine": round(near.cosine, 4),
        "sameness": near.comparison.sameness.value,
        "why": near.why,
    }


def stored_json(stored: StoreResult) -> Json:
    """Give the answer to a store."""
    return {
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
        "near": [neighbour_json(near) for near in stored.near],
        "embedding_owed": stored.is_embedding_owed,
        "removed_characters": stored.removed_characters,
    }


def item_json(item: Item) -> Json:
    """Give one memory of an answer, with its score and label."""
    extra: Json = {"score": item.score, "label": item.label, "is_cut": item.is_cut}
    if item.numbers:
        extra["numbers"] = item.numbers
    return memory_json(item.memory, text=item.text) | extra


def recall_json(recalled: RecallResult) -> Json:
    """Give the answer to a recall."""
    body: Json = {
        "results": [item_json(item) for item in recalled.items],
        "count": len(recalled.items),
        "group": recalled.group,
        "mode": recalled.mode,
        "abstained": recalled.abstained,
        "nearest": [item_json(item) for item in recalled.nearest],
        "degraded": recalled.degraded,
        "left_out": recalled.left_out,
        "missing": list(recalled.missing),
        "tokens": recalled.tokens,
        "duration_ms": round(recalled.duration_ms, 2),
    }
    return body | ({"explain": trace_json(recalled.trace)} if recalled.trace else {})


def trace_json(trace: Trace) -> list[Json]:
    """Give a trace's steps in order."""
    return [{"step": step.name, **step.detail} for step in trace.steps]


def change_json(done: ChangeResult) -> Json:
    """Give the answer to a verb; a purge comes with its certificate."""
    body: Json = {
        "verb": done.verb,
        "id": str(done.id),
        "state": done.state,
        "trust": done.trust,
        "changed": done.changed,
        "dry_run": done.dry_run,
        "consequences": list(done.consequences),
        "changes": done.changes,
    }
    if done.successor is not None:
        body["successor"] = str(done.successor)
    if done.certificate is not None:
        c = done.certificate
        body["certificate"] = {
            "at": as_json(c.at),
            "ids": [str(id_) for id_ in c.ids],
            "memories": c.memories,
            "pieces": c.pieces,
            "links": c.links,
            "log_payloads": c.log_payloads,
            "recall_logs": c.recall_logs,
            "cleared": c.cleared,
            "remains": list(c.remains),
            "checked": list(c.checked),
        }
    return body


def link_json(link: Link) -> Json:
    """Give a link by the ids of its ends."""
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
    """Give a relation with both ends' ids and texts."""
    relation = statement.relation
    subject, object_ = (
        {"id": str(end.id), "content": content_for(end, is_person=is_person), "label": label_of(end)}
        for end in (statement.subject, statement.object)
    )
    return {
        "id": str(relation.id),
        "subject": subject,
        "predicate": relation.predicate,
        "object": object_,
        "confidence": round(relation.confidence, 4),
        "valid_from": as_json(relation.valid_from),
        "valid_to": as_json(relation.valid_to),
        "depth": statement.depth,
    }


def relation_json(stored: RelationResult) -> Json:
    """Give the answer to store_relation()."""
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
    """Give all there is to say of a memory."""
    body: Json = {
        "memory": memory_json(inspection.memory, is_person=is_person),
        "recall": inspection.recall_treatment,
        "head": str(inspection.head.id),
        "versions": [version_json(version, is_person=is_person) for version in inspection.versions],
        "pieces": inspection.pieces,
        "pieces_owed": inspection.pieces_owed,
        "links": [link_json(link) for link in inspection.links],
        "relations": [statement_json(each, is_person=is_person) for each in inspection.relations],
        "log": list(inspection.log),
    }  # fmt: skip
    return body | ({"why": why_json(inspection.why)} if inspection.why else {})


def version_json(version: Memory, *, is_person: bool = False) -> Json:
    """Give a version of a chain: its text, when it was true, and when Loci went by it."""
    known = known_span(version)
    return {
        "id": str(version.id),
        "version": version.version,
        "state": version.state,
        "label": label_of(version),
        "content": content_for(version, is_person=is_person),
        "valid_from": as_json(version.valid_from),
        "valid_to": as_json(version.valid_to),
        "valid_to_known_at": as_json(version.valid_to_known_at),
        "created_at": as_json(version.created_at),
        "known_from": as_json(known.start),
        "known_to": as_json(known.end),
    }


def why_json(why: RecallReason) -> Json:
    """Give why a question brings a memory or does not."""
    return {
        "query": why.query,
        "rank": why.rank,
        "reason": why.reason,
        "numbers": why.numbers,
        "steps": [{"step": step.name, **step.detail} for step in why.steps],
    }


def pack_json(pack: ContextPack) -> Json:
    """Give a context pack."""
    return {
        "text": pack.text,
        "group": pack.group,
        "sections": [{"title": s.title, "ids": list(s.ids)} for s in pack.sections],
        "tokens": pack.tokens,
        "left_out": pack.left_out,
        "degraded": pack.degraded,
    }


def checkpoint_json(saved: CheckpointResult) -> Json:
    """Give a checkpoint that was saved."""
    checkpoint = saved.checkpoint
    return {
        "id": str(checkpoint.id),
        "group": saved.group,
        "group_created": saved.group_created,
        "thread": checkpoint.thread.name if checkpoint.thread else None,
        "created_at": as_json(checkpoint.created_at),
        "count": saved.count,
    }
