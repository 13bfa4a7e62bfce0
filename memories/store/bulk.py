"""Bulk stores for imports: the write path in batches, one transaction each.

Live neighbours are not searched for, so that the turns of a conversation stay as they are; tombstones, exact
duplicates, withdrawn neighbours and the group's policy apply as for one draft. The number of queries does not grow with the size
of a batch; only a text that changed at its source costs a few of its own.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, transaction

from access.actor import WRITE, Actor
from access.audit import one_change
from access.errors import InvalidInput, LociError
from access.groups import find_group, find_group_to_write, find_or_create_group, wanted_slug
from access.groups.guarding import count_kinds
from access.models import Group
from memories.draft import Draft, bulk_door, check_draft, guard_draft
from memories.embedding import Encoder
from memories.store import Outcome, PreparedDraft
from memories.store.existing import find_sources
from memories.store.pieces import EmbeddedText, available_encoder, embed_or_owe, passage_of
from memories.store.prepare import follow_moved_sources
from memories.store.threads import TextColumns, text_columns
from memories.store.withdrawn.marks import find_all_withdrawn, prepare_marks
from memories.store.write import log_refusal, with_scope, write_drafts

BATCH_DRAFTS = 256  # a transaction of about 30 ms; twice the size saves a twentieth per row
# With embedding: the encoder keeps both cores busy meanwhile, and a transaction takes twice as long.
_EMBEDDED_DRAFTS = 128
_PREFETCHED = 2  # batches that are embedded while one is written
MODEL_WAIT_S = 60.0  # an import waits for its model rather than owing thousands of vectors


@dataclass(frozen=True)
class _Refusal:
    """A draft that was not stored: its position among the drafts, and why."""

    index: int
    why: str


@dataclass(frozen=True)
class BatchResult:
    """The outcomes of many drafts: counted, and in order; `ids` has each draft's memory, None if refused."""

    created: int = 0
    reinforced: int = 0
    unchanged: int = 0
    queued: int = 0
    refused: tuple[_Refusal, ...] = ()
    findings: Mapping[str, int] = field(default_factory=dict)  # by kind
    ids: tuple[UUID | None, ...] = ()
    outcomes: tuple[str, ...] = ()


@dataclass
class _Pending:
    """A draft on its way; `outcome` is empty until it is decided (one of store.Outcome)."""

    index: int
    draft: Draft
    group: Group | None = None  # if it exists already
    columns: TextColumns | None = None
    embedded: EmbeddedText | None = None
    outcome: str = ""
    why: str = ""
    id: UUID | None = None

    def refuse(self, error: LociError) -> None:
        self.outcome, self.why = Outcome.REFUSED, str(error)


Batch = list[_Pending]


def store_many(
    actor: Actor,
    drafts: Sequence[Draft],
    *,
    encoder: Encoder | None = None,
    on_progress: Callable[[int], object] | None = None,
    dry_run: bool = False,
    are_checked: bool = False,
    hold: Callable[[Draft], str] = lambda draft: "",
) -> BatchResult:
    """Store many texts as they are; an invalid draft is refused alone and the others are stored.

    1. check each draft; skip texts that their source has brought before
    2. split into pieces and embed, a batch of texts at a time
    3. in one transaction per batch: look up, decide and write as store() does

    A draft without a group goes to the actor's default. A draft with a `source_ref` is stored
    once: the same text again is unchanged, another text becomes its next version. Exact duplicates, except of events,
    are kept as merged rows and reinforce the memory. Threads are appended to in the drafts' order.
    `on_progress` receives, after each committed batch, how many drafts are done. With `dry_run` nothing is embedded and
    each batch is rolled back, so no batch sees what an earlier one would have stored. `are_checked`: the drafts are what
    check_draft() returned. `hold` returns why a new text has to wait for a person, "" if it need not.
    """
    if dry_run:
        encoder = None
    elif encoder is None:
        encoder = available_encoder(timeout_s=MODEL_WAIT_S)
    groups = _Groups(actor)
    default = actor.default_group or settings.LOCI.access.default_group or None
    placed = [d if d.group else replace(d, group=default) for d in drafts]
    followed = zip(placed, follow_moved_sources(actor, placed), strict=True)
    checked = _batches(
        (_checked(groups, index, pair, are_checked) for index, pair in enumerate(followed)),
        most=min(_EMBEDDED_DRAFTS, BATCH_DRAFTS),
    )
    done: Batch = []
    with closing(_embedded(groups, checked, encoder)) as batches:
        for batch in batches:
            _write_batch(actor, groups, batch, is_trial=dry_run, hold=hold)
            done += batch
            if dry_run:
                groups.found.clear()
            if on_progress is not None:
                on_progress(batch[-1].index + 1)
    outcomes = [pending.outcome for pending in done]
    return BatchResult(
        created=outcomes.count(Outcome.CREATED),
        reinforced=outcomes.count(Outcome.REINFORCED),
        unchanged=outcomes.count(Outcome.UNCHANGED),
        queued=outcomes.count(Outcome.QUEUED),
        findings=count_kinds(each for p in done for each in p.draft.findings),
        refused=tuple(_Refusal(p.index, p.why) for p in done if p.outcome == Outcome.REFUSED),
        ids=tuple(None if p.outcome == Outcome.REFUSED else p.id for p in done),
        outcomes=tuple(outcomes),
    )


def _checked(
    groups: "_Groups", index: int, pair: tuple[Draft, Draft | LociError], is_checked: bool
) -> _Pending:
    """A draft ready for its batch; the second of the pair is the draft for its source's present group."""
    draft = pair[0] if isinstance(pair[1], LociError) else pair[1]
    pending = _Pending(index, draft)
    try:
        if isinstance(pair[1], LociError):
            raise pair[1]
        if draft.supersedes is not None or draft.position is not None:
            raise InvalidInput(
                "A bulk store takes neither supersedes nor position.", hint="Store it on its own."
            )
        checked = draft if is_checked else check_draft(draft)
        pending.group = groups.find(draft.group)
        pending.draft = guard_draft(checked, pending.group, bulk_door(groups.actor))
        pending.columns = text_columns(pending.draft)
    except LociError as error:
        pending.refuse(error)
    return pending


def _batches(drafts: Iterable[_Pending], *, most: int) -> Iterator[Batch]:
    """Split into batches; a repeated source_ref begins a new one, so that it sees what the one before wrote."""
    batch: Batch = []
    sources: set[tuple[str | None, str, str]] = set()
    for pending in drafts:
        source = (pending.draft.group, pending.draft.source, pending.draft.source_ref)
        if batch and (len(batch) == most or (source in sources and source[2])):
            yield batch
            batch, sources = [], set()
        batch.append(pending)
        sources.add(source)
    if batch:
        yield batch


@dataclass
class _Groups:
    """The groups of one call: each is looked up once, and created once if it may be."""

    actor: Actor
    found: dict[str | None, Group] = field(default_factory=dict)

    def find(self, slug: str | None) -> Group | None:
        """An existing group that may be written to."""
        if slug not in self.found:
            try:
                self.found[slug] = find_group(self.actor, slug, right=WRITE)
            except LociError:
                return None
        return self.found[slug]

    def find_or_create(self, slug: str | None) -> Group:
        """The group, created if it does not exist; raises what find_or_create_group() does."""
        if slug not in self.found:
            self.found[slug] = find_or_create_group(self.actor, slug).group
        return self.found[slug]


def _embedded(
    groups: _Groups, batches: Iterator[Batch], encoder: Encoder | None
) -> Generator[Batch, None, None]:
    """The batches in order, ready to be written; the next ones are embedded in threads while one is written.

    Texts that their source has brought before are not embedded. That only saves work: the lookup is repeated when the
    batch is written.
    """
    coming: deque[tuple[Batch, Future[None]]] = deque()
    with ThreadPoolExecutor(_PREFETCHED, thread_name_prefix="loci-import") as threads:
        for batch in batches:
            _refuse_unwritable(groups, batch)
            skip_unchanged(groups, batch)
            coming.append((batch, threads.submit(_embed, batch, encoder)))
            if len(coming) > _PREFETCHED:
                yield _finished(*coming.popleft())
        while coming:
            yield _finished(*coming.popleft())


def _finished(batch: Batch, embedding: "Future[None]") -> Batch:
    embedding.result()
    return batch


def _refuse_unwritable(groups: _Groups, batch: Batch) -> None:
    """Refuse drafts for groups that the actor may not write to, before they are embedded."""
    errors: dict[str | None, LociError] = {}
    for slug in {p.draft.group for p in batch if not p.outcome} - groups.found.keys():
        try:
            find_group_to_write(groups.actor, slug)
        except LociError as error:
            errors[slug] = error
    for pending in batch:
        if not pending.outcome and pending.draft.group in errors:
            pending.refuse(errors[pending.draft.group])


def skip_unchanged(groups: _Groups, batch: Batch) -> None:
    """Mark drafts unchanged whose source has brought this text before, so that they are not embedded."""
    found = {slug: groups.find(slug) for slug in {p.draft.group for p in batch if not p.outcome}}
    waiting = [(group.key, p) for p in batch if not p.outcome and (group := found[p.draft.group]) is not None]
    sources = find_sources([(key, p.draft) for key, p in waiting])
    for key, pending in waiting:
        source = sources.get((key, pending.draft.source, pending.draft.source_ref))
        stored = source.find_unchanged(pending.draft) if source else None
        if stored is not None:
            pending.outcome, pending.id = Outcome.UNCHANGED, stored.id


def _embed(batch: Batch, encoder: Encoder | None) -> None:
    """Set the pieces and vectors of each draft that is still to be written."""
    prepare_marks((p.group.key, p.draft.content) for p in batch if p.group is not None)
    waiting = [p for p in batch if not p.outcome]
    passages = [passage_of(p.draft) for p in waiting]
    for pending, embedded in zip(waiting, embed_or_owe(passages, encoder=encoder), strict=True):
        pending.embedded = embedded
    for pending in batch:
        if pending.embedded is not None:
            _ = pending.embedded.blobs  # computed here, and cached


def _refuse_without_group(actor: Actor, groups: _Groups, batch: Batch) -> None:
    """Refuse the withdrawn texts for groups that do not exist yet, so that they create none."""
    new = [p for p in batch if not p.outcome and groups.find(p.draft.group) is None]
    drafts = [with_scope(p.draft, Group(), None) for p in new]
    # No group has the key 0: only what was withdrawn for all groups bars them.
    found = find_all_withdrawn((0, draft.scope, draft.content) for draft in drafts)
    for pending, withdrawn in zip(new, found, strict=True):
        if withdrawn is not None and withdrawn.is_refused:
            pending.outcome, pending.why = Outcome.REFUSED, withdrawn.describe(actor)
            log_refusal(actor, wanted_slug(actor, pending.draft.group))


@one_change
def _write_batch(
    actor: Actor, groups: _Groups, batch: Batch, *, is_trial: bool, hold: Callable[[Draft], str]
) -> None:
    """Decide and write one batch in a transaction; a trial is rolled back."""
    try:
        with transaction.atomic():
            _write(actor, groups, batch, is_trial=is_trial, hold=hold)
            transaction.set_rollback(is_trial)
    except OperationalError:
        groups.found.clear()  # some may have been created in the transaction that was lost
        raise


def _write(
    actor: Actor, groups: _Groups, batch: Batch, *, is_trial: bool, hold: Callable[[Draft], str]
) -> None:
    """Decide and write one batch, inside its transaction."""
    _refuse_without_group(actor, groups, batch)
    ready: list[tuple[_Pending, Group]] = []
    for pending in batch:
        if pending.outcome:
            continue
        try:
            ready.append((pending, groups.find_or_create(pending.draft.group)))
        except LociError as error:
            pending.refuse(error)
    drafts = [
        (group, PreparedDraft(p.draft, p.embedded, columns=p.columns, is_trial=is_trial, hold=hold(p.draft)))
        for p, group in ready
        if p.embedded is not None
    ]
    results = write_drafts(actor, drafts)
    for (pending, _), result in zip(ready, results, strict=True):
        if isinstance(result, LociError):
            pending.refuse(result)
        else:
            pending.outcome, pending.why = result.outcome, result.why
            pending.id = result.memory.id if result.memory is not None else None
