"""Export: the store, or the groups of it that the caller may see, as JSON lines that an import can rebuild."""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TextIO

from django.db import connection

from access import audit
from access.actor import READ, Actor
from access.answers import Answer
from access.audit.operations import Operation
from access.audit.retention import link_heads
from access.errors import NotPermitted
from access.groups import find_group
from access.models import Group
from memories.models import IndexState
from sources.exporting.lines import export_lines

_INSTANCE: Final = "instance"  # in the database, so that a restored backup is still the same store
# Django's atomic() takes SQLite's write lock at once, which a long read must not hold.
_BEGIN: Final = {"sqlite": "BEGIN DEFERRED", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"}


@dataclass(frozen=True)
class ExportReport(Answer):
    """What an export wrote: the store's id, the groups' slugs, the number of lines by kind."""

    origin: str
    groups: tuple[str, ...]
    counts: dict[str, int]
    has_log: bool


def export(
    actor: Actor,
    out: TextIO,
    *,
    groups: Sequence[str] = (),
    vectors: bool = False,
    on_progress: Callable[[int], object] | None = None,
) -> ExportReport:
    """Write the named groups, or all that the actor may read, with everything that belongs to them.

    The audit log is included only if the whole store is exported by an admin of it: a chain has no parts. All lines
    show the same moment; the export itself is logged afterwards.

    Raises:
        GroupNotFound, NotPermitted: the actor may not read one of the groups.
    """
    origin = instance_id()
    exported = readable_groups(actor, groups)
    has_log = not groups and actor.is_admin_of_all
    counts: Counter[str] = Counter()
    if has_log:
        link_heads(actor)
    with consistent_read():
        for line in export_lines(actor, exported, origin, vectors=vectors, log=has_log):
            counts[line["kind"]] += 1
            _write(out, line)
            if on_progress is not None:
                on_progress(1)
        del counts["header"]
        _write(out, {"kind": "end", "counts": dict(counts)})
    slugs = tuple(group.slug for group in exported)
    audit.append(actor, Operation.EXPORT, payload={"counts": dict(counts), "groups": list(slugs)})
    return ExportReport(origin, slugs, dict(counts), has_log)


def instance_id() -> str:
    """The store's id (a UUID), created on first use: it names the store's audit chains in other stores."""
    state, _ = IndexState.objects.get_or_create(name=_INSTANCE, defaults={"value": str(uuid.uuid4())})
    return state.value


@contextmanager
def consistent_read() -> Iterator[None]:
    """All queries in the block see the database as of the first one, without blocking writers. The block must not write."""
    if connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN[connection.vendor])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ROLLBACK")


def readable_groups(actor: Actor, slugs: Sequence[str]) -> list[Group]:
    """The named groups, or all that the actor may read; raises if one of them is not readable."""
    if slugs:
        return [find_group(actor, slug, right=READ) for slug in dict.fromkeys(slugs)]
    groups = [group for group in Group.objects.order_by("slug") if actor.may(READ, group.key)]
    if not groups and not actor.may(READ):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")
    return groups


def _write(out: TextIO, line: dict[str, Any]) -> None:
    out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
