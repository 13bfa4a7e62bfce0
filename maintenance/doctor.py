"""What is wrong with a store, and the repair of what can be made anew from the memories themselves."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings
from django.core.checks import WARNING, CheckMessage, run_checks
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models import QuerySet

from access.actor import ADMIN, Actor
from access.audit import verify_chain
from access.errors import LociError, NotPermitted
from access.models import AuditHead
from maintenance.backfill import embed_owed, owed_pieces
from maintenance.chain_faults import faulty_chains
from memories.context import context_of, neighbours_of, refresh_context
from memories.embedding import ModelUnavailable
from memories.embedding.folder import model_folder
from memories.embedding.install import verify_model
from memories.index.base import search_index
from memories.models import Memory, Piece
from memories.tombstones import key_missing_text, missing_keys
from memories.types import State

SITE_TAG = "loci"  # the site's own checks: the SQLite library, LOCI_HOME, host names
HOME_CHECKS = frozenset({"loci.E004", "loci.W001"})
LEAST_FREE_BYTES = 200 * 1024**2
MAX_NAMED = 5


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOTICE = "notice"  # worth knowing, nothing to repair
    WRONG = "wrong"


@dataclass(frozen=True)
class Finding:
    """One check: what was looked at, how it is, and what to do."""

    check: str
    verdict: Verdict
    detail: str


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found, and what was repaired before that."""

    findings: tuple[Finding, ...]
    repairs: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """True where nothing is wrong."""
        return all(finding.verdict is not Verdict.WRONG for finding in self.findings)


def examine(actor: Actor) -> Diagnosis:
    """Run every check; changes nothing.

    Raises NotPermitted where the actor may not administer everything.
    """
    _check_right(actor)
    return Diagnosis(tuple(_findings()))


def repair(actor: Actor) -> Diagnosis:
    """Make anew what is derived (indexes, contexts, missing pieces, owed vectors), then run every check.

    Memories, relations and the audit log are never changed.
    """
    _check_right(actor)
    if _migrations().verdict is Verdict.WRONG:
        return examine(actor)
    done = [said for step in (_repair_pieces, _repair_contexts, _repair_indexes) if (said := step())]
    return Diagnosis(tuple(_findings()), (*done, *_repair_vectors(actor)))


def _check_right(actor: Actor) -> None:
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("Only an admin of everything may examine the store.")


def _findings() -> Iterator[Finding]:
    site = run_checks(tags=[SITE_TAG])
    yield _of_messages("driver", [m for m in site if m.id not in HOME_CHECKS], _database_name())
    yield _of_messages("home", [m for m in site if m.id in HOME_CHECKS], "its owner alone can read it")
    yield _disk()
    yield _model()
    migrations = _migrations()
    yield migrations
    if migrations.verdict is Verdict.OK:
        for check in (_integrity, _indexes, _chains, _contexts, _pieces, _tombstones, _audit):
            yield _guarded(check)


def _guarded(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except (DatabaseError, LociError) as error:
        return Finding(check.__name__.strip("_"), Verdict.WRONG, f"the check itself failed: {error}")


def _of_messages(name: str, messages: list[CheckMessage], well: str) -> Finding:
    grave = [message for message in messages if message.level >= WARNING]
    if not grave:
        return Finding(name, Verdict.OK, well)
    return Finding(name, Verdict.WRONG, " ".join(f"{m.msg} {m.hint or ''}".strip() for m in grave))


def _database_name() -> str:
    version = ".".join(str(part) for part in connection.get_database_version())
    return f"{connection.display_name} {version}"


def _disk() -> Finding:
    free = shutil.disk_usage(settings.LOCI.home).free
    verdict = Verdict.OK if free >= LEAST_FREE_BYTES else Verdict.WRONG
    return Finding("disk", verdict, f"{free / 1e9:.1f} GB free")


def _model() -> Finding:
    try:
        report = verify_model(model_folder(settings.LOCI.home))
    except ModelUnavailable as absent:
        return Finding("model", Verdict.WRONG, f"{absent} Until then recall works by keywords.")
    return Finding("model", Verdict.OK, f"{report.model_id}, hashes and vectors as they should be")


def _migrations() -> Finding:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        return Finding("migrations", Verdict.WRONG, f"{len(plan)} are not applied: run 'loci migrate'")
    return Finding("migrations", Verdict.OK, "all applied")


def _integrity() -> Finding:
    try:
        connection.check_constraints()
    except IntegrityError as broken:
        return Finding("integrity", Verdict.WRONG, f"a row points to one that is not there: {broken}")
    return Finding("integrity", Verdict.OK, "every row's references are there")


def _indexes() -> Finding:
    faults = search_index().faults()
    if faults:
        return Finding("indexes", Verdict.WRONG, f"{'; '.join(faults)}: run 'loci doctor --repair'")
    return Finding("indexes", Verdict.OK, "keywords and vectors agree with the memories")


def _chains() -> Finding:
    faults = faulty_chains()
    if faults:
        named = ", ".join(f"{fault.id} {fault.why}" for fault in faults[:MAX_NAMED])
        return Finding("chains", Verdict.WRONG, f"{len(faults)} versions do not fit: {named}")
    return Finding("chains", Verdict.OK, "every version leads to one head and one root")


def _contexts() -> Finding:
    stale = sum(context_of(memory, neighbours_of(memory)) != memory.context for memory in _in_context())
    if stale:
        return Finding("contexts", Verdict.WRONG, f"{stale} are out of date: run 'loci doctor --repair'")
    return Finding("contexts", Verdict.OK, "what stands around each memory is up to date")


def _pieces() -> Finding:
    lacking = _without_pieces().count()
    if lacking:
        return Finding(
            "vectors", Verdict.WRONG, f"{lacking} memories have no piece: run 'loci doctor --repair'"
        )
    owed = owed_pieces().values("memory_id").distinct().count()
    if owed:
        return Finding(
            "vectors", Verdict.NOTICE, f"{owed} memories wait for their vector; the worker makes it"
        )
    return Finding("vectors", Verdict.OK, "none is owed")


def _tombstones() -> Finding:
    if said := key_missing_text(missing_keys()):
        return Finding("tombstones", Verdict.WRONG, said)
    return Finding("tombstones", Verdict.OK, "the key of each is here")


def _audit() -> Finding:
    reports = [verify_chain(origin) for origin in AuditHead.objects.values_list("origin", flat=True)]
    broken = [report for report in reports if not report.is_whole]
    if broken:
        said = "; ".join(f"{r.origin or 'own'} chain at row {r.broken_at}: {r.why}" for r in broken)
        return Finding("audit", Verdict.WRONG, said)
    return Finding(
        "audit", Verdict.OK, f"{sum(report.rows for report in reports)} rows, each follows the one before"
    )


def _in_context() -> Iterator[Memory]:
    return Memory.objects.filter(state=State.LIVE).order_by("key").iterator(chunk_size=1000)


def _without_pieces() -> QuerySet[Memory]:
    return Memory.objects.filter(pieces=None)


def _repair_pieces() -> str:
    """Give each memory without a piece the one that waits for its vector."""
    with transaction.atomic():
        rows = [
            Piece(memory=memory, ordinal=0, start=0, end=len(memory.content), tokens=0)
            for memory in _without_pieces()
        ]
        Piece.objects.bulk_create(rows)
    return f"gave {len(rows)} memories their missing piece" if rows else ""


def _repair_contexts() -> str:
    with transaction.atomic():
        count = sum(refresh_context(memory) for memory in list(_in_context()))
    return f"wrote {count} contexts anew" if count else ""


def _repair_indexes() -> str:
    faults = search_index().faults()
    if not faults:
        return ""
    search_index().rebuild()
    return f"made the search indexes anew ({'; '.join(faults)})"


def _repair_vectors(actor: Actor) -> Iterator[str]:
    try:
        result = embed_owed(actor, limit=10_000)
    except ModelUnavailable:
        return
    if result.memories:
        yield f"embedded {result.memories} memories"
