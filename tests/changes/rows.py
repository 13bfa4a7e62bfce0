"""What the tables hold, as plain values that the oracle compares."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from access.audit import OWN
from access.models import AuditEntry
from memories.language.dress import fold_hash, undressed
from memories.models import Checkpoint, Doubt, Link, Memory, MemoryFinding, Proposal, Tombstone
from memories.store.withdrawn.tombstones import read_keys, tombstone_hmac
from relations.models import Relation, RelationEvidence
from tests.changes.world import TEXTS

# The worst first. What is not named here (such as a doubt, which is a row of its own) does not lower trust.
TRUST_ORDER = ("quarantined", "rejected", "candidate", "active", "verified")
COUNTING = ("active", "verified")
# What an undo restores of the text that stands, however it brings it back.
COMPARED = (
    "content", "type", "scope", "group_id", "thread_id", "position", "tags", "metadata", "source", "confidence", "importance",
    "pinned", "valid_from", "valid_to", "expires_at", "trust", "state", "outside", "anchor_commit",
)  # fmt: skip
READ = (
    "key", "id", *COMPARED, "source_ref", "fold_hash", "root_id", "superseded_by_id", "summary_id", "version", "retired_at",
    "valid_to_known_at", "author_name",
)  # fmt: skip
Row = dict[str, Any]


def rank(trust: str) -> int:
    """How far a trust goes: the higher, the further."""
    return TRUST_ORDER.index(trust)


def root_of(row: Row) -> int:
    """The key of the row's chain."""
    root: int = row["root_id"] or row["key"]
    return root


def has_passed(moment: datetime | None, now: datetime) -> bool:
    """True for an end that has come."""
    return moment is not None and moment <= now


def has_ended(row: Row, now: datetime) -> bool:
    """True if an end that was set for the row has come."""
    is_over = row["type"] != "episodic" and has_passed(row["valid_to"], now)
    return is_over or has_passed(row["expires_at"], now)


def stands(row: Row, now: datetime) -> bool:
    """True for the current text of its chain, and for one that counts until the day of a plan, unless its end has come."""
    return (row["state"] == "live" or outlasts(row, now)) and not has_ended(row, now)


def outlasts(row: Row, now: datetime) -> bool:
    """True for a superseded fact that counts until a day to come."""
    return (
        row["state"] == "superseded"
        and row["type"] != "episodic"
        and row["retired_at"] is None
        and row["valid_to"] is not None
        and row["valid_to"] > now
        and row["valid_to_known_at"] is not None
    )


@dataclass(frozen=True)
class Rows:
    """All rows that a change may touch, at one moment."""

    at: datetime
    memories: dict[int, Row]
    findings: dict[int, tuple[tuple[str, str], ...]]
    others: dict[tuple[Any, ...], Any]
    logged: dict[Any, int]  # the last row of the log about each memory

    @cached_property
    def chains(self) -> dict[int, list[Row]]:
        """The rows of each chain, by the key of its root."""
        found: dict[int, list[Row]] = {}
        for row in self.memories.values():
            found.setdefault(root_of(row), []).append(row)
        return found

    @cached_property
    def by_id(self) -> dict[Any, Row]:
        """The memories by their id."""
        return {row["id"]: row for row in self.memories.values()}

    def chain_of_id(self, id_: Any) -> int:
        """The root of the chain of a memory id; 0 if the memory is gone."""
        row = self.by_id.get(id_)
        return root_of(row) if row is not None else 0

    def standing(self, root: int, now: datetime) -> list[Row]:
        """What stands of a chain: its live row, and rows that count until a day to come."""
        return [row for row in self.chains.get(root, ()) if stands(row, now)]

    def chain_facts(self, root: int) -> Any:
        """Every compared value of a chain, to see whether it changed."""
        return sorted(
            (row["key"], *(repr(row[name]) for name in READ[1:]), self.findings.get(row["key"], ()))
            for row in self.chains.get(root, ())
        )

    def last_logged(self, root: int) -> list[int]:
        """The last rows of the log about the rows of a chain."""
        return [self.logged.get(row["id"], 0) for row in self.chains.get(root, ())]

    @cached_property
    def barred(self) -> set[str]:
        """The texts, folded, that a tombstone in force bars somewhere; also those of memories that are gone."""
        return self.barred_by(self.tombstones)

    @cached_property
    def tombstones(self) -> set[tuple[Any, ...]]:
        """The names of the tombstones in force."""
        return {name for name in self.others if name[0] == "tombstone"}

    def barred_by(self, tombstones: set[tuple[Any, ...]]) -> set[str]:
        """The texts, folded, that some of the tombstones bar."""
        marks, keys = {name[2][3] for name in tombstones}, read_keys()
        bare = {
            undressed(text) for text in TEXTS.values() for key in keys if tombstone_hmac(key, text) in marks
        }
        return {fold_hash(text) for text in TEXTS.values() if undressed(text) in bare}

    def refs(self, root: int) -> set[tuple[str, str]]:
        """The sources and references under which imports find the chain."""
        rows = self.chains.get(root, ())
        return {(row["source"], row["source_ref"]) for row in rows if row["source_ref"]}


def head_of(rows: Rows, row: Row) -> Row | None:
    """The last successor of a row; None if one is gone."""
    seen = set[int]()
    while row["superseded_by_id"] is not None and row["key"] not in seen:
        seen.add(row["key"])
        found = rows.memories.get(row["superseded_by_id"])
        if found is None:
            return None
        row = found
    return row


def read_rows(now: datetime) -> Rows:
    """Read all of them."""
    memories = {row["key"]: row for row in Memory._base_manager.order_by("key").values(*READ)}
    findings: dict[int, tuple[tuple[str, str], ...]] = {}
    for memory, kind, status in MemoryFinding.objects.order_by("key").values_list("memory", "kind", "status"):
        findings[memory] = (*findings.get(memory, ()), (kind, status))
    about = AuditEntry.objects.filter(origin=OWN).exclude(memory_id=None)
    logged = dict(about.order_by("key").values_list("memory_id", "key"))
    return Rows(now, memories, findings, dict(other_rows(memories)), logged)


def other_rows(memories: dict[int, Row]) -> Iterable[tuple[tuple[Any, ...], Any]]:
    """The rows of the other tables by (table, the chains they are about, name), with what an undo must restore."""
    roots = {key: root_of(row) for key, row in memories.items()}
    by_id = {row["id"]: root_of(row) for row in memories.values()}
    for link in Link.objects.values("kind", "source_id", "target_id", "status"):
        ends = (roots.get(link["source_id"], 0), roots.get(link["target_id"], 0))
        yield ("link", ends, link["kind"]), link["status"]
    for mark in Tombstone.objects.filter(lifted_at=None).values("memory_id", "kind", "group_id", "hmac"):
        about = (by_id.get(mark["memory_id"], 0),)
        yield (
            ("tombstone", about, (mark["memory_id"], mark["kind"], mark["group_id"], mark["hmac"])),
            "stands",
        )
    for doubt in Doubt.objects.values("key", "memory_id", "status"):
        yield ("doubt", (roots.get(doubt["memory_id"], 0),), doubt["key"]), doubt["status"]
    for proposal in Proposal.objects.values("id", "memory_id", "status"):
        about = (roots.get(proposal["memory_id"] or 0, 0),)
        yield ("proposal", about, proposal["id"]), proposal["status"]
    for doubt in Doubt.objects.values("key", "memory_id", "status"):
        about = (roots.get(doubt["memory_id"], 0),)
        yield ("doubt", about, doubt["key"]), doubt["status"]
    for each in Relation.objects.filter(retired_at=None).values(
        "id", "subject_id", "object_id", "confidence", "valid_from", "valid_to"
    ):
        about = (roots.get(each["subject_id"], 0), roots.get(each["object_id"], 0))
        yield ("relation", about, each["id"]), (each["confidence"], each["valid_from"], each["valid_to"])
    for proof in RelationEvidence.objects.filter(relation__retired_at=None).values(
        "relation_id", "memory_id"
    ):
        yield ("evidence", (roots.get(proof["memory_id"], 0),), proof["relation_id"]), "proves"
    for id_ in Checkpoint.objects.values_list("id", flat=True):
        yield ("checkpoint", (), id_), "kept"
