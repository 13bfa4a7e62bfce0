"""Chunks in purges, searches for a person, guard scans and the daily cleanup; deleting files."""

from collections import Counter
from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Count, Q
from django.utils import timezone

from access import audit
from access.actor import CURATE, READ, WRITE, Actor, require_admin_of_all
from access.audit.operations import Operation
from access.errors import Conflict, NotFound, NotPermitted
from access.groups import check_access, hold_groups
from access.groups.guarding import find_all, policy_of
from guard import Door, GuardTreatment
from guard.policy import STRICTNESS
from memories.queries.versions import parse_id
from memories.search.schema import begin_purge
from sources.artifacts.guarding import for_files
from sources.artifacts.proofs import adopt_sources, find_chunk, mark_stale
from sources.artifacts.writing import count_chunks, retire_artifacts
from sources.models import Artifact, ArtifactState, Chunk, ChunkState
from storage.bulk import batches

_RETIRED_KEPT: Final = timedelta(days=30)  # then the texts of retired chunks are deleted
BATCH_ROWS: Final = 500


def delete_retired() -> int:
    """Delete chunks retired a month ago, and files without chunks; returns the number of chunks."""
    before, count = timezone.now() - _RETIRED_KEPT, 0
    old = Chunk.objects.filter(state=ChunkState.RETIRED, retired_at__lt=before)
    for keys in batches(old.values_list("key", flat=True)):
        Chunk.objects.filter(key__in=keys).delete()
        count += len(keys)
    empty = Artifact.objects.annotate(rows=Count("chunks")).filter(rows=0, state=ArtifactState.RETIRED)
    empty.filter(retired_at__lt=before).delete()
    return count


def scan_chunks(actor: Actor, dry_run: bool) -> Counter[str]:
    """Hold back live chunks that the group's policy would not store today; returns the kinds found.

    Of a chunk that a person released, only kinds that are new since then count.
    """
    require_admin_of_all(actor, "scan what is stored")
    kinds: Counter[str] = Counter()
    last = 0
    rows = Chunk.objects.filter(state=ChunkState.LIVE).select_related("group", "artifact")
    while batch := list(rows.filter(key__gt=last).order_by("key")[:BATCH_ROWS]):
        last = batch[-1].key
        found = {row.key: _bad_kinds(row) for row in batch}
        held = [row for row in batch if found[row.key]]
        for each in found.values():
            kinds.update(each)
        if held and not dry_run:
            with transaction.atomic():
                Chunk.objects.filter(key__in=[row.key for row in held], state=ChunkState.LIVE).update(
                    state=ChunkState.HELD, released_by=""
                )
                for artifact in {row.artifact_id: row.artifact for row in held}.values():
                    count_chunks(artifact)
    return kinds


def _bad_kinds(row: Chunk) -> set[str]:
    """The kinds found in a chunk that its group's policy masks, holds or refuses, but for those a person knew of."""
    policy = for_files(policy_of(row.group))
    found = {each.kind for each in find_all(row.content, policy, Door.OUTSIDE)}
    if row.released_by:
        found -= row.findings.keys()
    return {kind for kind in found if STRICTNESS[policy.treatment(kind)] >= STRICTNESS[GuardTreatment.MASK]}


def find_artifact(actor: Actor, artifact_id: str, *, right: str = READ) -> Artifact:
    """A file of a group in which the actor has the right.

    Raises:
        NotFound: there is none for the actor.
        NotPermitted: the actor may enter the group but lacks the right.
    """
    row = Artifact.objects.select_related("group").filter(id=parse_id(artifact_id, field="artifact")).first()
    if row is None or not actor.may_enter(row.group_id):
        raise NotFound("No file of that id, or you don't have access.", field="artifact")
    check_access(actor, row.group.slug, row.group, right)
    return row


def in_readable_groups(actor: Actor) -> Q:
    """The condition for rows of groups that the actor may read."""
    return (
        Q()
        if actor.all_groups and actor.may(READ)
        else Q(group__in=[k for k in actor.roles if actor.may(READ, k)])
    )


def decide_chunk(actor: Actor, chunk_id: str, *, is_release: bool) -> Chunk:
    """Make a held chunk findable as evidence until its text changes, or hold back one that a person released.

    One transaction with its log row.

    Raises:
        NotFound, NotPermitted: as find_chunk() does; it takes a person who may curate.
        Conflict: the chunk is in another state.
    """
    if not actor.is_person:
        raise NotPermitted("Only a person can release a chunk or hold it back.", hint="Do it in the browser.")
    row = find_chunk(actor, chunk_id, right=CURATE)
    if not is_release and not row.released_by:
        raise Conflict(
            "This chunk was not released.",
            hint="Only a released chunk can be held back again.",
            field="chunk",
        )
    before, after = ChunkState.HELD, ChunkState.LIVE
    if not is_release:
        before, after = after, before
    with transaction.atomic():
        hold_groups([row.group_id])
        changed = Chunk.objects.filter(key=row.key, state=before)
        if not changed.update(state=after, released_by=actor.name[:300] if is_release else ""):
            raise Conflict(f"The chunk is not {before} any more.", hint="Load the page again.", field="chunk")
        count_chunks(row.artifact)
        audit.append(
            actor, Operation.GUARD, group=row.artifact.group.id, subject=f"chunk:{row.id}",
            payload={
                "action": "release" if is_release else "hold", "file": str(row.artifact.id), "findings": row.findings,
            },
        )  # fmt: skip
    row.refresh_from_db(fields=["state", "released_by"])
    return row


def remove_artifact(actor: Actor, artifact_id: str) -> int:
    """Delete a file with its chunks, for good; memories that it proved come to the Review. Returns the number of chunks.

    Raises as find_artifact() does.
    """
    row = find_artifact(actor, artifact_id, right=WRITE)
    begin_purge(connection)
    with transaction.atomic():
        hold_groups([row.group_id])
        adopt_sources([row])
        retire_artifacts([row])
        mark_stale(list(row.chunks.values_list("key", flat=True)), timezone.now())
        count, _ = row.chunks.all().delete()
        Artifact.objects.filter(pk=row.pk).delete()
        audit.append(
            actor, Operation.INGEST, group=row.group.id, subject=f"file:{row.id}",
            payload={"action": "remove", "path": row.path, "source": row.source},
        )  # fmt: skip
    return count
