"""Moves the store into another database, in either direction: the same ids, texts, vectors, log and tombstones.

The store itself is only read. Each table is one transaction, so a move that was ended goes on where it was.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import DatabaseError, connection, connections

from access import audit
from access.actor import Actor
from access.errors import Conflict, Unavailable
from access.models import AuditHead
from maintenance.backups import make_backup, require_admin
from maintenance.backups.copies import copies
from maintenance.backups.moving.compare import CHECKED_QUESTIONS, differing_tables, pick_questions
from maintenance.backups.moving.processes import migrate_target, overlap_of_answers, target_faults
from maintenance.backups.moving.tables import (
    SOURCE,
    TARGET,
    copy_tables,
    count_rows,
    read_mark,
    set_mark,
    target_of,
)
from memories.models import Memory
from memories.types import Scope, State

Progress = Callable[[str, int, int], None]  # step, done, total
MIGRATIONS = "django_migrations"  # Django's table of what was migrated; the first one that it makes
MIN_OVERLAP = 0.95  # of the first ten memories of an answer, before and after
# A recall of one group reads the global rows too, whatever the group's size.
MANY_GLOBAL = 20_000


@dataclass(frozen=True)
class Target:
    """Another database: its entry of DATABASES, and the variables with which Loci opens it. `name` has no password."""

    name: str
    settings: Mapping[str, Any]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class MoveResult:
    """What was moved, or would be; `backup` is the store's file made before, `overlap` the share of equal answers."""

    target: str
    tables: int
    rows: int
    copied: int = 0
    backup: str = ""
    questions: int = 0
    overlap: float = 1.0
    global_memories: int = 0
    is_resumed: bool = False


def preview_move(actor: Actor, target: Target) -> MoveResult:
    """What move_store() would copy; changes nothing. Raises as that does."""
    require_admin(actor)
    with target_of(target.settings):
        is_resumed = check_target(target)
    counts = count_rows(SOURCE)
    return MoveResult(
        target.name, len(counts), sum(counts.values()), global_memories=count_global(), is_resumed=is_resumed
    )


def move_store(
    actor: Actor, target: Target, *, report: Progress = lambda step, done, total: None
) -> MoveResult:
    """Copy the store into an empty database and compare the two.

    1. make a verified backup of the store, and the tables in the target
    2. copy every table
    3. compare every row, run the doctor there, and ask both the same questions

    The target is used once DATABASE_URL or storage.database names it.

    Raises:
        NotPermitted: the actor does not administer all groups.
        Conflict: the target has rows of another store, or another process uses the store.
        Unavailable: the target cannot be opened, or differs after the copy.
    """
    require_admin(actor)
    with target_of(target.settings):
        is_resumed = check_target(target)
    check_nobody_writes()
    backup = "" if is_resumed else str(make_backup(actor).path)
    if not is_resumed:
        report("making tables", 0, 1)
        migrate_target(target.environment)
    with target_of(target.settings):
        copied = copy_tables(store_mark(), report)
        if differing := differing_tables(report):
            raise Unavailable(
                f"The copy differs in {', '.join(differing)}.", hint="Empty the target, then move again."
            )
        if store_mark() != read_mark():
            raise Conflict(
                "The store was written to during the move.", hint="Stop Loci, empty the target, move again."
            )
    report("checking the copy", 0, 1)
    if faults := target_faults(target.environment):
        raise Unavailable(
            f"The doctor finds in the copy: {'; '.join(faults)}.", hint="The store is unchanged."
        )
    questions = pick_questions()
    overlap = overlap_of_answers(questions, target.environment)
    if overlap < MIN_OVERLAP:
        raise Unavailable(
            f"Of the first memories of {len(questions)} answers {overlap:.0%} are the same.",
            hint="The store is unchanged.",
        )
    with target_of(target.settings):
        set_mark("")
    counts = count_rows(SOURCE)
    return MoveResult(
        target.name, len(counts), sum(counts.values()), copied=copied, backup=backup, questions=len(questions),
        overlap=overlap, global_memories=count_global(), is_resumed=is_resumed,
    )  # fmt: skip


def check_target(target: Target) -> bool:
    """True if an earlier move of the same store ended there; Conflict if it has rows of another one."""
    try:
        tables = connections[TARGET].introspection.table_names()
    except DatabaseError as error:
        lines = str(error).strip().splitlines()
        raise Unavailable(
            f"{target.name} cannot be opened: {lines[0] if lines else error}.",
            hint="Make the database, and a role that owns it.",
        ) from error
    if not tables:
        return False
    mark = read_mark() if "index_state" in tables else None
    if mark and mark == store_mark():
        return True
    is_used = "memories_memory" in tables and Memory.objects.using(TARGET).exists()
    if is_used or mark or ("memories_memory" not in tables and not is_half_migrated(tables)):
        raise Conflict(
            f"{target.name} is not empty, or the store was written to since an earlier move.",
            hint="Name an empty database.",
        )
    return False


def is_half_migrated(tables: Collection[str]) -> bool:
    """True if only Loci's tables exist, without an account: an interrupted move, which may continue."""
    if MIGRATIONS not in tables or {*tables} - {MIGRATIONS, *connection.introspection.django_table_names()}:
        return False
    return "auth_user" not in tables or not User.objects.using(TARGET).exists()


def check_nobody_writes() -> None:
    """Raise Conflict if another process has the store open."""
    try:
        with copies().exclusive_access():
            pass
    except DatabaseError as error:
        raise Conflict(
            f"Nothing was moved: {error}.", hint="Stop Loci and 'loci mcp --stdio', then move."
        ) from error


def store_mark() -> str:
    """A digest of where the log's chains end: another one if anything was written."""
    ends = AuditHead.objects.filter(origin=audit.OWN).order_by("chain").values_list("chain", "seq", "hash")
    return hashlib.sha256(repr(sorted(ends)).encode()).hexdigest()


def count_global() -> int:
    """Live memories that every group's recall reads."""
    return Memory.objects.filter(state=State.LIVE, scope=Scope.GLOBAL).count()


__all__ = ["CHECKED_QUESTIONS", "MANY_GLOBAL", "MoveResult", "Target", "move_store", "preview_move"]
