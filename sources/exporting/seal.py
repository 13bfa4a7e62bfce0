"""The seal on a line of an export: proof, to the store that wrote it, that its text passed the guard here."""

from typing import Any, Final

from django.utils.crypto import constant_time_compare, salted_hmac

from storage.canonical_json import canonical_json

SEAL: Final = "checked"
_SALT: Final = "loci.guard.export"
# What a seal covers: the texts, and what says how they are treated.
_SEALED: Final = (
    "id", "content", "trust", "outside", "tags", "metadata", "source", "slug", "guard", "group", "title", "instructions",
)  # fmt: skip


def seal_of(kind: str, record: dict[str, Any]) -> str:
    """The seal of a row's record; only this store's key makes it."""
    covered = canonical_json([kind, *(record.get(name) for name in _SEALED)])
    return salted_hmac(_SALT, covered, algorithm="sha256").hexdigest()


def has_seal(kind: str, record: dict[str, Any], seal: Any) -> bool:
    """True if this store wrote the line, and nobody changed it."""
    return isinstance(seal, str) and constant_time_compare(seal, seal_of(kind, record))
