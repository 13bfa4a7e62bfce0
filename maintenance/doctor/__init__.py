"""What is wrong with a store, and the repair of what can be made anew from the memories themselves."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, transaction

from access.actor import ADMIN, Actor
from access.errors import LociError, NotPermitted
from maintenance.doctor import environment as place
from maintenance.doctor import rows, schema
from maintenance.doctor.report import CheckStatus, Diagnosis, Finding
from maintenance.doctor.text_columns import check_folds, check_forms, repair_folds, repair_forms
from maintenance.embeddings.backfill import embed_owed
from memories.embedding import ModelUnavailable
from memories.models import Memory, Piece
from memories.search.base import search_index
from memories.store.search_columns import refresh_context

__all__ = ["CheckStatus", "Diagnosis", "Finding", "examine", "repair"]

Check = Callable[[], Finding]
ROWS_AT_ONCE = 100  # in one transaction

PLACE: tuple[Check, ...] = (place.check_driver, place.check_home, place.check_disk)
# Asked of a database whose migrations are applied; what reads every row is left out of a quick look.
QUICK: tuple[Check, ...] = (
    schema.check_schema,
    rows.check_index_objects,
    rows.check_index_model,
    rows.check_heads,
    rows.check_orphans,
    rows.check_pieces,
    rows.check_tombstones,
    rows.check_clock,
    place.check_jobs,
    place.check_queue,
    place.check_backups,
)
DEEP: tuple[Check, ...] = (
    rows.check_integrity,
    rows.check_indexes,
    rows.check_chains,
    rows.check_contexts,
    check_forms,
    check_folds,
    rows.check_audit,
)


def examine(
    actor: Actor, *, quick: bool = False, report: Callable[[str], object] = lambda check: None
) -> Diagnosis:
    """Run every check, or with `quick` those that take less than a second; changes nothing.

    `report` hears the name of each check before it runs.

    Raises NotPermitted where the actor may not administer everything.
    """
    _check_right(actor)
    return Diagnosis(tuple(_findings(quick=quick, report=report)))


def repair(actor: Actor, *, report: Callable[[str], object] = lambda check: None) -> Diagnosis:
    """Make anew what is derived (indexes, contexts, missing pieces, owed vectors), then run every check.

    Files that others can read become their owner's alone, and messages that nobody took are dropped. Memories,
    relations and the audit log are never changed.
    """
    _check_right(actor)
    if schema.check_migrations().verdict is CheckStatus.WRONG:
        return examine(actor, report=report)
    # Indexes first: writing a context anew takes the old one's words out, which a broken index does not have.
    steps = (
        _repair_modes,
        _repair_queue,
        _repair_indexes,
        _repair_pieces,
        _repair_contexts,
        repair_forms,
        repair_folds,
    )
    done = [said for step in steps if (said := _told(step, report)())]
    repairs = (*done, *_repair_vectors(actor))
    return Diagnosis(tuple(_findings(quick=False, report=report)), repairs)


def _check_right(actor: Actor) -> None:
    if not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("Only an admin of everything may examine the store.")


def _findings(*, quick: bool, report: Callable[[str], object]) -> Iterator[Finding]:
    model = place.check_model_is_there if quick else place.check_model
    yield from _run((*PLACE, model), report)
    migrations = _timed(schema.check_migrations, report)
    yield migrations
    if migrations.verdict is not CheckStatus.OK:
        return
    if quick:
        yield from _run(QUICK, report)
        for check in DEEP:
            if check is not rows.check_indexes:  # its tables were looked for
                yield Finding(_name(check), CheckStatus.SKIPPED, "left out of a quick look")
    else:
        yield from _run([check for check in (*QUICK, *DEEP) if check is not rows.check_index_objects], report)


def _run(checks: Sequence[Check], report: Callable[[str], object]) -> Iterator[Finding]:
    for check in checks:
        yield _timed(check, report)


def _timed(check: Check, report: Callable[[str], object]) -> Finding:
    report(_name(check))
    began = time.perf_counter()
    found = _guarded(check)
    return replace(found, seconds=round(time.perf_counter() - began, 3))


def _guarded(check: Check) -> Finding:
    """Run a check; one that cannot look says so, and the others go on."""
    try:
        return check()
    except (DatabaseError, LociError, OSError) as error:
        advice = "look at the findings above it first"
        return Finding(_name(check), CheckStatus.WRONG, f"the check itself failed: {error}", advice)


def _name(check: Check) -> str:
    return getattr(check, "__name__", "").removeprefix("check_").replace("_", " ")


def _told(step: Callable[[], str], report: Callable[[str], object]) -> Callable[[], str]:
    report(step.__name__.strip("_").replace("_", " "))
    return step


def _repair_modes() -> str:
    """Take from others what only the owner may read."""
    home = Path(settings.LOCI.home)
    folders = [folder for folder in (home, home / "keys") if _is_open(folder)]
    # Which files are exposed is found before the folder above them guards them.
    paths = [*place.exposed_files(), *(p for p in [home / "keys" / "django.key"] if _is_open(p))]
    for folder in folders:
        folder.chmod(0o700)
    for path in dict.fromkeys(paths):
        path.chmod(0o600)
    count = len(folders) + len(dict.fromkeys(paths))
    return f"made {count} files and folders their owner's alone" if count else ""


def _is_open(path: Path) -> bool:
    return os.name != "nt" and path.exists() and bool(path.stat().st_mode & place.OTHERS)


def _repair_queue() -> str:
    stale = place.stale_messages()
    for path in stale:
        path.unlink(missing_ok=True)  # a worker may take it at this moment
    return f"dropped {len(stale)} messages that nobody took" if stale else ""


def _repair_pieces() -> str:
    """Give each memory without a piece the one that waits for its vector."""
    count = 0
    while lacking := list(rows.without_pieces().order_by("key")[:ROWS_AT_ONCE]):
        with transaction.atomic():
            still = rows.without_pieces().filter(key__in=[memory.key for memory in lacking])
            made = Piece.objects.bulk_create(
                [Piece(memory=m, ordinal=0, start=0, end=len(m.content), tokens=0) for m in still]
            )
        count += len(made)
    return f"gave {count} memories their missing piece" if count else ""


def _repair_contexts() -> str:
    stale = [memory.key for memory in rows.stale_contexts()]
    count = 0
    for at in range(0, len(stale), ROWS_AT_ONCE):
        with transaction.atomic():
            batch = Memory.objects.filter(key__in=stale[at : at + ROWS_AT_ONCE])
            count += sum(refresh_context(memory) for memory in batch)
    return f"wrote {count} contexts anew" if count else ""


def _repair_indexes() -> str:
    faults = search_index().find_errors()
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
