"""Many memories at once, as imports bring them: the write path's rules without its probing, a batch per transaction.

Nothing is compared by likeness, so that the turns of a conversation stay as they are. The number of queries does not
grow with the size of a batch; only a text that changed at its source costs a few of its own.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import transaction
from numpy.typing import NDArray

from access.actor import WRITE, Actor
from access.errors import InvalidInput, LociError
from access.groups import find_group, find_or_create_group
from access.models import Group
from memories.draft import Draft, check_draft
from memories.embedding import Encoder
from memories.store import Outcome, check_may_write
from memories.store.bulk.writer import BatchWriter
from memories.store.bulk.writer_pending import Pending
from memories.store.existing import find_origins
from memories.store.pieces import EmbeddedText, available_encoder, cut_all, embed_passages, passage_of
from memories.store.search_columns import text_columns
from storage.bulk_threads import WriterTurns, bulk_work, made_ahead
from storage.wal_checkpoints import pages_moved_between

BATCH_DRAFTS = 256  # a transaction of about 30 ms; twice as large, a row takes a twentieth less
# Of texts that are embedded: the encoder keeps both cores busy meanwhile, and a transaction takes twice as long.
EMBEDDED_DRAFTS = 128
AHEAD = 2  # batches that are embedded while one is written: the one is cut while the other's vectors are made
CUT_AT_ONCE = 64  # texts; then the thread that writes may have its turn
MODEL_WAIT_S = 60.0  # an import waits for its model rather than owing thousands of vectors

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Refusal:
    """A draft that was not stored: its place among the drafts, and why."""

    index: int
    why: str


@dataclass(frozen=True)
class BatchResult:
    """What became of many drafts, counted; `ids` has the memory of each draft in order, None where it was refused."""

    created: int = 0
    reinforced: int = 0
    unchanged: int = 0
    queued: int = 0
    refused: tuple[Refusal, ...] = ()
    ids: tuple[UUID | None, ...] = ()


def store_many(
    actor: Actor,
    drafts: Sequence[Draft],
    *,
    group_slug: str | None = None,
    encoder: Encoder | None = None,
    vectors: Vectors | None = None,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
) -> BatchResult:
    """Remember many texts as they are; a draft at fault is refused alone and the others are stored.

    1. check each draft; leave out what its source has brought before
    2. cut into pieces and embed, a batch of texts at a time
    3. in one transaction per batch: tombstones, exact duplicates, the group's policy, places in threads, rows, audit

    A draft without a group goes to `group_slug`, else to the actor's default. A draft with a `source_ref` is stored
    once: the same text again is unchanged, another text becomes its next version. Exact duplicates of what is no event
    are kept as merged rows and confirm the memory. Threads are appended to in the drafts' order.
    `vectors` (float32[n, 384], one per draft) are taken for texts of one piece instead of embedding them.
    `on_progress` hears, after each committed batch, how many drafts are done. With `dry_run` nothing is embedded and
    each batch is taken back, so that one batch does not see what an earlier one would have brought.
    """
    if encoder is None and not dry_run:
        encoder = available_encoder(timeout_s=MODEL_WAIT_S)
    groups = _Groups(actor)
    usual = group_slug or actor.default_group or settings.LOCI.access.default_group or None
    placed = (d if d.group else replace(d, group=usual) for d in drafts)
    turns = WriterTurns()
    most = BATCH_DRAFTS if vectors is not None else min(EMBEDDED_DRAFTS, BATCH_DRAFTS)
    coming = _batches((_checked(index, draft, turns) for index, draft in enumerate(placed)), most=most)
    if dry_run:
        encoder = None
    if vectors is None:
        embedded = _embedded(groups, coming, encoder, turns)
    else:
        embedded = _with_vectors(groups, coming, encoder, vectors, turns)
    pending = list[Pending]()
    with (
        bulk_work(),
        pages_moved_between() as move_pages,
        ThreadPoolExecutor(1, thread_name_prefix="loci-import-log") as aside,
        closing(embedded) as batches,
        turns.writing(),
    ):
        for batch in batches:
            with transaction.atomic():
                _resolve_groups(groups, batch)
                BatchWriter(actor, aside=aside, turns=turns).write([p for p in batch if not p.outcome])
                transaction.set_rollback(dry_run)
                turns.give()  # for the commit
            move_pages()
            pending += batch
            if dry_run:
                groups.found.clear()
            if on_progress is not None:
                on_progress(batch[-1].index + 1)
            turns.take()
    return _counted(pending)


def _embedded(
    groups: "_Groups", coming: Iterator[list[Pending]], encoder: Encoder | None, turns: WriterTurns
) -> Generator[list[Pending], None, None]:
    """Give the batches in order, ready to be written; while one is written, the next ones are checked and embedded in threads.

    What a batch's sources have brought is looked up before the batches ahead of it are written. That only spares work:
    it is looked up again where it is written.
    """
    ahead: deque[tuple[list[Pending], Future[None]]] = deque()
    with (
        closing(made_ahead(coming, name="loci-import-check", turns=turns)) as checked,
        ThreadPoolExecutor(AHEAD, thread_name_prefix="loci-import") as threads,
        turns.given_at_end(),
    ):
        for batch in checked:
            _refuse_closed(groups, batch)
            _skip_known(groups, batch)
            ahead.append((batch, threads.submit(_embed, batch, encoder, turns)))
            if len(ahead) > AHEAD:
                yield _finished(turns, *ahead.popleft())
        while ahead:
            yield _finished(turns, *ahead.popleft())


def _with_vectors(
    groups: "_Groups",
    coming: Iterator[list[Pending]],
    encoder: Encoder | None,
    vectors: Vectors,
    turns: WriterTurns,
) -> Generator[list[Pending], None, None]:
    """Give the batches as _embedded() does, with the vectors that are there. One thread checks and cuts: two would be in
    each other's way.

    What a batch's sources have brought is looked up only after a batch that brought what was known, and where texts are
    left to be embedded.
    """
    cut = (_given_to_whole(batch, encoder, vectors, turns) for batch in coming)
    is_looked_up = True
    with closing(made_ahead(cut, name="loci-import-check", turns=turns)) as ready:
        for batch in ready:
            _refuse_closed(groups, batch)
            is_left = any(not p.outcome and p.embedded is None for p in batch)
            if is_looked_up or (is_left and encoder is not None):
                _skip_known(groups, batch)
            if is_left:
                _embed_all([p for p in batch if not p.outcome and p.embedded is None], encoder)
            yield batch
            is_looked_up = any(p.outcome == Outcome.UNCHANGED for p in batch)


def _finished(turns: WriterTurns, batch: list[Pending], embedding: "Future[None]") -> list[Pending]:
    turns.result(embedding)
    return batch


def _checked(index: int, draft: Draft, turns: WriterTurns) -> Pending:
    """Give the draft checked, or refused with the reason."""
    turns.wait()
    try:
        if draft.supersedes is not None or draft.position is not None:
            raise InvalidInput("Many at once take neither supersedes nor position.", hint="Store it alone.")
        draft = check_draft(draft)
        return Pending(index, draft, columns=text_columns(draft))
    except LociError as fault:
        return Pending(index, draft, outcome=Outcome.REFUSED, why=str(fault))


def _batches(pending: Iterable[Pending], *, most: int) -> Iterator[list[Pending]]:
    """Cut into batches; a source that comes twice begins a new one, so that each sees what the one before wrote."""
    batch: list[Pending] = []
    sources: set[tuple[str | None, str, str]] = set()
    for draft in pending:
        source = (draft.draft.group, draft.draft.source, draft.draft.source_ref)
        if batch and (len(batch) == most or (source in sources and source[2])):
            yield batch
            batch, sources = [], set()
        batch.append(draft)
        sources.add(source)
    if batch:
        yield batch


@dataclass
class _Groups:
    """The groups of one call: each is looked for once, and made once where it may be."""

    actor: Actor
    found: dict[str | None, Group] = field(default_factory=dict)

    def look(self, slug: str | None) -> Group | None:
        """Give a group that is there and may be written to."""
        if slug not in self.found:
            try:
                self.found[slug] = find_group(self.actor, slug, right=WRITE)
            except LociError:
                return None
        return self.found[slug]

    def make(self, slug: str | None) -> Group:
        """Give the group, made where it is not there; raises what find_or_create_group() does."""
        if slug not in self.found:
            self.found[slug] = find_or_create_group(self.actor, slug, right=WRITE).group
        return self.found[slug]


def _refuse_closed(groups: _Groups, batch: list[Pending]) -> None:
    """Refuse what goes to a group that the actor may not write, before anything is embedded for it."""
    faults: dict[str | None, str] = {}
    for slug in {p.draft.group for p in batch if not p.outcome} - groups.found.keys():
        try:
            check_may_write(groups.actor, slug)
        except LociError as fault:
            faults[slug] = str(fault)
    for p in batch:
        if not p.outcome and p.draft.group in faults:
            p.outcome, p.why = Outcome.REFUSED, faults[p.draft.group]


def _skip_known(groups: _Groups, batch: list[Pending]) -> None:
    """Settle the drafts whose source has brought this text before, so that they are not embedded again."""
    rooms = {slug: groups.look(slug) for slug in {p.draft.group for p in batch if not p.outcome}}
    waiting = [(room.key, p) for p in batch if not p.outcome and (room := rooms[p.draft.group]) is not None]
    origins = find_origins([(key, p.draft) for key, p in waiting])
    for key, p in waiting:
        origin = origins.get((key, p.draft.source, p.draft.source_ref))
        known = origin.texts.get(p.draft.hash) if origin else None
        if known is not None:
            p.outcome, p.id = Outcome.UNCHANGED, known.id


def _embed(batch: list[Pending], encoder: Encoder | None, turns: WriterTurns) -> None:
    """Give each draft that is still to be written its pieces and vectors."""
    turns.wait()
    _embed_all([p for p in batch if not p.outcome], encoder)


def _embed_all(batch: list[Pending], encoder: Encoder | None) -> None:
    passages = [passage_of(p.draft) for p in batch]
    for p, embedded in zip(batch, embed_passages(passages, encoder=encoder), strict=True):
        p.embedded = embedded
        _ = embedded.blobs  # made here, and kept


def _given_to_whole(
    batch: list[Pending], encoder: Encoder | None, vectors: Vectors, turns: WriterTurns
) -> list[Pending]:
    """Give each text that is one piece the vector handed in for it."""
    if encoder is None:
        return batch
    waiting = [p for p in batch if not p.outcome]
    for start in range(0, len(waiting), CUT_AT_ONCE):
        turns.wait()
        some = waiting[start : start + CUT_AT_ONCE]
        for p, spans in zip(some, cut_all([passage_of(p.draft) for p in some], encoder), strict=True):
            if len(spans) == 1:
                p.embedded = EmbeddedText(tuple(spans), vectors[p.index].reshape(1, -1), encoder.model_id)
                _ = p.embedded.blobs
    return batch


def _resolve_groups(groups: _Groups, batch: list[Pending]) -> None:
    """Give each draft its group, or refuse it with the reason; inside the transaction."""
    faults: dict[str | None, str] = {}
    for p in batch:
        if p.outcome:
            continue
        slug = p.draft.group
        if slug not in faults:
            try:
                p.group = groups.make(slug)
                continue
            except LociError as fault:
                faults[slug] = str(fault)
        p.outcome, p.why = Outcome.REFUSED, faults[slug]


def _counted(pending: Sequence[Pending]) -> BatchResult:
    outcomes = [p.outcome for p in pending]
    return BatchResult(
        created=outcomes.count(Outcome.CREATED),
        reinforced=outcomes.count(Outcome.REINFORCED),
        unchanged=outcomes.count(Outcome.UNCHANGED),
        queued=outcomes.count(Outcome.QUEUED),
        refused=tuple(Refusal(p.index, p.why) for p in pending if p.outcome == Outcome.REFUSED),
        ids=tuple(None if p.outcome == Outcome.REFUSED else p.id for p in pending),
    )
