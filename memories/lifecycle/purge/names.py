"""Names, reasons, instructions and stored answers that a purge clears of its texts."""

from typing import Final

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Length, StrIndex

from access.models import Group, SavedFilter, StoredAnswer
from memories.models import Doubt, Link, MovedSource, Thread, Tombstone
from memories.store.purge_hooks import REDACTION, PurgedTexts, Row, redact, rows_quoting

MAX_THREAD_CHARS: Final = 200
MIN_TITLE_CHARS: Final = 16  # shorter titles occur in texts by chance
ROWS_AT_ONCE: Final = 200


def purge_saved_filters(doomed: PurgedTexts) -> int:
    """Delete the filters that contain a purged text as words of their own; return their number."""
    return delete_quoting(SavedFilter.objects.all(), ("asked", "name"), doomed.texts)


def purge_stored_answers(doomed: PurgedTexts) -> int:
    """Delete the stored answers that quote a purged text or name its memory, as they may hold its first words."""
    named = (*doomed.texts, *map(str, doomed.ids))
    return rows_quoting(StoredAnswer.objects.all(), "answer", named).delete()[0]


def purge_instructions(doomed: PurgedTexts) -> int:
    """Redact purged texts in the title and the instructions of their own groups; return the number of changed fields."""
    groups = Group.objects.filter(key__in=doomed.groups)
    return sum(redact_column(groups, column, doomed.texts) for column in ("title", "instructions"))


def purge_reasons(doomed: PurgedTexts) -> int:
    """Redact purged texts in the reasons of tombstones, links and doubts of their own groups; return the number of rows."""
    links = Link.objects.filter(Q(source__group__in=doomed.groups) | Q(target__group__in=doomed.groups))
    tombstones = Tombstone.objects.filter(group__in=doomed.groups)
    doubts = Doubt.objects.filter(memory__group__in=doomed.groups)
    return sum(redact_column(rows, "reason", doomed.texts) for rows in (links, tombstones, doubts))


def purge_moved_sources(doomed: PurgedTexts) -> int:
    """Delete the records of moved sources whose names quote a purged text."""
    return delete_quoting(MovedSource.objects.all(), ("source", "source_ref"), doomed.texts)


def purge_thread_names(doomed: PurgedTexts) -> int:
    """Redact purged texts in the names, titles and addresses of their own groups' threads; return their number."""
    renamed = 0
    for thread in rows_quoting(Thread.objects.filter(group__in=doomed.groups), "name", doomed.texts):
        name = redact(thread.name, doomed.texts)
        if name == thread.name:
            continue
        # Two threads may become alike; the id keeps them apart.
        ending = f" {thread.id.hex[-12:]}"
        Thread.objects.filter(pk=thread.pk).update(name=name[: MAX_THREAD_CHARS - len(ending)] + ending)
        renamed += 1
    own = Thread.objects.filter(group__in=doomed.groups)
    cleared = sum(redact_column(own, column, doomed.texts) for column in ("title", "url"))
    return renamed + cleared + purge_made_titles(own, doomed.texts)


def purge_made_titles(threads: QuerySet[Thread], texts: tuple[str, ...]) -> int:
    """Redact titles that are a part of a purged text: sites make titles of a conversation's first words."""
    long = threads.alias(chars=Length("title")).filter(chars__gte=MIN_TITLE_CHARS)
    return sum(
        long.alias(at=StrIndex(Value(text), F("title"))).filter(at__gt=0).update(title=REDACTION)
        for text in texts
    )


def redact_column(rows: QuerySet[Row], column: str, texts: tuple[str, ...]) -> int:
    """Redact the texts in a text column; return the number of changed rows."""
    changed = []
    for row in rows_quoting(rows, column, texts):
        before = getattr(row, column)
        setattr(row, column, redact(before, texts))
        if getattr(row, column) != before:
            changed.append(row)
    return rows.model._base_manager.bulk_update(changed, [column], batch_size=ROWS_AT_ONCE)


def delete_quoting(rows: QuerySet[Row], columns: tuple[str, ...], texts: tuple[str, ...]) -> int:
    """Delete the rows one of whose columns contains a text as words of its own; return their number."""
    found = {
        row.pk
        for column in columns
        for row in rows_quoting(rows, column, texts)
        if redact(getattr(row, column), texts) != getattr(row, column)
    }
    return rows.filter(pk__in=found).delete()[0]
