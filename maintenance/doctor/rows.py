"""Whether the rows agree with one another and with what is derived from them."""

from collections.abc import Iterator
from itertools import groupby

from django.db import IntegrityError, connection
from django.db.models import Count, F, Max, Q, QuerySet
from django.utils import timezone

from access.audit import chain_names, verify_chain
from access.models import AuditEntry
from maintenance.doctor.report import REPAIR, Finding, first_of, notice, ok, stale_or_ok, wrong
from maintenance.doctor.versions import faulty_chains
from maintenance.embeddings.backfill import owed_pieces
from memories.embedding import model_status
from memories.models import Link, Memory, Piece
from memories.search.base import search_index
from memories.store.pieces import indexed_model
from memories.store.search_columns import context_of
from memories.store.threads import stale_rows
from memories.store.tombstones import key_missing_text, missing_keys
from memories.types import State
from relations.models import EntityAlias, Relation, RelationEvidence

CLOCK_SKEW_S = 300  # two machines' clocks, or one that was just set
ROWS_AT_ONCE = 1000
# Where a compacted memory's way may end: a summary that counts, or that another took the place of.
STANDING = (State.LIVE, State.SUPERSEDED, State.COMPACTED, State.MERGED)


def check_integrity() -> Finding:
    """Every reference leads to a row."""
    try:
        connection.check_constraints()
    except IntegrityError as broken:
        return wrong(
            "integrity",
            f"a row points to one that is not there: {broken}",
            "restore a backup: 'loci restore'",
        )
    return ok("integrity", "every row's references are there")


def check_index_objects() -> Finding:
    """The virtual tables, views and triggers of the search are there."""
    missing = search_index().missing_objects()
    if missing:
        return wrong("indexes", f"{first_of(missing)} missing", REPAIR)
    return ok("indexes", "all their tables and triggers are there")


def check_indexes() -> Finding:
    """The search indexes say what the memories say."""
    faults = search_index().find_errors()
    if faults:
        return wrong("indexes", "; ".join(faults), REPAIR)
    return ok("indexes", "keywords and vectors agree with the memories")


def check_index_model() -> Finding:
    """The vectors that are searched are those of the model that embeds questions."""
    indexed, asking = indexed_model(), model_status().model_id
    if indexed in ("", asking):
        return ok("index model", indexed or "no vector yet")
    return wrong(
        "index model",
        f"the index holds vectors of {indexed}, questions are embedded by {asking}: recall works by keywords",
        "run 'loci reembed'",
    )


def check_chains() -> Finding:
    """Every version leads to one head and one root."""
    faults = [f"{fault.id} {fault.why}" for fault in faulty_chains()]
    if faults:
        return wrong(
            "chains",
            f"{len(faults)} versions do not fit: {first_of(faults)}",
            "look at each with 'loci inspect' and 'loci audit show --memory'; restore a backup if you cannot tell",
        )
    return ok("chains", "every version leads to one head and one root")


def check_orphans() -> Finding:
    """What hangs on memories hangs on chains' roots; what was compacted leads to a summary that counts."""
    hanging = {
        "links": Link.objects.filter(Q(source__root__isnull=False) | Q(target__root__isnull=False)),
        "relations": Relation.objects.filter(Q(subject__root__isnull=False) | Q(object__root__isnull=False)),
        "pieces of evidence": RelationEvidence.objects.filter(memory__root__isnull=False),
        "names": EntityAlias.objects.filter(memory__root__isnull=False),
    }
    counts = {f"{name} hang on a version that is no root": rows.count() for name, rows in hanging.items()}
    counts["compacted memories lead to no summary"] = _compacted().filter(superseded_by=None).count()
    counts["merged memories lead nowhere"] = Memory.objects.filter(
        state=State.MERGED, superseded_by=None
    ).count()
    found = [f"{count} {what}" for what, count in counts.items() if count]
    if found:
        advice = "look at them with 'loci audit show'; 'loci runs undo' or restoring them brings them back"
        return wrong("orphans", "; ".join(found), advice)
    gone = _without_standing_summary()
    if gone:
        return notice(
            "orphans",
            f"the summaries of {len(gone)} compacted memories do not count any more: {first_of(gone)}",
            "restore the summary or the memories ('loci inspect ID' shows both)",
        )
    return ok("orphans", "nothing hangs in the air")


def _compacted() -> QuerySet[Memory]:
    return Memory.objects.filter(state=State.COMPACTED)


def _without_standing_summary() -> list[str]:
    """Name the compacted memories whose way ends at a memory that does not count, or that no summary's link tells of."""
    successors = dict(Memory.objects.filter(superseded_by__isnull=False).values_list("key", "superseded_by"))
    rows = list(_compacted().filter(superseded_by__isnull=False).values_list("key", "id").order_by("key"))
    ends = {key: _end(key, successors) for key, _ in rows}
    standing = dict(Memory.objects.filter(key__in=set(ends.values())).values_list("key", "state"))
    return [str(id_) for key, id_ in rows if standing.get(ends[key]) not in STANDING]


def _end(key: int, successors: dict[int, int | None]) -> int:
    seen = {key}
    while (later := successors.get(key)) is not None and later not in seen:
        seen.add(later)
        key = later
    return key


def check_contexts() -> Finding:
    """What stands around each live memory is up to date."""
    fine = "what stands around each memory is up to date"
    return stale_or_ok("contexts", stale_contexts(), said="are out of date", fine=fine)


def stale_contexts() -> Iterator[Memory]:
    """Give the live memories whose context is not what it should be, thread by thread: two passes, no query for each."""
    rows = Memory.objects.defer("filter", "metadata").order_by("key")
    alone = rows.filter(Q(thread=None) | Q(position=None), state=State.LIVE)
    for memory in alone.iterator(chunk_size=ROWS_AT_ONCE):
        if context_of(memory, []) != memory.context:
            yield memory
    placed = rows.filter(thread__isnull=False, position__isnull=False).order_by("thread", "position", "key")
    for _, line in groupby(placed.iterator(chunk_size=ROWS_AT_ONCE), key=lambda memory: memory.thread_id):
        yield from (memory for memory in stale_rows(list(line)) if memory.state == State.LIVE)


def check_pieces() -> Finding:
    """Every memory has its pieces, and every piece its vector."""
    lacking = without_pieces().count()
    if lacking:
        return wrong("vectors", f"{lacking} memories have no piece", REPAIR)
    broken = Piece.objects.filter(Q(end__lte=F("start")) | Q(embedding__isnull=False, model="")).count()
    if broken:
        return wrong(
            "vectors", f"{broken} pieces name no part of their memory, or no model", "run 'loci reembed'"
        )
    owed = owed_pieces().values("memory_id").distinct().count()
    if owed:
        return notice("vectors", f"{owed} memories wait for their vector", "the worker makes it: 'loci up'")
    return ok("vectors", "none is owed")


def without_pieces() -> QuerySet[Memory]:
    """Give the memories that have no piece."""
    return Memory.objects.filter(pieces=None)


def check_tombstones() -> Finding:
    """The key of each tombstone is here."""
    if said := key_missing_text(missing_keys()):
        what, _, advice = said.partition("; ")
        return wrong("tombstones", what, advice)
    return ok("tombstones", "the key of each is here")


def check_audit() -> Finding:
    """Every row of every chain of the log follows the one before."""
    reports = [verify_chain(name) for name in chain_names()]
    broken = [f"{r.origin or 'own'} chain at row {r.broken_at}: {r.why}" for r in reports if not r.is_whole]
    if broken:
        return wrong(
            "audit",
            first_of(broken),
            "somebody wrote past Loci: keep the database, compare it with a backup; 'loci audit verify' repeats this",
        )
    return ok("audit", f"{sum(report.rows for report in reports)} rows, each follows the one before")


def check_clock() -> Finding:
    """No row comes from the future."""
    now = timezone.now()
    newest = {
        "a log row": AuditEntry.objects.aggregate(at=Max("at"))["at"],
        "a memory": Memory.objects.aggregate(at=Max("created_at"))["at"],
    }
    ahead = [
        f"{what} is of {at:%Y-%m-%d %H:%M} UTC"
        for what, at in newest.items()
        if at is not None and (at - now).total_seconds() > CLOCK_SKEW_S
    ]
    if ahead:
        return wrong(
            "clock",
            f"it is {now:%Y-%m-%d %H:%M} UTC here, but {' and '.join(ahead)}",
            "set this machine's clock; if it was ahead before, decay and expiry wait until then",
        )
    return ok("clock", "no row comes from the future")


def check_heads() -> Finding:
    """A chain has one version that counts."""
    later = Memory.objects.filter(state=State.LIVE, root__isnull=False)
    many = later.values("root").annotate(count=Count("pk")).filter(count__gt=1)
    doubled = {
        int(root or 0)
        for rows in (many, later.filter(root__state=State.LIVE))
        for root in rows.values_list("root", flat=True)
    }
    if doubled:
        named = [str(id_) for id_ in Memory.objects.filter(key__in=doubled).values_list("id", flat=True)]
        return wrong(
            "heads",
            f"{len(named)} chains have several versions that count: {first_of(named)}",
            "forget or retract all but one of each: 'loci inspect ID' lists the versions",
        )
    return ok("heads", "no chain has two versions that count")
