"""Another store's audit chain: taken in row by row under its origin, and only while every row follows the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache
from typing import Any
from uuid import UUID

from access.audit import ANCHOR, ANCHOR_PREFIX, GENESIS, OWN, chain_hash, dropped_through, payload_digest
from access.audit.operations import Operation
from access.models import AuditEntry, AuditHead, AuditPayload
from memories.models import Tombstone, TombstoneKind
from sources.importing.lines import LineFault
from storage.bulk_insert import ManyInsert, like

# Rows about a purged memory that say nothing of its text.
WORDLESS = frozenset({Operation.PURGE, Operation.REFUSE, Operation.LIFT})
_ENTRIES, _PAYLOADS = ManyInsert(AuditEntry), ManyInsert(AuditPayload)
MAX_SEQ = 2**63 - 1
MAX_TEXT = 300  # the widest of these columns
TEXTS = ("operation", "subject", "actor", "via", "client", "digest", "hash")


@dataclass
class ChainIntake:
    """Takes the log lines of one import, in their order; `own` is this store's id, whose rows are compared alone."""

    own: str
    added: int = 0
    unchanged: int = 0
    purged: int = 0
    heads: dict[str, tuple[int, str]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    dropped: dict[str, int] = field(default_factory=dict)  # by origin, what retention dropped of it here

    def take(self, lines: Sequence[tuple[int, dict[str, Any]]]) -> list[LineFault]:
        """Write what is new and follows; give the lines that do not fit. Inside the caller's transaction."""
        known = self._known(lines)
        faults, rows, said = [], list[AuditEntry](), list[AuditPayload]()
        for number, line in lines:
            why = self._take_one(line, known, rows, said)
            if why:
                faults.append(LineFault(number, why))
        _ENTRIES.add(rows)
        barred = self._purged([row.memory_id for row in rows])
        kept = [p for p in said if p.entry.memory_id not in barred or p.entry.operation in WORDLESS]
        self.purged += len(said) - len(kept)
        _PAYLOADS.add(kept)
        for origin in {row.origin for row in rows}:
            seq, hash_ = self.heads[origin]
            AuditHead.objects.update_or_create(origin=origin, defaults={"seq": seq, "hash": hash_})
        self.added += len(rows)
        return faults

    def _take_one(
        self,
        line: dict[str, Any],
        known: Mapping[tuple[str, int], str],
        rows: list[AuditEntry],
        said: list[AuditPayload],
    ) -> str:
        """Compare a line with the row that is there, or append it; say what is wrong with it."""
        try:
            entry, said_there = _entry(line["row"]), _said(line.get("said"))
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            return f"it is no row of a log: {fault!r}"
        if entry.origin in self.broken:
            return f"the chain of {entry.origin} is broken before it"
        origin = OWN if entry.origin == self.own else entry.origin
        there = known.get((origin, entry.seq))
        if there is not None:
            self.unchanged += there == entry.hash
            return (
                "" if there == entry.hash else self._break(entry, "this store has another row in its place")
            )
        if entry.seq <= self._dropped(origin):
            self.unchanged += 1
            return ""
        if origin == OWN:
            return self._break(entry, "it belongs to this store's own log, which does not have it")
        why = self._fault(entry, said_there)
        if why:
            return self._break(entry, why)
        rows.append(entry)
        self.heads[entry.origin] = (entry.seq, entry.hash)
        if said_there is not None:
            said.append(like(_payload(), said_there, {"entry": entry}))
        return ""

    def _fault(self, entry: AuditEntry, said: dict[str, Any] | None) -> str:
        """Say why a row does not follow the one before it; empty where it does."""
        seq, previous = self._head(entry)
        if entry.operation == ANCHOR and entry.subject.startswith(ANCHOR_PREFIX) and previous == GENESIS:
            # The file's chain begins here. A later row tells of the drop: verify_chain() looks for it.
            return "" if entry.subject == f"{ANCHOR_PREFIX}{entry.hash}" else "the anchor was changed"
        if entry.seq != seq + 1:
            return f"row {seq + 1} of the log of {entry.origin} is missing before it"
        if entry.hash != chain_hash(previous, entry):
            return "it does not follow the row before it: one of them was changed"
        if said is not None and payload_digest(said["salt"], said["payload"]) != entry.digest:
            return "what it says was changed"
        return ""

    def _head(self, entry: AuditEntry) -> tuple[int, str]:
        if entry.origin not in self.heads:
            head = AuditHead.objects.filter(origin=entry.origin).first()
            if head is not None:
                self.heads[entry.origin] = (head.seq, head.hash)
        return self.heads.get(entry.origin, (0, GENESIS))

    def _dropped(self, origin: str) -> int:
        if origin not in self.dropped:
            self.dropped[origin] = dropped_through(origin)
        return self.dropped[origin]

    def _break(self, entry: AuditEntry, why: str) -> str:
        self.broken.add(entry.origin)
        return why

    def _known(self, lines: Sequence[tuple[int, dict[str, Any]]]) -> dict[tuple[str, int], str]:
        seqs = [s for _, line in lines if isinstance(s := _seq_of(line), int)]
        if not seqs:
            return {}
        rows = AuditEntry.objects.filter(seq__gte=min(seqs), seq__lte=max(seqs))
        return {(origin, seq): hash_ for origin, seq, hash_ in rows.values_list("origin", "seq", "hash")}

    def _purged(self, ids: Sequence[UUID | None]) -> set[UUID]:
        """Give those memories that were purged here: what the log says of them must not come back."""
        marks = Tombstone.objects.filter(kind=TombstoneKind.PURGED)
        if (
            not marks.exists()
        ):  # as in most stores; naming all the ids takes longer than the rest of the batch
            return set()
        named = marks.filter(memory_id__in=set(filter(None, ids)))
        return set(named.values_list("memory_id", flat=True))


def _seq_of(line: dict[str, Any]) -> int | None:
    row = line.get("row")
    seq = row.get("seq") if isinstance(row, dict) else None
    return seq if isinstance(seq, int) and 0 < seq <= MAX_SEQ else None


def _said(said: Any) -> dict[str, Any] | None:
    """Give what a row says, with its salt; None where a purge took it."""
    if said is None:
        return None
    if not isinstance(said["payload"], dict):
        raise TypeError("what it says is no object")
    return {"salt": str(said["salt"]), "payload": said["payload"]}


def _entry(row: Mapping[str, Any]) -> AuditEntry:
    texts = {name: str(row[name]) for name in TEXTS}
    for name, text in texts.items():
        if len(text) > MAX_TEXT:
            raise ValueError(f"'{name}' is too long")
    uuids = {name: _uuid(row[name]) if row[name] else None for name in ("memory_id", "group", "token", "run")}
    at = _moment(row["at"])
    if at.tzinfo is None:
        raise ValueError("'at' has no time zone")
    if _seq_of({"row": row}) is None:
        raise ValueError(f"'seq' is {row['seq']!r}")
    origin = str(_uuid(row["origin"]))
    return like(_example(), {"origin": origin, "seq": row["seq"], "at": at, **texts, **uuids})


@cache
def _example() -> AuditEntry:
    return AuditEntry()


@cache
def _payload() -> AuditPayload:
    return AuditPayload()


@lru_cache(maxsize=2048)  # many rows name the same
def _uuid(text: str) -> UUID:
    return UUID(text)


@lru_cache(maxsize=2048)
def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
