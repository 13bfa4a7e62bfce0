"""Import of another store's audit log: row by row under its origin, as long as each row follows its chain's last one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from access.audit import MAX_SEQ, OLD, OWN, chain_hash, old_end, payload_digest, start_hash
from access.audit.operations import Operation
from access.audit.verify import ANCHOR_PREFIX, dropped_through, is_anchor
from access.models import AuditEntry, AuditHead, AuditPayload
from access.models.audit import LEGACY
from memories.models import Tombstone, TombstoneKind
from sources.importing.lines import LineFault
from storage.bulk import ManyInsert

# Operations whose rows do not contain the memory's text, so they are kept after a purge.
_TEXTLESS = frozenset({Operation.PURGE, Operation.REFUSE, Operation.LIFT})
_ENTRIES, _PAYLOADS = ManyInsert(AuditEntry), ManyInsert(AuditPayload)
_MAX_CHAIN_CHARS = 36
MAX_CHARS = 300  # of the widest of these columns
TEXTS = ("operation", "subject", "actor", "via", "client", "digest", "hash")


@dataclass
class ChainIntake:
    """Imports the log lines of one import in order. `own` is this store's id: rows of its own chains are only compared.
    `may_keep` says of a payload and its memory's id whether the payload may be stored.

    `heads`, `broken` and `dropped` go by origin and chain.
    """

    own: str
    may_keep: Callable[[Any, str], bool] = lambda payload, memory_id: True
    added: int = 0
    unchanged: int = 0
    purged: int = 0
    heads: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    broken: set[tuple[str, str]] = field(default_factory=set)
    dropped: dict[tuple[str, str], int] = field(default_factory=dict)  # last row that retention dropped here

    def take(self, lines: Sequence[tuple[int, dict[str, Any]]]) -> list[LineFault]:
        """Write the new rows that follow the chain; return the rejected lines. Runs in the caller's transaction."""
        known = self._known(lines)
        faults, rows, payloads = [], list[AuditEntry](), list[AuditPayload]()
        for number, line in lines:
            why = self._take_one(line, known, rows, payloads)
            if why:
                faults.append(LineFault(number, why))
        _ENTRIES.add(rows)
        barred = self._purged([row.memory_id for row in rows])
        kept = [p for p in payloads if p.entry.memory_id not in barred or p.entry.operation in _TEXTLESS]
        kept = [p for p in kept if self.may_keep(p.payload, str(p.entry.memory_id))]
        self.purged += len(payloads) - len(kept)
        _PAYLOADS.add(kept)
        for origin, chain in {(row.origin, row.chain) for row in rows}:
            seq, hash_ = self.heads[origin, chain]
            AuditHead.objects.update_or_create(
                origin=origin, chain=chain, defaults={"seq": seq, "hash": hash_}
            )
        self.added += len(rows)
        return faults

    def _take_one(
        self,
        line: dict[str, Any],
        known: Mapping[tuple[str, str, int], str],
        rows: list[AuditEntry],
        payloads: list[AuditPayload],
    ) -> str:
        """Compare a line with the stored row, or append it to `rows`; return why it is rejected, or ""."""
        try:
            entry, payload = _entry_of(line["row"]), _payload_of(line.get("said"))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return f"it is not a row of a log: {error!r}"
        if {(entry.origin, entry.chain), (entry.origin, OLD)} & self.broken:
            return f"the chain {_chain_name(entry)} is broken before it"
        origin = OWN if entry.origin == self.own else entry.origin
        stored_hash = known.get((origin, entry.chain, entry.seq))
        if stored_hash is not None:
            self.unchanged += stored_hash == entry.hash
            return (
                ""
                if stored_hash == entry.hash
                else self._break(entry, "this store has another row in its place")
            )
        if entry.seq <= self._dropped(origin, entry.chain):
            self.unchanged += 1
            return ""
        if origin == OWN:
            return self._break(entry, "it belongs to this store's own log, which does not have it")
        why = self._fault(entry, payload)
        if why:
            return self._break(entry, why)
        rows.append(entry)
        self.heads[entry.origin, entry.chain] = (entry.seq, entry.hash)
        if payload is not None:
            payloads.append(AuditPayload(entry=entry, **payload))
        return ""

    def _fault(self, entry: AuditEntry, payload: dict[str, Any] | None) -> str:
        seq, previous = self._head(entry)
        if is_anchor(entry) and seq == 0:
            # The file's chain starts here. A later row records the drop: verify_chain() looks for it.
            return "" if entry.subject == f"{ANCHOR_PREFIX}{entry.hash}" else "the anchor was changed"
        if entry.seq != seq + 1:
            return f"row {seq + 1} of the chain {_chain_name(entry)} is missing before it"
        if entry.hash != chain_hash(previous, entry):
            return "it does not follow the row before it: one of them was changed"
        if payload is not None and payload_digest(payload["salt"], payload["payload"]) != entry.digest:
            return "its payload was changed"
        return ""

    def _head(self, entry: AuditEntry) -> tuple[int, str]:
        name = (entry.origin, entry.chain)
        if name not in self.heads:
            head = AuditHead.objects.filter(origin=entry.origin, chain=entry.chain).first()
            self.heads[name] = (head.seq, head.hash) if head else (0, self._start(entry))
        return self.heads[name]

    def _start(self, entry: AuditEntry) -> str:
        """The hash that the chain of this row starts from; the old chain's rows come before those of all others."""
        _, end = self.heads.get((entry.origin, OLD), (0, ""))
        return start_hash(entry.chain, end or old_end(entry.origin))

    def _dropped(self, origin: str, chain: str) -> int:
        if (origin, chain) not in self.dropped:
            self.dropped[origin, chain] = dropped_through(chain, origin)
        return self.dropped[origin, chain]

    def _break(self, entry: AuditEntry, why: str) -> str:
        self.broken.add((entry.origin, entry.chain))
        return why

    def heads_by_origin(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The ends of the imported chains as JSON values, by store and chain."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for (origin, chain), (seq, hash_) in sorted(self.heads.items()):
            if seq:
                found.setdefault(origin, {})[chain or LEGACY] = {"seq": seq, "hash": hash_}
        return found

    def _known(self, lines: Sequence[tuple[int, dict[str, Any]]]) -> dict[tuple[str, str, int], str]:
        """The hashes of the rows stored here under the numbers of these lines."""
        ranges: dict[str, tuple[int, int]] = {}
        for _, line in lines:
            seq = _seq_of(line)
            if isinstance(seq, int):
                chain = str(line["row"].get("chain", OLD))
                low, high = ranges.get(chain, (seq, seq))
                ranges[chain] = (min(low, seq), max(high, seq))
        known = {}
        for chain, (low, high) in ranges.items():
            rows = AuditEntry.objects.filter(chain=chain, seq__gte=low, seq__lte=high)
            known.update(
                {
                    (origin, chain, seq): hash_
                    for origin, seq, hash_ in rows.values_list("origin", "seq", "hash")
                }
            )
        return known

    def _purged(self, ids: Sequence[UUID | None]) -> set[UUID]:
        """Those of the memories that were purged here: their texts in the log must not return."""
        marks = Tombstone.objects.filter(kind=TombstoneKind.PURGED)
        # Most stores have none, and filtering by all the ids takes longer than the rest of the batch.
        if not marks.exists():
            return set()
        named = marks.filter(memory_id__in=set(filter(None, ids)))
        return set(named.values_list("memory_id", flat=True))


def _seq_of(line: dict[str, Any]) -> int | None:
    row = line.get("row")
    seq = row.get("seq") if isinstance(row, dict) else None
    return seq if isinstance(seq, int) and 0 < seq <= MAX_SEQ else None


def _payload_of(value: Any) -> dict[str, Any] | None:
    """A row's payload with its salt; None if it was purged."""
    if value is None:
        return None
    if not isinstance(value["payload"], dict):
        raise TypeError("its payload is not an object")
    return {"salt": str(value["salt"]), "payload": value["payload"]}


def _entry_of(row: Mapping[str, Any]) -> AuditEntry:
    """The unsaved log row of a record; raises KeyError, TypeError or ValueError for a bad value."""
    texts = {name: str(row[name]) for name in TEXTS}
    for name, text in texts.items():
        if len(text) > MAX_CHARS:
            raise ValueError(f"'{name}' is too long")
    uuids = {name: _uuid(row[name]) if row[name] else None for name in ("memory_id", "group", "token", "run")}
    at = _moment(row["at"])
    if at.tzinfo is None:
        raise ValueError("'at' has no time zone")
    if _seq_of({"row": row}) is None:
        raise ValueError(f"'seq' is {row['seq']!r}")
    chain = row.get("chain", OLD)
    if not isinstance(chain, str) or len(chain) > _MAX_CHAIN_CHARS:
        raise ValueError(f"'chain' is {chain!r}")
    origin = str(_uuid(row["origin"]))
    return AuditEntry(origin=origin, chain=chain, seq=row["seq"], at=at, **texts, **uuids)


def _chain_name(entry: AuditEntry) -> str:
    return f"{entry.chain or LEGACY} of {entry.origin}"


@lru_cache(maxsize=2048)  # many rows have the same ids
def _uuid(text: str) -> UUID:
    return UUID(text)


@lru_cache(maxsize=2048)
def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
