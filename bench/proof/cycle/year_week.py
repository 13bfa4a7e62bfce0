"""One week of the simulated year, in a process of its own whose clock stands in that week.

`python -m bench.proof.cycle.year_week`: {"week": n, "amount": n, "is_deep": bool} on stdin, what was seen as JSON on stdout.
"""

import hashlib
import json
import resource
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any

import django

django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py

import time_machine  # noqa: E402
from django.db import connection, connections  # noqa: E402
from django.db.models import Max  # noqa: E402
from django.utils import timezone  # noqa: E402

from access.actor import WRITE  # noqa: E402
from access.errors import Conflict  # noqa: E402
from access.groups import find_or_create_group  # noqa: E402
from access.tokens import operator  # noqa: E402
from bench.proof.cycle.year_texts import Said, said_in_week  # noqa: E402
from bench.proof.witness import half_written, store_faults  # noqa: E402
from loci_site.server.process import take_short_turns  # noqa: E402
from maintenance.cycle import RunPlan, run_cycle  # noqa: E402
from maintenance.cycle.undo import standing_changes, undo_run  # noqa: E402
from maintenance.models import Run, RunStatus  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.models import Link, LinkKind, Memory, Piece  # noqa: E402
from memories.recall import RecallRequest, recall  # noqa: E402
from memories.recall_log import COUNTER  # noqa: E402
from memories.store import store  # noqa: E402
from relations.models import EntityAlias, Relation, RelationEvidence  # noqa: E402

YEAR_BEGINS = datetime(2027, 1, 4, 8, 0, tzinfo=UTC)  # a Monday
WRITERS, READERS = 4, 4
THINKING_S = 2.0  # between two questions of a reader; all threads share one interpreter
TABLES = (Memory, Piece, Link, Relation, RelationEvidence, EntityAlias)
# What counting recalls writes, whenever it comes to it, and when a row was last written: an undo writes it.
COUNTED = frozenset({"access_count", "last_accessed", "updated_at"})


def live_a_week(week: int, amount: int, *, is_deep: bool) -> dict[str, Any]:
    """Store and recall beside a cycle, then look: a run twice, a run taken back, and everything in its place."""
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
        faults += unlike + _faults(is_deep=is_deep)
    return {
        "memories": Memory.objects.count(),
        "live": Memory.objects.filter(state="live").count(),
        "busy_s": _seconds(busy),
        "day_s": _seconds(day_later),
        "changes": standing_changes(day_later).count(),
        "undo_s": round(undo_s, 2),
        "lock_ms": max(
            (round(1000 * s["longest_lock_s"]) for r in (busy, quiet, day_later) for s in r.steps), default=0
        ),
        "counts": {
            name: busy.counts.get(name, 0) + quiet.counts.get(name, 0)
            for name in {*busy.counts, *quiet.counts}
        },
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "faults": faults,
    }


def _busy_cycle(week: list[Said]) -> tuple[Run, list[str]]:
    """Run a cycle while four threads store the week's texts and four recall."""
    faults: list[str] = []
    for group in sorted({one.group for one in week}):
        find_or_create_group(operator(), group, right=WRITE)
    is_over = threading.Event()
    writers = [_thread(lambda at=at: _write(week[at::WRITERS], faults), faults) for at in range(WRITERS)]
    readers = [
        _thread(lambda at=at: _read(week[at::READERS], is_over, faults), faults) for at in range(READERS)
    ]
    for thread in (*writers, *readers):
        thread.start()
    run = run_cycle(operator(), RunPlan(max_share=1))
    for thread in writers:
        thread.join()
    is_over.set()
    for thread in readers:
        thread.join()
    if run.status != RunStatus.DONE:
        faults.append(f"the cycle ended {run.status}: {run.error}")
    return run, faults


def _thread(work: Callable[[], None], faults: list[str]) -> threading.Thread:
    def body() -> None:
        try:
            work()
        except Exception as error:
            faults.append(f"{threading.current_thread().name}: {type(error).__name__}: {error}")
        finally:
            connections.close_all()

    return threading.Thread(target=body)


def _write(said: list[Said], faults: list[str]) -> None:
    for one in said:
        older = _older_fact(one) if one.corrects else None
        draft = Draft(
            one.content,
            type=one.type,
            group=one.group,
            scope="group",
            confidence=one.confidence,
            valid_from=one.valid_from,
            expires_at=one.expires_at,
            thread=one.thread,
            supersedes=older.id if older else None,
        )
        try:
            stored = store(operator(), draft)
        except Conflict:  # somebody corrected the same fact just now: what is said is a fact of its own then
            stored = store(operator(), replace(draft, supersedes=None))
        if stored.memory is None or stored.outcome not in ("created", "reinforced", "queued"):
            faults.append(f"{one.content!r} was {stored.outcome}")


def _older_fact(one: Said) -> Memory | None:
    """A fact that no other writer of this week corrects: the one that the text's own hash picks."""
    facts = Memory.objects.filter(state="live", type="semantic", trust="active", group__slug=one.group)
    picked = int(hashlib.sha256(one.content.encode()).hexdigest()[:8], 16)
    count = facts.filter(created_at__lt=timezone.now() - timedelta(days=5)).count()
    return facts.order_by("key")[picked % count] if count else None


def _read(said: list[Said], is_over: threading.Event, faults: list[str]) -> None:
    at = 0
    while not is_over.is_set():
        one = said[at % len(said)]
        answer = recall(operator(), RecallRequest(query=one.content, group=one.group))
        faults += [
            f"recall gave {item.memory.state} text" for item in answer.items if item.memory.state != "live"
        ]
        at += 1
        is_over.wait(THINKING_S)


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


def _faults(*, is_deep: bool) -> list[str]:
    faults = [*store_faults(), *lost_sources()]
    return faults + (half_written() if is_deep else [])


def lost_sources() -> list[str]:
    """Every summary leads to its sources, and every source that it stands for leads to it."""
    faults = []
    derived = set(Link.objects.filter(kind=LinkKind.DERIVED).values_list("source_id", "target_id"))
    compacted = Memory.objects.filter(state="compacted").select_related("superseded_by")
    for memory in compacted.iterator():
        into = memory.superseded_by
        if into is None:
            faults.append(f"{memory.id} is compacted into nothing")
        elif (into.root_key, memory.root_key) not in derived:
            faults.append(f"{memory.id} is compacted into {into.id}, which does not name it")
    return faults[:10]


def _seconds(run: Run) -> float:
    return round(sum(step["seconds"] for step in run.steps), 3)


def main() -> None:
    """Live the week that stdin names."""
    take_short_turns()  # as the server does
    told = json.load(sys.stdin)
    print(json.dumps(live_a_week(told["week"], told["amount"], is_deep=told["is_deep"])))


if __name__ == "__main__":
    main()
