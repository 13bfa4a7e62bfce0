"""The places of memories, groups and the logs: which columns may contain a text, and what a purge does with them."""

from operator import attrgetter
from typing import Final

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Length, StrIndex

from access.audit.operations import Operation
from access.groups.guarding import split_rules
from access.models import AuditEntry, AuditPayload, Group, RowChange, StoredAnswer
from memories.language.dress.quotes import REDACTION
from memories.models import (
    Checkpoint,
    Doubt,
    Link,
    Memory,
    MovedSource,
    Proposal,
    RecallLog,
    Thread,
    Tombstone,
)
from memories.recall_log import pack_hits, unpack_hits
from memories.store.places import BLANKED, DELETED, PurgedTexts, TextPlace
from relations.models import EntityAlias, Relation
from storage.bulk import batches

MAX_THREAD_CHARS: Final = 200
_MIN_TITLE_CHARS: Final = 16  # shorter titles occur in texts by chance
KEPT: Final = (Operation.MOVE, Operation.CLEAR)  # of these rows, the payload says no more than where and why
_QUOTING: Final = ("content", "tags", "metadata", "source", "source_ref", "anchor_commit")
MEMORIES: Final = "other memories"


def _own_rows(doomed: PurgedTexts) -> Q:
    """The memories themselves."""
    return Q(key__in=doomed.keys)


def _own_payloads(doomed: PurgedTexts) -> Q:
    """What the log says about the memories; in a group that they left, the moves stay."""
    rows = Q(entry__memory_id__in=doomed.ids)
    return rows if doomed.within is None else rows & ~Q(entry__operation__in=KEPT)


def _purge_kept_payloads(doomed: PurgedTexts) -> int:
    """Delete the payloads of moves whose reason quotes a text."""
    if doomed.within is None:
        return 0
    rows = PAYLOADS.rows(doomed).filter(entry__operation__in=KEPT)
    about = rows.filter(pk__in=[pk for pk, *_ in doomed.quotes.rows(rows, "payload")])
    return sum(about.filter(entry__memory_id__in=some).delete()[0] for some in batches(doomed.ids))


def _purge_found_recalls(doomed: PurgedTexts) -> int:
    """Blank the questions of the logged recalls that found a memory, and in a group that they left also that they did.

    A question that found a memory seldom quotes it whole, and may still hold what was to be destroyed.
    """
    keys, blanked = set(doomed.keys), 0
    for some in batches(doomed.recalls):
        rows = RecallLog.objects.filter(pk__in=some).exclude(query=REDACTION)
        if doomed.within is None:
            blanked += rows.update(query=REDACTION)
            continue
        found = list(RecallLog.objects.filter(pk__in=some).only("pk", "query", "hits"))
        for recall in found:
            hits = [hit for hit in unpack_hits(bytes(recall.hits)) if hit[0] not in keys]
            recall.query, recall.hits = REDACTION, pack_hits(hits)
        blanked += RecallLog.objects.bulk_update(found, ["query", "hits"], batch_size=200)
    return blanked


def find_recalls(keys: set[int], *, after: int = 0, group: Group | None = None) -> tuple[list[int], int]:
    """Keys of the logged recalls after one that found one of the memories, and the last key examined."""
    rows, found, last = RecallLog.objects.filter(pk__gt=after).order_by("pk"), list[int](), after
    if group is not None:
        rows = rows.filter(group=group)
    for row, hits in rows.values_list("pk", "hits").iterator(chunk_size=2000):
        last = row
        if any(key in keys for key, _ in unpack_hits(bytes(hits))):
            found.append(row)
    return found, last


def _purge_thread_names(doomed: PurgedTexts) -> int:
    """Blank texts in the names of their own groups' threads, and titles that are a part of one; the number of both."""
    groups = (doomed.within,) if doomed.within is not None else doomed.groups
    gone = 0
    for pk, name in THREADS.find(doomed, *doomed.groups):
        # Two threads may become alike; the id keeps them apart.
        ending = f" {Thread.objects.get(pk=pk).id.hex[-12:]}"
        blanked = doomed.quotes.blank(name)[: MAX_THREAD_CHARS - len(ending)]
        Thread.objects.filter(pk=pk).update(name=blanked + ending)
        gone += not doomed.quotes.find(blanked)
    return gone + _purge_made_titles(Thread.objects.filter(group__in=groups), doomed.texts)


def _purge_made_titles(threads: QuerySet[Thread], texts: tuple[str, ...]) -> int:
    """Blank titles that are a part of a text: sites make titles of a conversation's first words."""
    long = threads.alias(chars=Length("title")).filter(chars__gte=_MIN_TITLE_CHARS)
    return sum(
        long.alias(at=StrIndex(Value(text), F("title"))).filter(at__gt=0).update(title=REDACTION)
        for text in texts
    )


def _purge_guard_rules(doomed: PurgedTexts) -> int:
    """Take the rules out of their own groups' guards that name a text: one with other words would be none."""
    gone = 0
    for pk, rules in _GUARDS.find(doomed, *doomed.groups):
        kept = ", ".join(rule for rule in split_rules(rules) if not doomed.quotes.are_in(rule))
        Group.objects.filter(pk=pk).update(guard=kept)
        gone += not doomed.quotes.find(kept)
    return gone


PAYLOADS: Final = TextPlace(
    "log payloads", "rows of the audit log quote it", AuditPayload, ("payload",), group="entry__group",
    names=("entry__chain", "entry__seq"), own=_own_payloads, erases=_purge_kept_payloads,
)  # fmt: skip
THREADS: Final = TextPlace(
    "thread names", "names of threads contain it", Thread, ("name",), BLANKED, is_own=True, group="group__id", names=("id",),
    erases=_purge_thread_names,
)  # fmt: skip
_GUARDS: Final = TextPlace(
    "guard rules", "rules for sensitive text of groups contain it", Group, ("guard",), BLANKED, is_own=True, group="id",
    names=("slug",), erases=_purge_guard_rules,
)  # fmt: skip


MEMORY_PLACES: Final = (
    TextPlace(MEMORIES, "other memories quote it", Memory, _QUOTING, group="group__id", names=("id",), own=_own_rows),
    # Contexts were computed anew with their threads, so there is nothing to erase.
    TextPlace("contexts", "contexts contain it", Memory, ("context",), BLANKED, group="group__id", names=("id",),
          looks_for=attrgetter("starts"), own=_own_rows, erases=lambda _: 0),
    PAYLOADS,
    TextPlace("log subjects", "rows of the audit log name it", AuditEntry, ("subject",), group="group",
          names=("chain", "seq")),
    TextPlace("recalls", "logged queries contain it", RecallLog, ("query",), DELETED, group="group__id"),
    TextPlace("questions", "questions found it", RecallLog, group="group__id", erases=_purge_found_recalls),
    # A batch holds numbers and times of many rows, never a text.
    TextPlace("row changes", "former values of rows contain it", RowChange, ("vals",), BLANKED,
          own=lambda doomed: Q(kept=Memory._meta.db_table, row__in=doomed.keys) & ~Q(op="b")),
    TextPlace("checkpoints", "checkpoints contain it", Checkpoint, ("state",), BLANKED, group="group__id", names=("id",)),
    TextPlace("proposals", "proposals contain it", Proposal, ("arguments", "reason", "why", "subject"), DELETED,
          group="group__id", names=("id",)),
    TextPlace("stored answers", "stored answers contain it", StoredAnswer, ("answer",), DELETED,
          looks_for=attrgetter("named")),
    TextPlace("instructions", "titles or instructions of groups contain it", Group, ("title", "instructions"), BLANKED,
          is_own=True, group="id", names=("slug",)),
    _GUARDS,
    THREADS,
    TextPlace("threads", "titles, addresses or tags of threads contain it", Thread, ("title", "url", "tags"), BLANKED,
          is_own=True, group="group__id", names=("id",)),
    TextPlace("tombstones", "reasons of tombstones contain it", Tombstone, ("reason",), BLANKED, is_own=True,
          group="group__id", names=("id",)),
    TextPlace("disputes", "reasons of disputes contain it", Doubt, ("reason",), BLANKED, is_own=True,
          group="memory__group__id"),
    TextPlace("links", "reasons of links contain it", Link, ("reason", "evidence"), BLANKED, is_own=True,
          group="source__group__id", names=("id",)),
    TextPlace("relations", "relations contain it", Relation, ("predicate", "metadata"), group="group__id", names=("id",)),
    TextPlace("names", "other names of entities contain it", EntityAlias, ("name", "fold"), group="group__id",
          own=lambda doomed: Q(memory__in=doomed.keys)),
    TextPlace("moved sources", "names of moved sources contain it", MovedSource, ("source", "source_ref"), DELETED,
          group="group__id"),
)  # fmt: skip
