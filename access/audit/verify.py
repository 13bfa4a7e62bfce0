"""Verification of the audit log: every row of every chain, every head, and every link of the chain of heads."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import islice
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from access.audit import (
    HEADS,
    INSTANCE,
    OLD,
    OWN,
    chain_hash,
    chain_labels,
    find_row,
    old_end,
    payload_digest,
    start_hash,
)
from access.audit.operations import Operation
from access.errors import InvalidInput
from access.models import AuditEntry, AuditHead

ANCHOR = Operation.ANCHOR.value
# Retention drops the oldest rows. First it appends a row "dropped:N"; then row N becomes the anchor at the chain's
# front: it keeps only its hash, which the next row follows. The old chain never grows, so the instance's announces
# its drops.
ANCHOR_PREFIX, DROP_PREFIX, OLD_DROP_PREFIX = "after:", "dropped:", "dropped-legacy:"
VERIFY_BATCH_ROWS = 2000  # in memory
UNREADABLE = "the row holds a value that cannot be read"
CLEARED = (
    "clear log"  # in the payload of a person's erasure: `chains` names the rows whose payloads it destroyed
)
_LINKS_AT_ONCE = 500  # rows of the chain of heads
_HASH = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True)
class ChainReport:
    """The result of verify_chain(): the number of rows, the head's hash and the first broken row.

    `dropped` is the number of the last row that retention dropped; 0 if the chain is complete. `unlinked` counts the
    rows at the end that the chain of heads does not cover yet.
    """

    origin: str
    chain: str
    rows: int
    head: str
    purged_payloads: int
    broken_at: int | None = None
    why: str = ""
    dropped: int = 0
    unlinked: int = 0

    @property
    def is_whole(self) -> bool:
        """True if every row follows the previous one."""
        return self.broken_at is None


@dataclass(frozen=True)
class _LinkReport:
    """The last linked row of each chain, and the first row of the chain of heads that does not fit."""

    linked: dict[str, int]
    broken_at: int | None = None
    why: str = ""


def verify_log(*, on_rows: Callable[[int], object] | None = None) -> list[ChainReport]:
    """Verify every chain, this store's own first, and the links between them."""
    names = chain_names()
    reports = [verify_chain(chain, origin, on_rows=on_rows) for origin, chain in names]
    links = {origin: _verify_links(origin) for origin in sorted({report.origin for report in reports})}
    own = links.get(OWN)
    if own is not None and own.broken_at is not None and (OWN, HEADS) not in names:
        # The chain of heads was removed, but the other chains' ends say that it linked them.
        reports.append(ChainReport(OWN, HEADS, 0, start_hash(HEADS, old_end(OWN)), 0))
    return [_with_links(report, links[report.origin]) for report in reports]


def is_log_whole() -> bool:
    """True if verify_log() finds no fault."""
    return all(report.is_whole for report in verify_log())


def chain_names() -> list[tuple[str, str]]:
    """Origin and name of all chains, this store's own first, including chains whose head is missing."""
    found = set(AuditHead.objects.values_list("origin", "chain"))
    # Not DISTINCT: the unique index on (origin, chain, seq) finds the next chain at once, however many rows a chain has.
    rows = AuditEntry.objects.order_by("origin", "chain").values_list("origin", "chain")
    last = rows.first()
    while last is not None:
        found.add(last)
        origin, chain = last
        last = rows.filter(origin=origin, chain__gt=chain).first() or rows.filter(origin__gt=origin).first()
    return sorted(found)


def verify_chain(
    chain: str = INSTANCE, origin: str = OWN, *, on_rows: Callable[[int], object] | None = None
) -> ChainReport:
    """Walk a chain from its start and check every row, every payload and the head.

    If retention dropped the oldest rows, the walk starts at the anchor, and a later row must announce the drop. Payloads
    that a purge destroyed are counted; of this store's chains, the purge must be logged. Rows appended during the walk are
    ignored. `on_rows` is called with the number of rows of each batch.
    """
    head = AuditHead.objects.filter(origin=origin, chain=chain).first()
    entries = AuditEntry.objects.filter(origin=origin, chain=chain)
    # The head is read first: rows appended during the walk must not look like rows beyond the head.
    entries = entries.filter(seq__lte=head.seq) if head else entries
    entries = entries.order_by("seq").select_related("payload_row")
    previous, expected, rows, purged, dropped = start_hash(chain, old_end(origin)), 1, 0, 0, 0
    purges = _Purges(origin)
    for entry in read_rows(entries):
        if entry is None:
            return ChainReport(origin, chain, rows, previous, purged, expected, UNREADABLE, dropped)
        is_front = expected == 1 and is_anchor(entry)
        error = _find_anchor_error(entry) if is_front else find_row_error(entry, previous, expected)
        error = error or ("" if is_front else purges.find_error(entry))
        if error:
            return ChainReport(origin, chain, rows, previous, purged, entry.seq, error, dropped)
        previous, expected = entry.hash, entry.seq + 1
        if is_front:
            dropped = entry.seq
            continue
        purged += not hasattr(entry, "payload_row")
        rows += 1
        if on_rows is not None and rows % VERIFY_BATCH_ROWS == 0:
            on_rows(VERIFY_BATCH_ROWS)
    error = _find_head_error(head, rows=rows, seq=expected - 1, previous=previous)
    error = error or _find_tail_error(origin, chain)
    return ChainReport(origin, chain, rows, previous, purged, expected if error else None, error, dropped)


def read_rows(entries: QuerySet[AuditEntry]) -> Iterator[AuditEntry | None]:
    """The rows in batches; None, and no more, at one with a value that its column cannot hold."""
    try:
        for entry in entries.iterator(chunk_size=VERIFY_BATCH_ROWS):
            if entry.at is None:  # Django reads a time that is none so
                yield None
                return
            yield entry
    except (ValueError, TypeError, OverflowError):
        yield None


class _Purges:
    """Excuses the rows of this store whose payload is missing: those of a memory whose purge is logged.

    Also those of a memory that moved away from a group, up to the row that logs the purge of what it left there: a memory
    that came back has rows again. And the rows that the erasure of a person says it cleared.
    """

    def __init__(self, origin: str) -> None:
        self._is_own = origin == OWN

    @cached_property
    def _purged(self) -> frozenset[UUID | None]:
        """Read for the first missing payload; most logs have none."""
        rows = AuditEntry.objects.filter(origin=OWN, operation=Operation.PURGE, memory_id__isnull=False)
        return frozenset(rows.values_list("memory_id", flat=True))

    @cached_property
    def _cleared(self) -> dict[tuple[UUID | None, UUID | None], tuple[str, int]]:
        """Chain and number of the last such purge, by group and memory."""
        rows = AuditEntry.objects.filter(origin=OWN, operation=Operation.CLEAR, memory_id__isnull=False)
        found = rows.order_by("chain", "seq").values_list("group", "memory_id", "chain", "seq")
        return {(group, memory): (chain, seq) for group, memory, chain, seq in found.iterator()}

    @cached_property
    def _erased(self) -> frozenset[tuple[str, int]]:
        """Chain and number of the rows whose payloads erasures of people cleared."""
        rows = AuditEntry.objects.filter(
            origin=OWN, operation=Operation.PERSON, payload_row__payload__action=CLEARED
        )
        chains = rows.values_list("payload_row__payload__chains", flat=True).iterator()
        return frozenset((chain, seq) for each in chains for chain, seqs in each.items() for seq in seqs)

    def find_error(self, entry: AuditEntry) -> str:
        """What is wrong if the payload is missing; empty if it is there, or a purge or an erasure destroyed it."""
        if not self._is_own or hasattr(entry, "payload_row") or entry.memory_id in self._purged:
            return ""
        if (entry.chain, entry.seq) in self._erased:
            return ""
        chain, seq = self._cleared.get((entry.group, entry.memory_id), ("", 0))
        # The group's rows of before each group had its own chain are in OLD, which has ended.
        if seq and (entry.chain == OLD or (entry.chain == chain and entry.seq < seq)):
            return ""
        return "the payload of the row is missing, and no purge is logged"


def _verify_links(origin: str = OWN) -> _LinkReport:
    """Check that each end of a chain that the chain of heads names is still that chain's row."""
    linked = dict[str, int]()
    dropped = cache(partial(dropped_through, origin=origin))
    for batch in _link_batches(origin):
        wanted: dict[str, set[int]] = defaultdict(set)
        for _, chain, seq, _ in batch:
            wanted[chain].add(seq)
        hashes = {
            (chain, seq): hash_
            for chain, seqs in wanted.items()
            for seq, hash_ in AuditEntry.objects.filter(origin=origin, chain=chain, seq__in=seqs).values_list(
                "seq", "hash"
            )
        }
        for row, chain, seq, hash_ in batch:
            found = hashes.get((chain, seq))
            # A linked row may be missing if retention dropped it, or if it was never imported.
            is_gone = found is None and (origin != OWN or seq <= dropped(chain))
            if found != hash_ and not is_gone:
                label = chain_labels().get(chain, chain) if origin == OWN else chain
                state = "missing" if found is None else "another one now"
                return _LinkReport(linked, row, f"row {seq} of the chain {label}, which it links, is {state}")
            linked[chain] = max(seq, linked.get(chain, 0))
    if origin != OWN:
        return _LinkReport(linked)
    unlinked_in, why = _find_mark_error(linked)
    return _LinkReport(linked, unlinked_in, why)


def _find_mark_error(linked: Mapping[str, int]) -> tuple[int | None, str]:
    """The first row of the chain of heads that a chain's end says linked it and that did not, and why; (None, "") if none.

    `linked` is the last linked row of each chain. Ends keep what linked them, so that links cannot vanish with their chain.
    """
    marked = AuditHead.objects.filter(origin=OWN, linked_in__gt=dropped_through(HEADS)).exclude(chain=HEADS)
    for chain, seq, row in marked.order_by("linked_in").values_list("chain", "linked", "linked_in"):
        if linked.get(chain, 0) < seq:
            label = chain_labels().get(chain, chain)
            return row, f"the link of row {seq} of the chain {label} is missing"
    return None, ""


def find_kept_error(kept: str) -> str:
    """What is wrong if a row and hash that were kept ("heads.17:ab12…") are not this store's; empty if they are.

    Raises:
        InvalidInput: it does not read so.
    """
    name, _, hash_ = kept.strip().partition(":")
    if not _HASH.fullmatch(hash_) or "." not in name:
        raise InvalidInput(
            f"'{kept[:60]}' is not a row with its hash.",
            hint="Pass what an earlier verify printed, such as heads.17:ab12… with 64 digits.",
            field="kept",
        )
    row = find_row(name)
    if row is not None:
        return "" if row.hash == hash_.lower() else f"the row {name} has another hash than the one kept"
    chain, _, seq = name.rpartition(".")
    is_dropped = chain == HEADS and seq.isdecimal() and int(seq) <= dropped_through(HEADS)
    gone = "retention dropped it" if is_dropped else "it is missing"
    return f"the row {name} cannot be compared: {gone}"


def _link_batches(origin: str) -> Iterator[list[tuple[int, str, int, str]]]:
    """The links of the chain of heads in batches: its own row's number, then chain, number and hash of the row linked."""
    rows = AuditEntry.objects.filter(origin=origin, chain=HEADS, operation=Operation.HEADS).order_by("seq")
    found = rows.values_list("seq", "payload_row__payload").iterator(chunk_size=_LINKS_AT_ONCE)
    while batch := list(islice(found, _LINKS_AT_ONCE)):
        yield [
            (row, chain, seq, hash_)
            for row, payload in batch
            for chain, (seq, hash_) in (payload or {}).get("chains", {}).items()
        ]


def _with_links(report: ChainReport, links: _LinkReport) -> ChainReport:
    """The report with what the links say about its chain."""
    if report.chain != HEADS:
        last = report.dropped + report.rows
        return replace(report, unlinked=max(last - links.linked.get(report.chain, 0), 0))
    if report.is_whole and links.broken_at is not None:
        return replace(report, broken_at=links.broken_at, why=links.why)
    return report


def announced_drop(chain: str = INSTANCE, origin: str = OWN) -> int:
    """The number of the last row whose drop by retention the log announces; 0 if there is none."""
    found = _drops_in(chain, DROP_PREFIX, origin)
    if chain == OLD:
        found += _drops_in(INSTANCE, OLD_DROP_PREFIX, origin)
    return max(found, default=0)


def _drops_in(chain: str, prefix: str, origin: str) -> list[int]:
    """The numbers that the rows of a chain announce with a prefix."""
    drops = AuditEntry.objects.filter(
        origin=origin, chain=chain, operation=ANCHOR, subject__startswith=prefix
    )
    numbers = [subject.removeprefix(prefix) for subject in drops.values_list("subject", flat=True)]
    return [int(number) for number in numbers if number.isdecimal()]


def dropped_through(chain: str = INSTANCE, origin: str = OWN) -> int:
    """The number of the last row missing at a chain's front, which is the anchor's; 0 if the chain is complete."""
    anchor = front_anchor(chain, origin)
    return anchor.seq if anchor is not None else 0


def front_anchor(chain: str, origin: str = OWN) -> AuditEntry | None:
    """The anchor at a chain's front; None if the chain is complete."""
    first = AuditEntry.objects.filter(origin=origin, chain=chain).order_by("seq").first()
    return first if first is not None and is_anchor(first) else None


def is_anchor(entry: AuditEntry) -> bool:
    """True if the row is the anchor in place of dropped rows."""
    return entry.operation == ANCHOR and entry.subject.startswith(ANCHOR_PREFIX)


def _find_anchor_error(entry: AuditEntry) -> str:
    """What is wrong with a chain's anchor; empty if nothing is."""
    if entry.subject != f"{ANCHOR_PREFIX}{entry.hash}":
        return "the anchor was changed"
    if announced_drop(entry.chain, entry.origin) < entry.seq:
        return "no later row announces that the rows before the anchor were dropped"
    return ""


def _find_head_error(head: AuditHead | None, *, rows: int, seq: int, previous: str) -> str:
    """What is wrong with a chain's head after the last row (`seq`, hash `previous`); empty if nothing is."""
    if head is None:
        return "the chain's head is missing" if rows else ""
    return "" if (head.seq, head.hash) == (seq, previous) else "rows are missing at the end"


def _find_tail_error(origin: str, chain: str) -> str:
    """The error if rows follow the head. One statement, so head and rows are of the same moment."""
    head = AuditHead.objects.filter(origin=OuterRef("origin"), chain=OuterRef("chain")).values("seq")
    behind = AuditEntry.objects.filter(origin=origin, chain=chain, seq__gt=Subquery(head))
    return "there are rows after the chain's end" if behind.exists() else ""


def find_row_error(entry: AuditEntry, previous: str, expected: int) -> str:
    """Why a row is not number `expected` after the hash `previous`; empty if it is."""
    if entry.seq != expected:
        return f"row {expected} is missing"
    if entry.hash != chain_hash(previous, entry):
        return "the row does not follow the one before"
    row = getattr(entry, "payload_row", None)
    if row is None and entry.chain == HEADS:
        return "the payload of the row is missing"  # nothing ever purges a link
    if row is not None and payload_digest(row.salt, row.payload) != entry.digest:
        return "the payload of the row was changed"
    return ""
