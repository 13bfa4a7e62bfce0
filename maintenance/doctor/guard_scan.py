"""A scan of what is stored for sensitive text: it finds, proposes, and quarantines where the group's policy says so.

Works in short transactions and notes how far it is, so that a scan that was stopped goes on where it was. What a scan found
before is not listed twice, and what a person kept stays kept. Kinds that milder rules only noted are listed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import Actor, require_admin_of_all
from access.additions import additions
from access.answers import Answer
from access.audit.operations import Operation
from access.errors import NotFound
from access.groups.guarding import find_all, policy_of
from guard import Door, GuardTreatment, Policy
from guard.policy import STRICTNESS
from memories.draft import stored_door
from memories.lifecycle.target import change_fields
from memories.lifecycle.undo.large import in_parts
from memories.lifecycle.undo.reverse import Reversed, Terms, reverse
from memories.lifecycle.undo.rows import rows_of
from memories.models import Checkpoint, FindingStatus, IndexState, Memory, MemoryFinding
from memories.queries.versions import parse_id
from memories.store.policy import protection
from memories.types import State, Trust
from storage.canonical_json import canonical_json
from storage.changes import change_of, changing, new_change
from storage.ids import new_id

BATCH_ROWS: Final = 200  # per transaction
CURSOR: Final = "guard_scan"  # in index_state: the scan's id, the last key and how many were looked at
LOOKED_AT: Final = (Trust.ACTIVE, Trust.VERIFIED, Trust.CANDIDATE)
Report = Callable[[int, int], object]


@dataclass
class ScanReport(Answer):
    """What a scan found: kinds with their places, the memories to decide about, those quarantined, those only noted.

    Of them `former` are former versions. `checkpoints` have sensitive text, `checkpoints_held` of these are held back.
    """

    id: UUID
    looked_at: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    proposed: int = 0
    quarantined: int = 0
    noted: int = 0
    former: int = 0
    checkpoints: int = 0
    checkpoints_held: int = 0
    held_elsewhere: int = 0  # places in chunks of files, which are held back
    dry_run: bool = False
    continued: bool = False

    def __str__(self) -> str:
        if not self.kinds:
            return f"looked at {self.looked_at}, found nothing new"
        files = f", {self.held_elsewhere} places in files held back" if self.held_elsewhere else ""
        return f"looked at {self.looked_at}: {self.proposed} to decide, {self.quarantined} quarantined, {self.noted} noted{files}"


def scan_stored(
    actor: Actor, *, dry_run: bool = False, report: Report = lambda done, total: None
) -> ScanReport:
    """Look at every memory that agents may get, or that waits, former versions too, and at checkpoints; a stopped scan is continued.

    Secrets and other values that the policy would mask or refuse are listed for a person (the Review, "sensitive"; of former
    versions and checkpoints they are counted); what it would quarantine is quarantined, unless a person stands behind the
    memory, and such a checkpoint is held back. A dry run only counts, from the beginning.

    Raises:
        NotPermitted: the actor does not administer all groups.
    """
    require_admin_of_all(actor, "scan what is stored")
    scan, last = (ScanReport(new_id(), dry_run=True), 0) if dry_run else read_cursor()
    with changing(change_of(scan.id)):
        rows = Memory.objects.filter(trust__in=LOOKED_AT).select_related("group")
        total = rows.filter(key__gt=last).count() + scan.looked_at
        while batch := list(rows.filter(key__gt=last).order_by("key")[:BATCH_ROWS]):
            last = batch[-1].key
            with transaction.atomic():
                _scan_batch(actor, batch, scan)
                scan.looked_at += len(batch)
                if not dry_run:
                    value = f"{scan.id} {last} {scan.looked_at} {scan.proposed} {scan.quarantined} {scan.noted} {scan.former}"
                    IndexState.objects.update_or_create(name=CURSOR, defaults={"value": value})
            report(scan.looked_at, total)
        _scan_checkpoints(scan)
        for scan_others in additions("scans"):
            found = scan_others(actor, dry_run)
            scan.kinds += found
            scan.held_elsewhere += found.total()
        if not dry_run:
            with transaction.atomic():
                IndexState.objects.filter(name=CURSOR).delete()
                payload = ScanReport.json(scan) | {"action": "scan"}
                audit.append(actor, Operation.GUARD, subject=f"scan:{scan.id}", payload=payload)
    return scan


def _scan_batch(actor: Actor, batch: Sequence[Memory], scan: ScanReport) -> None:
    """Look at some memories and record what is new, inside the transaction."""
    found = defaultdict[int, dict[str, MemoryFinding]](dict)
    for row in MemoryFinding.objects.filter(memory__in=[each.key for each in batch]):
        found[row.memory_id][row.kind] = row
    for memory in batch:
        policy, door, before = policy_of(memory.group), stored_door(memory), found[memory.key]
        places = Counter(each.kind for text in texts_of(memory) for each in find_all(text, policy, door))
        treatments = {kind: _treatment_today(policy, kind, before.get(kind)) for kind in places}
        fresh = [
            MemoryFinding(
                memory=memory, kind=kind, places=count, treatment=treatments[kind].value, scan=scan.id,
                former_treatment=before[kind].treatment if kind in before else "",
            )
            for kind, count in places.items()
            if kind not in before or _needs_decision(treatments[kind], before[kind])
        ]  # fmt: skip
        if fresh:
            record(actor, memory, fresh, scan)


def _treatment_today(policy: Policy, kind: str, found: MemoryFinding | None) -> GuardTreatment:
    """What the rules do with a kind now; a guessed value that its sender vouched for stays vouched for."""
    is_noted = found is not None and found.treatment == GuardTreatment.LABEL
    return policy.treatment(kind, allowed=frozenset({kind}) if is_noted else frozenset())


def _needs_decision(treatment: GuardTreatment, found: MemoryFinding) -> bool:
    """True if today's rules ask for a decision on a kind that was only noted."""
    least = max(STRICTNESS[GuardTreatment.MASK], STRICTNESS[GuardTreatment(found.treatment)] + 1)
    return found.status == FindingStatus.TREATED and STRICTNESS[treatment] >= least


def _scan_checkpoints(scan: ScanReport) -> None:
    """Count checkpoints with sensitive text, and hold back those that the policy would quarantine.

    The policy refuses such a text today; it was stored before.
    """
    rows = Checkpoint.objects.filter(held="").select_related("group", "thread").order_by("key")
    for checkpoint in rows.iterator(chunk_size=BATCH_ROWS):
        texts = (canonical_json(checkpoint.state), checkpoint.thread.name if checkpoint.thread else "")
        policy = policy_of(checkpoint.group)
        kinds = {each.kind for text in texts for each in find_all(text, policy, Door.AGENT)}
        treatments = {policy.treatment(kind) for kind in kinds}
        if not any(STRICTNESS[each] >= STRICTNESS[GuardTreatment.MASK] for each in treatments):
            continue
        scan.checkpoints += 1
        if GuardTreatment.QUARANTINE in treatments:
            scan.checkpoints_held += 1
            if not scan.dry_run:
                Checkpoint.objects.filter(key=checkpoint.key, held="").update(held=str(scan.id))


def texts_of(memory: Memory) -> list[str]:
    """The texts of a memory in which values may stand."""
    others = [*memory.tags, memory.source, memory.source_ref]
    return [
        memory.content,
        *filter(None, others),
        *([canonical_json(memory.metadata)] if memory.metadata else []),
    ]


def record(actor: Actor, memory: Memory, fresh: Sequence[MemoryFinding], scan: ScanReport) -> None:
    """Count the new findings of a memory, and unless it is a dry run write them and quarantine as their treatments say."""
    strictest = max((GuardTreatment(each.treatment) for each in fresh), key=STRICTNESS.__getitem__)
    waits = [
        each
        for each in fresh
        if STRICTNESS[GuardTreatment(each.treatment)] >= STRICTNESS[GuardTreatment.MASK]
    ]
    holds = any(each.treatment == GuardTreatment.QUARANTINE for each in fresh) and not protection(memory)
    scan.kinds.update({each.kind: each.places for each in fresh})
    scan.quarantined += holds
    scan.proposed += bool(waits) and not holds
    scan.noted += not waits
    scan.former += memory.state != State.LIVE
    if scan.dry_run:
        return
    for each in waits:
        each.status = FindingStatus.HELD if holds else FindingStatus.OPEN
    MemoryFinding.objects.bulk_create(
        fresh,
        update_conflicts=True,
        unique_fields=["memory", "kind"],
        update_fields=["places", "treatment", "former_treatment", "status", "scan"],
    )
    if holds:
        reason = f"scan {scan.id}: {', '.join(sorted(each.kind for each in fresh))} ({strictest})"
        change_fields(
            actor, memory, Operation.TRUST, {"trust": Trust.QUARANTINED}, (), reason=reason, dry_run=False
        )


def undo_scan(actor: Actor, id_: str | UUID) -> tuple[int, int]:
    """Take a scan back: memories that it quarantined get their trust again, what it listed is listed no longer.

    Returns how many memories got their trust again, and how many findings and held checkpoints went. What a person decided since stays.

    Raises:
        NotPermitted: the actor does not administer all groups.
        NotFound: no scan of that id found anything.
    """
    require_admin_of_all(actor, "undo a scan")
    scan = parse_id(id_)
    change = change_of(scan)
    rows, done = rows_of([change]), Reversed()
    if not rows:
        raise NotFound("No scan of that id found anything.", hint="'loci guard scan' names the id.")
    terms = Terms(f"scan {scan} was undone", partial=True, besides=frozenset({change}))
    with changing(new_change()):
        for part in in_parts(rows):
            done.add(reverse(actor, part, terms))
        with transaction.atomic():
            restored = len(set(done.memories))
            findings = done.hidden + done.restored - restored
            payload = {"action": "undo", "restored": restored, "findings": findings}
            audit.append(actor, Operation.GUARD, subject=f"scan:{scan}", payload=payload)
    return restored, findings


def read_cursor() -> tuple[ScanReport, int]:
    """The scan that was stopped, with the last key that it looked at; a new one if there is none."""
    value = IndexState.objects.filter(name=CURSOR).values_list("value", flat=True).first()
    if not value:
        return ScanReport(new_id()), 0
    id_, last, *counts = value.split()
    looked_at, proposed, quarantined, noted, former = map(int, [*counts, "0"][:5])
    scan = ScanReport(UUID(id_), looked_at, Counter(), proposed, quarantined, noted, former, continued=True)
    found = MemoryFinding.objects.filter(scan=scan.id).values_list("kind", "places")
    for kind, places in found:
        scan.kinds[kind] += places
    return scan, int(last)
