"""The chains of the audit log: one for each group, one for the instance, and the chain of heads that links them all.

Each row follows the previous one of its chain by a hash, and numbers count within one chain, so that no reader learns from
the numbers of one group how much happens in another.
"""

import hashlib
from collections.abc import Iterable, Mapping
from json.encoder import encode_basestring
from typing import Any
from uuid import UUID

from access.models import AuditEntry, AuditHead, Group
from access.models.audit import LEGACY
from storage.canonical_json import ReadyJson, canonical_json
from storage.compiled_queries import CompiledQuery, CompiledUpdate

OWN = ""  # the origin of this store's own chains
OLD = ""  # the one chain of a store from before groups had their own; its last hash is what all other chains follow
INSTANCE = "instance"  # log-in, people, schedule: what belongs to no group
HEADS = "heads"  # links the ends of all chains
GENESIS = "0" * 64  # the previous hash of a store's first row
_HEAD = CompiledQuery(
    lambda chain: AuditHead.objects.select_for_update().filter(origin=OWN, chain=chain).order_by()
)
_MOVE_HEAD = CompiledUpdate(
    lambda seq, hash_, key, before: (
        AuditHead.objects.filter(pk=key, seq=before),
        {"seq": seq, "hash": hash_},
    ),
    4,
)
MAX_SEQ = 2**63 - 1


def group_chain(group: UUID | None) -> str:
    """The name of the chain for rows about a group, or about none."""
    return INSTANCE if group is None else str(group)


def group_of(chain: str) -> UUID | None:
    """The id of the group whose chain this is; None for the other chains."""
    return None if chain in (OLD, INSTANCE, HEADS) else UUID(chain)


def find_row(name: str) -> AuditEntry | None:
    """The row of this store's log with this name (AuditEntry.name), with its payload; None if there is none."""
    chain, _, seq = name.rpartition(".")
    if not chain or not (seq.isascii() and seq.isdecimal()) or int(seq) > MAX_SEQ:
        return None
    rows = AuditEntry.objects.filter(origin=OWN, chain=OLD if chain == LEGACY else chain, seq=int(seq))
    return rows.select_related("payload_row").first()


def chain_labels() -> dict[str, str]:
    """Chain names as people read them: a group's slug by its id, and the other chains' own names."""
    slugs = {str(id_): slug for id_, slug in Group.objects.values_list("id", "slug")}
    return {OLD: LEGACY, INSTANCE: INSTANCE, HEADS: HEADS, **slugs}


class LockedChains:
    """The ends of chains that the caller's transaction appends to, locked until it ends.

    `ends` holds each chain's number and hash as the caller builds the rows; save() writes them.
    """

    def __init__(self, chains: Iterable[str]) -> None:
        # Always in the same order, so that two writers never wait for each other.
        self._heads = {chain: _lock_head(chain) for chain in sorted(set(chains))}
        self.ends = {chain: (head.seq, head.hash) for chain, head in self._heads.items()}

    def save(self) -> None:
        """Move the heads to their new ends."""
        for chain, head in self._heads.items():
            if _MOVE_HEAD.run(*self.ends[chain], head.key, head.seq) != 1:
                raise RuntimeError("Something else was appended to the log meanwhile.")


def _lock_head(chain: str) -> AuditHead:
    """The locked head of one of this store's chains, created if it is missing."""
    head = _HEAD.first(chain)
    if head is None:
        start = start_hash(chain, old_end(OWN))
        AuditHead.objects.get_or_create(origin=OWN, chain=chain, defaults={"seq": 0, "hash": start})
        head = AuditHead.objects.select_for_update().get(origin=OWN, chain=chain)
    return head


def start_hash(chain: str, end: str) -> str:
    """The hash that a chain's first row follows: of the chain's name and the end of the store's old chain."""
    return GENESIS if chain == OLD else hash_line(join_json(end, chain))


def old_end(origin: str) -> str:
    """The last hash of a store's old chain; GENESIS if it never had one."""
    found = AuditHead.objects.filter(origin=origin, chain=OLD).values_list("hash", flat=True).first()
    return found or GENESIS


def payload_digest(salt: str, payload: Mapping[str, Any] | ReadyJson) -> str:
    """SHA-256 (hex) of the salt and the payload as canonical JSON; it reveals nothing without the salt."""
    return hashlib.sha256(f"{salt}:{canonical_json(payload)}".encode()).hexdigest()


def chain_hash(previous: str, entry: AuditEntry) -> str:
    """SHA-256 (hex) of the previous row's hash and this row's ids, names and digest."""
    fields = join_json(
        entry.operation, str(entry.memory_id or ""), str(entry.group or ""), entry.subject, entry.actor, entry.via,
        str(entry.token or ""), entry.client, str(entry.run or ""), entry.digest,
    )  # fmt: skip
    return hash_line(f'"{previous}", "{entry.seq}", "{entry.at.isoformat()}"', fields)


def join_json(*texts: str) -> str:
    """The texts as the inside of a JSON list."""
    return ", ".join(map(encode_basestring, texts))


def hash_line(*parts: str) -> str:
    """SHA-256 (hex) of the parts as a JSON list."""
    return hashlib.sha256(f"[{', '.join(parts)}]".encode()).hexdigest()
