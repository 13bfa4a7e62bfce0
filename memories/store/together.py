"""Stores that come at once are written in one transaction, where one transaction writes at a time (SQLite).

Each is decided by itself, with its own actor, change, log rows and error, and sees those before it. If one fails, nothing of
its group is written, and each is written alone: only that one fails then. If the COMMIT fails, each caller gets its error and
none is written.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from django.db import IntegrityError, connection, transaction

from access.actor import WRITE, Actor
from access.audit import Doer, current_work
from access.errors import LociError
from access.groups import check_access, find_or_create_group, leave_uncreated, wanted_slug
from access.models import Group
from memories.embedding.model import Vectors
from memories.store.decide import Decision, Outcome
from memories.store.neighbours import CONFLICT_COSINE
from memories.store.prepare import CheckedDraft, PreparedDraft, prepare_together
from memories.store.write import log_refusal, write_drafts
from storage.changes import current_change
from storage.dialect import dialect
from storage.together import Together

logger = logging.getLogger(__name__)
AT_MOST: Final = 16  # stores in a transaction, which takes 2 ms for each


class Written(NamedTuple):
    """A draft as it was written: the decision as it was carried out, or why not, and the group; `is_created` by this store."""

    prepared: PreparedDraft
    done: Decision | LociError
    slug: str
    is_created: bool = False


class _Store(NamedTuple):
    """A draft that waits to be written, and for whom."""

    by: Doer
    draft: CheckedDraft | PreparedDraft


def write_draft(actor: Actor, draft: CheckedDraft | PreparedDraft) -> Written:
    """Decide and write a draft, with others that wait; the transaction is over, unless it is part of the caller's."""
    if isinstance(draft, CheckedDraft) and not draft.is_short:
        draft = draft.prepare()
    if connection.in_atomic_block or dialect().hold:
        return _write_alone(actor, draft)
    store = _Store(Doer(actor, current_work(), current_change() or 0), draft)
    return _TOGETHER(store) or _write_alone(actor, draft)


def _write_alone(actor: Actor, draft: CheckedDraft | PreparedDraft) -> Written:
    prepared = draft.prepare() if isinstance(draft, CheckedDraft) else draft
    with transaction.atomic():
        resolved = find_or_create_group(actor, prepared.draft.group)
        [done] = write_drafts(actor, [(resolved.group, prepared)])
        is_unwanted = resolved.created and (isinstance(done, LociError) or done.outcome == Outcome.REFUSED)
        transaction.set_rollback(is_unwanted)  # a refused text creates no group
    if is_unwanted:
        resolved = leave_uncreated(actor, resolved)
        if not isinstance(done, LociError):
            log_refusal(actor, resolved.group.slug)
    return Written(prepared, done, resolved.group.slug, resolved.created)


def _write_group(stores: list[_Store]) -> Sequence[Written | None]:
    """Embed stores in one batch and write them in one transaction; None for one that is to be written alone."""
    if len(stores) == 1:
        return [_write_alone(stores[0].by.actor, stores[0].draft)]
    rows = [store.by.work.rows if store.by.work else [] for store in stores]
    counts = [*map(len, rows)]
    written = None
    try:
        drafts = _prepare_all([store.draft for store in stores])
        with transaction.atomic():
            written = _write_all([store.by for store in stores], drafts)
    except Exception as error:
        if written is not None and not isinstance(error, IntegrityError):
            raise  # the COMMIT failed, and not because of one of them
        logger.warning("One of %d stores failed; each is written alone.", len(stores), exc_info=True)
    else:
        return written
    for own, count in zip(rows, counts, strict=True):
        del own[count:]
    return [None] * len(stores)


def _prepare_all(drafts: Sequence[CheckedDraft | PreparedDraft]) -> list[PreparedDraft]:
    checked = [draft for draft in drafts if isinstance(draft, CheckedDraft)]
    prepared = iter(prepare_together(checked) if checked else ())
    return [next(prepared) if isinstance(draft, CheckedDraft) else draft for draft in drafts]


def _write_all(doers: Sequence[Doer], drafts: Sequence[PreparedDraft]) -> list[Written | None]:
    slugs = [wanted_slug(doer.actor, each.draft.group) for doer, each in zip(doers, drafts, strict=True)]
    groups = {group.slug: group for group in Group.objects.filter(slug__in=slugs)}
    written: list[Written | None] = [None] * len(drafts)
    ready = list[int]()
    for at, slug in enumerate(slugs):
        if slug not in groups:  # it may create the group
            continue
        try:
            check_access(doers[at].actor, slug, groups[slug], WRITE)
            ready.append(at)
        except LociError as error:
            written[at] = Written(drafts[at], error, slug)
    for run in _runs(drafts, ready):
        by = [doers[at] for at in run]
        decisions = write_drafts(by[0].actor, [(groups[slugs[at]], drafts[at]) for at in run], by=by)
        for at, done in zip(run, decisions, strict=True):
            written[at] = Written(drafts[at], done, slugs[at])
    return written


def _runs(drafts: Sequence[PreparedDraft], places: Sequence[int]) -> Iterator[list[int]]:
    """Split drafts, in order, where one may be a neighbour of one before it, and so has to find it stored."""
    run, others = list[int](), list[Vectors]()
    for at in places:
        own = drafts[at].embedded.vectors
        is_apart = _changes_others(drafts[at]) or (run and _changes_others(drafts[run[-1]]))
        if run and (is_apart or any((own @ other.T).max(initial=-1) >= CONFLICT_COSINE for other in others)):
            yield run
            run, others = [], []
        run.append(at)
        others.append(own)
    if run:
        yield run


def _changes_others(prepared: PreparedDraft) -> bool:
    """True if it may replace any other: it says so, or comes from a source that may change."""
    return prepared.superseded is not None or bool(prepared.draft.source_ref)


_TOGETHER: Final = Together(_write_group, at_most=AT_MOST)
