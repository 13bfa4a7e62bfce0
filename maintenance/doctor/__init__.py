"""The doctor: checks of the store and its environment, and repair of derived data."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext

from access.actor import Actor, require_admin_of_all
from access.errors import LociError
from maintenance.doctor import environment, rows
from maintenance.doctor.repairs import (
    check_folds,
    check_forms,
    repair_contexts,
    repair_folds,
    repair_forms,
    repair_indexes,
    repair_modes,
    repair_pieces,
    repair_vectors,
)
from maintenance.doctor.report import CheckStatus, Diagnosis, Finding

__all__ = ["CheckStatus", "Diagnosis", "Finding", "examine", "repair"]

Check = Callable[[], Finding]

_ENVIRONMENT_CHECKS: tuple[Check, ...] = (
    environment.check_driver,
    environment.check_home,
    environment.check_disk,
)
# These need a migrated database. A quick examination skips the deep checks, which read every row.
_QUICK_CHECKS: tuple[Check, ...] = (
    environment.check_schema,
    rows.check_index_objects,
    rows.check_index_model,
    rows.check_languages,
    rows.check_default_scope,
    rows.check_heads,
    rows.check_orphans,
    rows.check_pieces,
    rows.check_tombstones,
    rows.check_clock,
    environment.check_jobs,
    environment.check_backups,
)
_DEEP_CHECKS: tuple[Check, ...] = (
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
    """Run every check, or with `quick` those that take less than a second; read-only.

    `report` receives the name of each check before it runs.

    Raises NotPermitted unless the actor administers all groups.
    """
    require_admin_of_all(actor, "examine the store")
    return Diagnosis(tuple(run_checks(quick=quick, report=report)))


def repair(actor: Actor, *, report: Callable[[str], object] = lambda check: None) -> Diagnosis:
    """Rebuild derived data (indexes, contexts, missing pieces and vectors), then run every check.

    Also makes exposed files private. Memories, relations and the audit log
    are never changed. With unapplied migrations nothing is repaired.

    Raises NotPermitted unless the actor administers all groups.
    """
    require_admin_of_all(actor, "examine the store")
    if environment.check_migrations().verdict is CheckStatus.WRONG:
        return examine(actor, report=report)
    # Indexes first: rewriting a context removes the old context's words from the index, and a broken one lacks them.
    steps = (
        repair_modes,
        repair_indexes,
        repair_pieces,
        repair_contexts,
        repair_forms,
        repair_folds,
    )
    repairs: list[str] = []
    for step in steps:
        report(step.__name__.replace("_", " "))
        if repaired := step():
            repairs.append(repaired)
    repairs += repair_vectors(actor)
    return Diagnosis(tuple(run_checks(quick=False, report=report)), tuple(repairs))


def run_checks(*, quick: bool, report: Callable[[str], object]) -> Iterator[Finding]:
    """Findings in the order of the checks; after unapplied migrations, no check of the tables runs."""
    model = environment.check_model_is_there if quick else environment.check_model
    judges = (environment.check_judges,) if settings.LOCI.judges.folders and not quick else ()
    for check in (*_ENVIRONMENT_CHECKS, model, *judges):
        yield run_check(check, report)
    migrations = run_check(environment.check_migrations, report)
    yield migrations
    if migrations.verdict is not CheckStatus.OK:
        return
    for check in _QUICK_CHECKS if quick else (*_QUICK_CHECKS, *_DEEP_CHECKS):
        if quick or check is not rows.check_index_objects:  # check_indexes covers it
            yield run_check(check, report)
    if quick:
        for check in _DEEP_CHECKS:
            if check is not rows.check_indexes:  # check_index_objects reports on the same tables
                yield Finding(_name(check), CheckStatus.SKIPPED, gettext("not part of a quick examination"))


def run_check(check: Check, report: Callable[[str], object]) -> Finding:
    """A check's finding with its duration; an error inside the check becomes a finding, so the others still run."""
    report(_name(check))
    began = time.perf_counter()
    try:
        found = check()
    except (DatabaseError, LociError, OSError) as error:
        detail = gettext("the check itself failed: {error}").format(error=error)
        found = Finding(_name(check), CheckStatus.WRONG, detail, gettext("see the findings above first"))
    return replace(found, seconds=round(time.perf_counter() - began, 3))


def _name(check: Check) -> str:
    return getattr(check, "__name__", "").removeprefix("check_").replace("_", " ")
