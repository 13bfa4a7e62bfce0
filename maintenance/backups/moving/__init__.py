"""Moves the store into another database, in either direction: the same ids, texts, vectors, log and tombstones.

The store itself is only read. The rows are one transaction of the target, so a move that was ended is simply begun again.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from django.contrib.auth.models import User
from django.db import DatabaseError, connection, connections, transaction

from access.actor import Actor
from access.answers import Answer
from access.errors import Conflict, Unavailable
from access.tokens import operator
from maintenance.backups import make_backup, require_admin
from maintenance.backups.copies import copies
from maintenance.backups.moving.tables import TARGET, copy_tables, count_rows, differing_tables, target_of
from maintenance.backups.open_copy import log_ends
from memories.embedding import ModelUnavailable, get_encoder
from memories.language.cleaning import first_words
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.types import Scope, State
from storage.progress import Progress, ignore_progress

_MIGRATIONS = "django_migrations"  # Django's table of what was migrated; the first one that it makes
_MIN_OVERLAP = 0.95  # of the first ten memories of an answer, before and after
# A recall of one group reads the global rows too, whatever the group's size.
MANY_GLOBAL = 20_000


@dataclass(frozen=True)
class Target:
    """Another database: its entry of DATABASES, and the variables with which Loci opens it. `name` has no password."""

    name: str
    settings: Mapping[str, Any]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class MoveResult(Answer):
    """What was moved, or would be; `backup` is the store's file made before, `overlap` the share of equal answers."""

    target: str
    tables: int
    rows: int
    global_memories: int  # live ones, which every group's recall reads
    backup: str = ""
    questions: int = 0
    overlap: float = 1.0


def preview_move(actor: Actor, target: Target) -> MoveResult:
    """What move_store() would copy; changes nothing. Raises as that does."""
    require_admin(actor)
    with target_of(target.settings):
        check_target(target)
    return describe_move(target)


def move_store(actor: Actor, target: Target, *, report: Progress = ignore_progress) -> MoveResult:
    """Copy the store into an empty database and compare the two.

    1. make a verified backup of the store, and the tables in the target
    2. copy every table, and compare every row
    3. run the doctor there, and ask both the same questions

    The target is used once DATABASE_URL or storage.database names it.

    Raises:
        NotPermitted: the actor does not administer all groups.
        Conflict: the target has rows, or another process uses the store.
        Unavailable: the target cannot be opened, or differs after the copy.
    """
    require_admin(actor)
    with target_of(target.settings):
        check_target(target)
    _check_nobody_writes()
    backup = str(make_backup(actor).path)
    report("making tables", 0, 1)
    _run(["-m", "django", "migrate", "-v0", "--skip-checks"], target.environment)
    with target_of(target.settings), transaction.atomic(using=TARGET):
        began = log_ends()
        copy_tables(report)
        if differing := differing_tables(report):
            raise Unavailable(f"The copy differs in {', '.join(differing)}.", hint="The store is unchanged.")
        if log_ends() != began:
            raise Conflict("The store was written to during the move.", hint="Stop Loci, then move again.")
    report("checking the copy", 0, 1)
    unchanged = "The store is unchanged. Empty the target before you move again."
    if faults := _target_faults(target.environment):
        raise Unavailable(f"The doctor finds in the copy: {'; '.join(faults)}.", hint=unchanged)
    questions = _pick_questions()
    overlap = _overlap_of_answers(questions, target.environment)
    if overlap < _MIN_OVERLAP:
        raise Unavailable(
            f"{overlap:.0%} of the first memories in {len(questions)} answers are the same.", hint=unchanged
        )
    return describe_move(target, backup=backup, questions=len(questions), overlap=overlap)


def describe_move(target: Target, **done: Any) -> MoveResult:
    """The size of the store, and what was done."""
    counts = count_rows()
    global_memories = Memory.objects.filter(state=State.LIVE, scope=Scope.GLOBAL).count()
    return MoveResult(target.name, len(counts), sum(counts.values()), global_memories, **done)


def check_target(target: Target) -> None:
    """Raise Conflict unless the target is empty, or has only what an earlier move made that did not end."""
    try:
        tables = {*connections[TARGET].introspection.table_names()}
    except DatabaseError as error:
        lines = str(error).strip().splitlines()
        raise Unavailable(
            f"{target.name} cannot be opened: {lines[0] if lines else error}.",
            hint="Make the database, and a role that owns it.",
        ) from error
    known = {_MIGRATIONS, *connection.introspection.django_table_names()}
    is_ours = not tables or (_MIGRATIONS in tables and ("memories_memory" in tables or tables <= known))
    has_rows = any(
        model._meta.db_table in tables and model._base_manager.using(TARGET).exists()
        for model in (User, Memory)
    )
    if has_rows or not is_ours:
        raise Conflict(f"{target.name} is not empty.", hint="Name an empty database.")


def _check_nobody_writes() -> None:
    """Raise Conflict if another process has the store open."""
    try:
        with copies().exclusive_access():
            pass
    except DatabaseError as error:
        raise Conflict(
            f"Nothing was moved: {error}.", hint="Stop Loci and 'loci mcp --stdio', then move."
        ) from error


_CHECKED_QUESTIONS: Final = 100
QUESTION_WORDS: Final = 12
_MODEL_S: Final = 120
_DOCTOR: Final = ["-m", "django", "doctor", "--json"]
ANSWERS: Final = [
    "-c",
    "import django; django.setup(); from maintenance.backups import moving; moving.print_answers()",
]
ROOT: Final = Path(__file__).resolve().parents[3]  # where the packages are


class _GroupQuestion(NamedTuple):
    text: str
    group: str


def _target_faults(environment: Mapping[str, str]) -> list[str]:
    """What the doctor finds wrong in the target and not in the store."""
    here, there = (_wrong_checks(_run(_DOCTOR, each, may_fail=True)) for each in ({}, environment))
    return [f"{check}: {detail}" for check, detail in there.items() if check not in here]


def _wrong_checks(told: str) -> dict[str, str]:
    findings = json.loads(told)["findings"]
    return {each["check"]: each["detail"] for each in findings if each["verdict"] == "wrong"}


def _pick_questions() -> list[_GroupQuestion]:
    """Beginnings of live memories, spread over the store, as questions."""
    live = Memory.objects.filter(state=State.LIVE).order_by("key")
    every = max(1, live.count() // _CHECKED_QUESTIONS)
    keys = list(live.values_list("key", flat=True))[::every][:_CHECKED_QUESTIONS]
    rows = Memory.objects.filter(key__in=keys).order_by("key").values_list("content", "group__slug")
    return [_GroupQuestion(first_words(text, QUESTION_WORDS), slug) for text, slug in rows]


def _overlap_of_answers(questions: Sequence[_GroupQuestion], environment: Mapping[str, str]) -> float:
    """The mean share of the memories of the store's answers that the target's have too; 1.0 without questions."""
    if not questions:
        return 1.0
    asked = json.dumps(questions)
    here, there = (json.loads(_run(ANSWERS, each, stdin=asked)) for each in ({}, environment))
    shares = [len({*old} & {*new}) / len(old) for old, new in zip(here, there, strict=True) if old]
    return sum(shares) / len(shares) if shares else 1.0


def print_answers() -> None:
    """Read a JSON list of questions and groups; write a list of lists of ids. Nothing is logged or counted."""
    questions = json.load(sys.stdin)
    with suppress(ModelUnavailable):  # on a busy machine the first answers would be by keywords alone
        get_encoder(timeout_s=_MODEL_S)
    asked = [RecallRequest(text, group=group, max_results=10, is_trial=True) for text, group in questions]
    found = [[str(item.memory.id) for item in recall(operator(), request).items] for request in asked]
    sys.stdout.write(json.dumps(found))


def _run(
    arguments: Sequence[str], environment: Mapping[str, str], *, stdin: str = "", may_fail: bool = False
) -> str:
    """The output of a Python process of Loci with these variables; Unavailable if it fails."""
    around: dict[str, Any] = {**os.environ, "DJANGO_SETTINGS_MODULE": "loci_site.settings", **environment}
    done = subprocess.run(  # noqa: S603 - our own interpreter and modules
        [sys.executable, *arguments],
        cwd=ROOT,
        env=around,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not may_fail:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise Unavailable(f"The target cannot be used: {lines[-1]}", hint="The store is unchanged.")
    return done.stdout
