"""Run one week of the simulated year in its own process, whose clock is set to that week."""

import hashlib
import resource
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle, zip_longest
from typing import Any

import time_machine
from django.db import connection, connections
from django.db.models import Max
from django.utils import timezone

from access.errors import Conflict
from access.groups import find_or_create_group
from access.tokens import operator
from bench.proof.cycle.year_texts import Said, said_in_week
from bench.proof.witness import half_written, store_faults
from loci_site.server.process import take_short_turns
from maintenance.cycle import RunPlan, run_cycle
from maintenance.cycle.undo import standing_changes, undo_run
from maintenance.models import Run, RunStatus
from memories.draft import Draft
from memories.embedding import get_encoder
from memories.models import Link, LinkKind, Memory, Piece
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from memories.store import store
from relations.models import EntityAlias, Relation, RelationEvidence

YEAR_BEGINS = datetime(2027, 1, 4, 8, 0, tzinfo=UTC)  # a Monday
WRITERS, READERS = 4, 4
THINKING_S = 2.0  # between two questions of a reader; all threads share one interpreter
TABLES = (Memory, Piece, Link, Relation, RelationEvidence, EntityAlias)
# What counting recalls writes, whenever it comes to it, and when a row was last written: an undo writes it.
COUNTED = frozenset({"access_count", "last_accessed", "updated_at"})


def live_a_week(week: int, amount: int, is_deep: bool) -> dict[str, Any]:
    """Store and recall beside a cycle, then look: a run twice, a run taken back, and everything in its place."""
    take_short_turns()  # as the server does
    monday = YEAR_BEGINS + timedelta(weeks=week)
    get_encoder(timeout_s=60)
    with time_machine.travel(monday + timedelta(days=6), tick=True):
        busy, faults = _busy_cycle(said_in_week(week, amount, monday=monday))
        quiet = run_cycle(operator(), RunPlan(max_share=1))
        second = run_cycle(operator(), RunPlan(now=quiet.now, max_share=1))
        if second.counts or standing_changes(second).exists():
            faults.append(f"a second run was not empty: {second.counts}")
        COUNTER.flush()
        day_later, undo_s, unlike = _taken_back(timezone.now() + timedelta(days=1))
        faults += [*unlike, *store_faults(), *lost_sources(), *(half_written() if is_deep else ())]
    return {
        "memories": Memory.objects.count(),
        "live": Memory.objects.filter(state="live").count(),
        "busy_s": _seconds(busy),
        "day_s": _seconds(day_later),
        "undo_s": round(undo_s, 2),
        "lock_ms": max(
            (round(1000 * s["longest_lock_s"]) for r in (busy, quiet, day_later) for s in r.steps), default=0
        ),
        "counts": Counter(busy.counts) + Counter(quiet.counts),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "faults": faults,
    }


def _busy_cycle(week: list[Said]) -> tuple[Run, list[str]]:
    """Run a cycle while four threads store the week's texts and four recall."""
    faults: list[str] = []
    for group in sorted({draft.group for draft, _ in week}):
        find_or_create_group(operator(), group)
    is_over = threading.Event()
    with ThreadPoolExecutor(WRITERS + READERS) as pool:
        writers = [pool.submit(_alone, _write, week[at::WRITERS], faults) for at in range(WRITERS)]
        readers = [pool.submit(_alone, _read, week[at::READERS], is_over, faults) for at in range(READERS)]
        try:
            run = run_cycle(operator(), RunPlan(max_share=1))
            wait(writers)
        finally:
            is_over.set()
    broken = (job.exception() for job in (*writers, *readers))
    faults += [f"{type(error).__name__}: {error}" for error in broken if error]
    if run.status != RunStatus.DONE:
        faults.append(f"the cycle ended {run.status}: {run.error}")
    return run, faults


def _alone(work: Callable[..., None], *values: object) -> None:
    try:
        work(*values)
    finally:
        connections.close_all()


def _write(said: list[Said], faults: list[str]) -> None:
    for draft, corrects in said:
        older = _older_fact(draft) if corrects else None
        try:
            stored = store(operator(), replace(draft, supersedes=older.id if older else None))
        except Conflict:  # another writer corrected the same fact meanwhile: the statement becomes a new fact
            stored = store(operator(), draft)
        if stored.memory is None or stored.outcome not in ("created", "reinforced", "queued"):
            faults.append(f"{draft.content!r} was {stored.outcome}")


def _older_fact(draft: Draft) -> Memory | None:
    """A fact that no other writer of this week corrects: the one that the text's own hash picks."""
    facts = Memory.objects.filter(state="live", type="semantic", trust="active", group__slug=draft.group)
    picked = int(hashlib.sha256(draft.content.encode()).hexdigest()[:8], 16)
    count = facts.filter(created_at__lt=timezone.now() - timedelta(days=5)).count()
    return facts.order_by("key")[picked % count] if count else None


def _read(said: list[Said], is_over: threading.Event, faults: list[str]) -> None:
    for draft, _ in cycle(said):
        answer = recall(operator(), RecallRequest(query=draft.content, group=draft.group))
        faults += [
            f"recall gave {item.memory.state} text" for item in answer.items if item.memory.state != "live"
        ]
        if is_over.wait(THINKING_S):
            return


def _taken_back(now: datetime) -> tuple[Run, float, list[str]]:
    """Run a cycle a day later and take it back: every field and both indexes are as before, and what it made is hidden."""
    newest = Memory.objects.aggregate(newest=Max("key"))["newest"]
    before = rows_up_to(newest)
    run = run_cycle(operator(), RunPlan(now=now, max_share=1))
    began = time.perf_counter()
    done = undo_run(operator(), run.id)
    took = time.perf_counter() - began
    unlike = [f"undo left {kept.table} {kept.id}: {kept.why}" for kept in done.kept[:5]]
    after = rows_up_to(newest)
    for table, rows in before.items():
        for was, is_ in zip_longest(rows, after[table], fillvalue=()):
            if was != is_:
                columns = [
                    f"{one!r} → {other!r}" for one, other in zip(was, is_, strict=False) if one != other
                ]
                unlike.append(
                    f"after undo {table} {(was or is_)[0]} is not as before: {', '.join(columns)}"[:400]
                )
                break
    made = Memory.objects.filter(key__gt=newest).exclude(state__in=["forgotten", "superseded"])
    unlike += [f"after undo {memory.id}, which the run made, is {memory.state}" for memory in made[:5]]
    return run, took, unlike


def rows_up_to(newest: int) -> dict[str, list[Any]]:
    """Every field of each table, and what the two indexes hold, about memories up to this key. A run's own rows stay, hidden."""
    found: dict[str, list[Any]] = {}
    for model in TABLES:
        names = [f.attname for f in model._meta.concrete_fields if f.attname not in COUNTED]
        about = {"memory__lte": newest} if model is Piece else {"key__lte": newest} if model is Memory else {}
        found[model._meta.db_table] = list(
            model._base_manager.filter(**about).order_by("pk").values_list(*names)
        )
    pieces = Piece.objects.filter(memory__lte=newest).aggregate(newest=Max("key"))["newest"]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rowid, content, context, filter FROM memories_fts WHERE rowid <= %s ORDER BY rowid",
            [newest],
        )
        found["memories_fts"] = cursor.fetchall()
        cursor.execute(
            "SELECT piece, room, standing, until, type FROM memories_vec WHERE piece <= %s ORDER BY piece",
            [pieces],
        )
        found["memories_vec"] = cursor.fetchall()
    return found


def lost_sources() -> list[str]:
    """Every event behind a summary is named by it."""
    derived = set(Link.objects.filter(kind=LinkKind.DERIVED).values_list("source_id", "target_id"))
    compacted = Memory.objects.exclude(summary=None).select_related("summary")
    return [
        f"{memory.id} is behind {memory.summary.id}, which does not name it"
        for memory in compacted.iterator()
        if memory.summary is not None and (memory.summary.root_key, memory.root_key) not in derived
    ][:10]


def _seconds(run: Run) -> float:
    return round(sum(step["seconds"] for step in run.steps), 3)
