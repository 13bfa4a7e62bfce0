"""Chunks that prove memories: linking them, listing them, and asking a person when the text of a chunk changes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import WRITE, Actor, Via
from access.audit.operations import Operation
from access.errors import InvalidInput, NotFound
from access.groups import check_access, hold_groups
from memories.lifecycle.propose import (
    ProposalKind,
    memory_version,
    memory_version_now,
    propose,
)
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.verbs import VERBS
from memories.models import Memory, Proposal
from memories.queries.versions import find_memory, head_of, parse_id
from memories.types import State
from sources.models import Artifact, Chunk, ChunkProof, ChunkState
from storage.bulk import batches

STALE: Final = "stale-evidence"
WHY: Final = "the file that proves it has changed"


def prove(actor: Actor, chunk_id: str | UUID, memory_id: str | UUID) -> ChunkProof:
    """Record that a chunk proves a memory of its group; idempotent. One transaction, logged.

    Raises:
        NotFound: the chunk or the memory does not exist for the actor.
        NotPermitted: the actor may not write in the group.
        InvalidInput: they are of different groups, or the chunk is not live.
    """
    chunk = find_chunk(actor, chunk_id, right=WRITE)
    memory = find_memory(actor, memory_id)
    if memory.group_id != chunk.group_id:
        raise InvalidInput("The memory is of another group than the chunk.", field="memory")
    if chunk.state != ChunkState.LIVE:
        raise InvalidInput(f"The chunk is {chunk.state}: it proves nothing now.", field="chunk")
    with transaction.atomic():
        hold_groups([chunk.group_id])
        proof, is_new = ChunkProof.objects.get_or_create(
            memory_id=memory.root_key, locator=chunk.locator, defaults={"chunk": chunk, "author_name": actor.name[:300]}
        )  # fmt: skip
        if proof.stale_at is not None:  # somebody looked again
            proof.chunk, proof.stale_at, is_new = chunk, None, True
            proof.save(update_fields=["chunk", "stale_at"])
        if is_new:
            audit.append(
                actor,
                Operation.LINK,
                memory_id=memory.id,
                group=chunk.group.id,
                payload={"evidence": chunk.locator},
            )
    return proof


def find_chunk(actor: Actor, chunk_id: str | UUID, *, right: str = "read") -> Chunk:
    """A chunk of a group in which the actor has the right; a held chunk also needs the right to curate.

    Raises:
        NotFound: there is none for the actor.
        NotPermitted: the actor may enter the group but lacks the right.
    """
    rows = Chunk.objects.select_related("group", "artifact").defer("embedding")
    chunk = rows.filter(id=parse_id(chunk_id, field="chunk")).first()
    if chunk is None or not actor.may_enter(chunk.group_id):
        raise NotFound("No chunk of that id, or you don't have access.", field="chunk")
    check_access(actor, chunk.group.slug, chunk.group, right)
    return chunk


def adopt_sources(artifacts: Sequence[Artifact]) -> None:
    """Record proofs for memories whose source is a locator in these files, before the files change."""
    if not artifacts:
        return
    rows = Chunk.objects.filter(artifact__in=artifacts).exclude(state=ChunkState.RETIRED).defer("embedding")
    chunks = {chunk.locator: chunk for chunk in rows}
    for locators in batches(chunks):
        named = Memory.objects.filter(group=artifacts[0].group_id, state=State.LIVE, source__in=locators)
        for memory in named.only("key", "root", "source", "author_name"):
            ChunkProof.objects.get_or_create(
                memory_id=memory.root_key, locator=memory.source,
                defaults={"chunk": chunks[memory.source], "author_name": memory.author_name},
            )  # fmt: skip


def mark_stale(chunk_keys: Sequence[int], now: datetime) -> None:
    """For each live memory that these chunks prove, ask a person whether it is still true. In the caller's transaction."""
    proofs = ChunkProof.objects.filter(chunk__in=chunk_keys, stale_at=None)
    for proof in proofs.select_related("memory__group"):
        _ask_again(proof)
    proofs.update(stale_at=now)


def _ask_again(proof: ChunkProof) -> None:
    """Propose to dispute the memory of a proof, if it still counts."""
    memory = head_of(proof.memory)
    if memory.state != State.LIVE:
        return
    reason = f"Its evidence {proof.locator} has changed or is gone."
    propose(
        FILES, STALE, group=memory.group, memory=memory, version=memory_version(memory), why=WHY,
        arguments={"locator": proof.locator}, reason=reason[:500],
    )  # fmt: skip


def _dispute_memory(actor: Actor, proposal: Proposal, reason: str) -> ChangeResult:
    if proposal.memory is None:
        raise NotFound("The memory is gone.")
    return VERBS["dispute"].apply(actor, proposal.memory.id, reason=reason)


FILES: Final = Actor("files", Via.JOB)
STALE_PROPOSAL: Final = ProposalKind(
    STALE,
    "Dispute it: its evidence in a file has changed",
    _dispute_memory,
    memory_version_now,
    Operation.DISPUTE,
)
