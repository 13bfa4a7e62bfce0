"""Tombstones: a withdrawn text leaves a keyed hash, so that it is recognised when it comes back and says nothing itself."""

import hashlib
import hmac
import os
import secrets
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from access.actor import Actor
from access.errors import Unavailable
from access.models import Group
from memories.models import Memory, Tombstone, TombstoneKind
from memories.text import fold

KEY_BYTES = 32
_KEY_FILES = "tombstone-*.key"


def lay_tombstone(actor: Actor, memory: Memory, *, kind: TombstoneKind, reason: str) -> Tombstone:
    """Bar a memory's text from its group; inside the caller's transaction. One that is there already stays."""
    key_id = _current_key_id()
    tombstone, _ = Tombstone.objects.get_or_create(
        group_id=memory.group_id,
        key_id=key_id,
        hmac=_hmac(key_id, memory.content),
        lifted_at=None,
        defaults={"kind": kind, "memory_id": memory.id, "reason": reason, "author_name": actor.name},
    )
    return tombstone


def find_tombstone(group: Group, text: str) -> Tombstone | None:
    """Give the tombstone that bars this text, however it is spelt, from the group."""
    marks = [_hmac(key_id, text) for key_id in _key_ids()]
    return Tombstone.objects.filter(group=group, hmac__in=marks, lifted_at=None).first() if marks else None


def find_tombstones(group: Group, texts: list[str]) -> dict[str, Tombstone]:
    """Give the tombstones that bar any of `texts` from the group, by text. Costs nothing where the group has none."""
    standing = {t.hmac: t for t in Tombstone.objects.filter(group=group, lifted_at=None)}
    if not standing:
        return {}
    key_ids = _key_ids()
    marked = ((text, _hmac(key_id, text)) for text in texts for key_id in key_ids)
    return {text: standing[mark] for text, mark in marked if mark in standing}


def _hmac(key_id: str, text: str) -> str:
    return hmac.new(_key(_keys_dir(), key_id), fold(text).encode(), hashlib.sha256).hexdigest()


def _keys_dir() -> Path:
    return Path(settings.LOCI.home) / "keys"


def _key_ids() -> list[str]:
    """All keys, oldest first: an old one still recognises what it marked."""
    return sorted(path.stem.removeprefix("tombstone-") for path in _keys_dir().glob(_KEY_FILES))


def _current_key_id() -> str:
    ids = _key_ids()
    return ids[-1] if ids else _new_key()


def _new_key() -> str:
    """Make the first key. Two processes may try at once: whoever is late takes the one that is there."""
    folder = _keys_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "tombstone-0001.key"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _key_ids()[-1]
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    return "0001"


@lru_cache(maxsize=64)
def _key(folder: Path, key_id: str) -> bytes:
    secret = (folder / f"tombstone-{key_id}.key").read_bytes()
    if len(secret) != KEY_BYTES:
        raise Unavailable(
            f"The tombstone key {key_id} is damaged.", hint="Put keys/ back from a backup ('loci restore')."
        )
    return secret
