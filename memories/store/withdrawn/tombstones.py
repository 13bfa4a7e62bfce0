"""Tombstones: a withdrawn text leaves keyed hashes (HMAC) that recognise it on return without revealing it.

The first mark is of its fold: the same text in other case, width or white space. The second is of its letters and
digits alone: the same text in other dress. The third keeps capitals, so that mW is not refused because of MW.

A withdrawn text reaches as far whether it was rejected, retracted or purged. A candidate that repeats a memory which counts
is rejected without a tombstone: recall would leave out the right memory too.

A quarantine holds for the fact: the former versions are hidden with the current one, and come back with it. What an edit
appended to a harmful text does not make the text before it harmless.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Unavailable
from access.models import Group
from memories.language.cleaning import fold
from memories.language.dress import has_letters_or_digits, spelling, undressed
from memories.models import Memory, Tombstone, TombstoneKind
from memories.queries.by_text import find_counting_same
from memories.queries.versions import versions_of
from memories.store.change import change_row
from memories.store.policy import log_of
from memories.types import WITHDRAWN_TRUSTS, Scope, State, Trust

KEY_BYTES = 32
_KEY_FILES = "tombstone-*.key"
_STRENGTH: Final = (TombstoneKind.REJECTED, TombstoneKind.RETRACTED, TombstoneKind.PURGED)


class Likeness(Enum):
    """How the marks find a text like a withdrawn one. What its vectors find near waits too: see near.py."""

    EXACT = "the same text, whatever its case, width or white space"
    DRESS = "the same letters and digits in other dress"
    INSIDE = "the same letters and digits as a statement in a longer text, which does not take it back"


def bars(withdrawn_scope: str, *, is_own: bool, scope: str) -> bool:
    """True if a withdrawn text of this scope bars the same text in the group that withdrew it (`is_own`), or elsewhere.

    Its own group has it with neither scope; a global text that was withdrawn is global in no group.
    """
    return is_own or withdrawn_scope == scope == Scope.GLOBAL


def lay_tombstone(actor: Actor, memory: Memory, *, kind: TombstoneKind, reason: str) -> Tombstone | None:
    """Bar a memory's text, inside the caller's transaction; None for a text without letters and digits.

    An existing tombstone of the text takes the stronger kind and the wider scope of the two.
    """
    if not has_letters_or_digits(memory.content):
        return None  # every "👍" is alike
    keys = read_keys()
    key = keys[0] if keys else _create_key()
    # By any key: a group has one unlifted tombstone per text.
    existing = find_tombstones(memory.group, [memory.content]).get(memory.content)
    if existing is not None:
        return _strengthen(existing, actor, memory, kind=kind, reason=reason)
    return Tombstone.objects.create(
        group_id=memory.group_id,
        key_id=key.id,
        hmac=tombstone_hmac(key, memory.content),
        **_later_marks(key, memory.content),
        scope=memory.scope,
        kind=kind,
        memory_id=memory.id,
        reason=reason,
        author_name=actor.name,
    )


def _strengthen(
    existing: Tombstone, actor: Actor, memory: Memory, *, kind: TombstoneKind, reason: str
) -> Tombstone:
    """Add the second mark to an existing tombstone, widen its scope and strengthen its kind; returns it."""
    key = next((key for key in read_keys() if existing.key_id in (key.id, key.file)), None)
    changed: dict[str, str | UUID] = {}
    if key is not None and not existing.dress:
        changed |= _later_marks(key, memory.content)
    if memory.scope == Scope.GLOBAL:
        changed["scope"] = Scope.GLOBAL
    if _STRENGTH.index(kind) > _STRENGTH.index(existing.kind):
        changed |= {"kind": kind, "memory_id": memory.id, "reason": reason, "author_name": actor.name}
    if any(getattr(existing, name) != value for name, value in changed.items()):
        for name, value in changed.items():
            setattr(existing, name, value)
        existing.save(update_fields=[*changed])
    return existing


def _later_marks(key: "TombstoneKey", text: str) -> dict[str, str]:
    """The columns of the second and third mark of a text."""
    return {"dress": dress_hmac(key, text), "spelling": spelling_hmac(key, text)}


def find_tombstones(group: Group, texts: Sequence[str]) -> dict[str, Tombstone]:
    """The group's tombstones of exactly these texts, whatever their spelling, by text; no hashing if it has none."""
    standing = Tombstone.objects.filter(group=group, lifted_at=None)
    if not standing.exists():
        return {}
    keys = read_keys()
    marked = [(text, tombstone_hmac(key, text)) for text in texts for key in keys]
    tombstones = {row.hmac: row for row in standing.filter(hmac__in={mark for _, mark in marked})}
    return {text: tombstones[mark] for text, mark in marked if mark in tombstones}


def lift(actor: Actor, tombstone: Tombstone) -> None:
    """Mark a tombstone as lifted by the actor: it bars nothing any more."""
    tombstone.lifted_at, tombstone.lifted_by = timezone.now(), actor.name
    tombstone.save(update_fields=["lifted_at", "lifted_by"])


def purged_texts(texts: Iterable[str]) -> set[str]:
    """Those of `texts` that were purged in any group."""
    purged = Tombstone.objects.filter(kind=TombstoneKind.PURGED, lifted_at=None)
    marks = set(purged.values_list("hmac", flat=True))
    keys = read_keys() if marks else []
    return {text for text in texts if any(tombstone_hmac(key, text) in marks for key in keys)}


def missing_keys() -> dict[str, int]:
    """The ids of keys that are missing here, with the number of tombstones that cannot match without each."""
    present = {name for key in read_keys() for name in (key.id, key.file)}
    orphaned = Tombstone.objects.filter(lifted_at=None).exclude(key_id__in=present)
    counted = orphaned.values_list("key_id").annotate(count=Count("pk")).order_by("key_id")
    return dict(counted)


def key_missing_text(missing: dict[str, int]) -> str:
    """The warning about missing keys, and what to do; empty if none is missing."""
    if not missing:
        return ""
    return (
        f"key missing: {sum(missing.values())} tombstones recognise nothing without the key {', '.join(missing)}; "
        "copy the files in keys/ of the LOCI_HOME they come from into keys/ here"
    )


@dataclass(frozen=True)
class TombstoneKey:
    """A secret with its fingerprint as id; `file` is the id in its file's name, which older tombstones use."""

    id: str
    file: str
    secret: bytes


def tombstone_hmac(key: TombstoneKey, text: str) -> str:
    """The keyed hash of a text's fold, in hex: spellings that fold alike have the same hash."""
    return hmac.digest(key.secret, fold(text).encode(), "sha256").hex()


def dress_hmac(key: TombstoneKey, text: str) -> str:
    """The keyed hash of a text's letters and digits alone, in hex; empty if it has too few of them."""
    bare = undressed(text)
    return bare_hmac(key, bare) if bare else ""


def bare_hmac(key: TombstoneKey, bare: str) -> str:
    """The keyed hash of an undressed text, in hex."""
    return hmac.digest(key.secret, f"dress:{bare}".encode(), "sha256").hex()


def spelling_hmac(key: TombstoneKey, text: str) -> str:
    """The keyed hash of a text with its capital letters, in hex."""
    return hmac.digest(key.secret, f"spelling:{spelling(text)}".encode(), "sha256").hex()


def _keys_dir() -> Path:
    return Path(settings.LOCI.home) / "keys"


def read_keys() -> list[TombstoneKey]:
    """All keys, sorted by file name; tombstones of each still match."""
    return [_read_key(path) for path in sorted(_keys_dir().glob(_KEY_FILES))]


def _create_key() -> TombstoneKey:
    """Create a key. If two processes create one each at the same time, both are valid from then on."""
    folder = _keys_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = secrets.token_bytes(KEY_BYTES)
    draft = folder / f".tombstone-{secrets.token_hex(8)}"
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    # Renamed once complete: readers never see a partial file.
    path = draft.replace(folder / f"tombstone-{_fingerprint(secret)}.key")
    return _read_key(path)


def _fingerprint(secret: bytes) -> str:
    """Eight hex digits that identify a key without revealing it."""
    return hashlib.sha256(secret).hexdigest()[:8]


@lru_cache(maxsize=64)
def _read_key(path: Path) -> TombstoneKey:
    secret = path.read_bytes()
    if len(secret) != KEY_BYTES:
        raise Unavailable(
            f"The tombstone key {path.name} is damaged.", hint="Copy keys/ back from a backup of LOCI_HOME."
        )
    return TombstoneKey(_fingerprint(secret), path.stem.removeprefix("tombstone-"), secret)


def follow_trust(actor: Actor, memory: Memory, *, reason: str, same: Memory | None = None) -> None:
    """Lay or lift the tombstone of a memory whose trust a person has just set; inside the transaction.

    `same` counts and has the same text: nothing is laid. A quarantine bars the former texts too, as it hides them; what
    else barred a former text of the memory's chain stays.
    """
    if memory.trust in WITHDRAWN_TRUSTS:
        barred = barred_with(memory) if memory.trust == Trust.QUARANTINED else []
        for row in [memory, *barred] if same is None else barred:
            lay_tombstone(actor, row, kind=TombstoneKind.REJECTED, reason=reason)
        return
    released = [row for row in _former_versions(memory) if row.trust not in WITHDRAWN_TRUSTS]
    marks = find_tombstones(memory.group, [row.content for row in (memory, *released)])
    for row in (memory, *released):
        mark = marks.get(row.content)
        is_own = mark is not None and (row is memory or mark.memory_id == row.id)
        if mark is not None and is_own and mark.kind == TombstoneKind.REJECTED and mark.lifted_at is None:
            lift(actor, mark)


def barred_with(memory: Memory) -> list[Memory]:
    """The former versions whose texts a quarantine of the memory bars too: not those that count elsewhere."""
    return [row for row in _former_versions(memory) if find_counting_same(row) is None]


def _former_versions(memory: Memory) -> list[Memory]:
    """The versions of a memory that are not live, in its group."""
    rows = versions_of(memory)
    return [row for row in rows if row.state != State.LIVE and row.group_id == memory.group_id]


def follow_quarantine(actor: Actor, memory: Memory) -> int:
    """Hide the former versions of what has just been quarantined, or bring back those that were hidden with it.

    In the caller's transaction; returns how many changed.
    """
    is_hiding = memory.trust == Trust.QUARANTINED
    if memory.state != State.LIVE or (memory.trust in WITHDRAWN_TRUSTS and not is_hiding):
        return 0  # a scan quarantines former versions by themselves
    others = [row for row in _former_versions(memory) if (row.trust == Trust.QUARANTINED) is not is_hiding]
    wanted = [(row, memory.trust if is_hiding else _trust_before(row, memory)) for row in others]
    changed = [(row, trust) for row, trust in wanted if trust]
    for row, trust in changed:
        change_row(actor, Operation.TRUST, row, {"trust": trust}, hidden_with=str(memory.id))
    return len(changed)


def _trust_before(row: Memory, memory: Memory) -> str:
    """The trust that a version had before it was hidden with this one; empty if it was quarantined by itself."""
    last = log_of(row, Operation.TRUST).first()
    if last is None or last.payload.get("hidden_with") != str(memory.id):
        return ""
    before, after = last.payload["changes"]["trust"]
    return str(before) if after == Trust.QUARANTINED else ""
