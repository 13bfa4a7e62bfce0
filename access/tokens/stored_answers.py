"""The answers to writes that were sent with a key, by writer and key."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.utils import timezone
from django.utils.crypto import salted_hmac

from access.actor import Actor
from access.errors import InvalidInput
from access.models import StoredAnswer
from storage.canonical_json import canonical_json

_KEPT_HOURS: Final = 24
MAX_KEY_CHARS: Final = 200
_ALLOWED: Final = re.compile(rf"[\x21-\x7e]{{1,{MAX_KEY_CHARS}}}")


@dataclass(frozen=True)
class KeyedWrite:
    """A write with a key: the key, the request it stands for (as JSON values), and the name of the key's field."""

    key: str
    request: Any
    field: str

    def check(self) -> None:
        """Raise InvalidInput if the key is not allowed."""
        if not _ALLOWED.fullmatch(self.key):
            raise InvalidInput(
                f"{self.field} must have 1 to {MAX_KEY_CHARS} visible ASCII characters, without spaces.",
                hint="Send a new UUID for each write, and the same one with its retries.",
                field=self.field,
            )

    def digest(self, actor: Actor) -> str:
        """The keyed hash under which the writer's answer is kept."""
        writer = actor.token_id or (f"user {actor.user_id}" if actor.user_id is not None else actor.name)
        value = f"{writer}\n{self.key}"
        return salted_hmac("loci.write.key", value, algorithm="sha256").hexdigest()

    def fingerprint(self) -> str:
        """The keyed hash of the request: without the key, texts cannot be tried against it."""
        value = canonical_json(self.request)
        return salted_hmac("loci.write.request", value, algorithm="sha256").hexdigest()


def find_answer(actor: Actor, write: KeyedWrite) -> StoredAnswer | None:
    """The answer to an earlier write with this key, at most _KEPT_HOURS old.

    Raises:
        InvalidInput: the key was sent with another request.
    """
    kept = StoredAnswer.objects.filter(digest=write.digest(actor)).first()
    if kept is None:
        return None
    if kept.created_at <= _oldest_kept():
        kept.delete()
        return None
    if kept.fingerprint != write.fingerprint():
        raise InvalidInput(
            f"{write.field} was used for another request within {_KEPT_HOURS} hours.",
            hint="Send a new key with a new request. Nothing was written.",
            field=write.field,
        )
    return kept


def keep_answer(actor: Actor, write: KeyedWrite, *, status: int, answer: Any) -> None:
    """Keep the answer to a write, in the transaction of the write; a dry run writes nothing and is run again."""
    if isinstance(answer, dict) and answer.get("dry_run"):
        return
    StoredAnswer.objects.create(
        digest=write.digest(actor), fingerprint=write.fingerprint(), status=status, answer=answer
    )


def delete_old_answers() -> int:
    """Delete the answers older than _KEPT_HOURS; returns their number."""
    return StoredAnswer.objects.filter(created_at__lte=_oldest_kept()).delete()[0]


def _oldest_kept() -> Any:
    """The time before which an answer counts no more."""
    return timezone.now() - timedelta(hours=_KEPT_HOURS)
