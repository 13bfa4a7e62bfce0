"""What the lines of an export point to, found in this store."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Model

from access.models import ApiToken, Group
from memories.models import Memory, Thread

MEMORY_TIES = frozenset({"source", "target", "subject", "object", "memory", "root"})


class MissingTarget(ValueError):
    """A line points to something that is neither in the file nor in the store."""


class Targets:
    """Finds the rows that lines name: groups and threads by what the file calls them, memories by their ids.

    Tokens and users that are not here are left out: they belong to the machine they were made on.
    """

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.threads: dict[tuple[str, str], Thread] = {}
        self._users = {user.get_username(): user for user in User.objects.all()}
        self._tokens = {str(token.id): token for token in ApiToken.objects.all()}
        self._memories: dict[str, Memory] = {}

    def look_up(self, records: Sequence[dict[str, Any]], also: Sequence[str] = ()) -> None:
        """Fetch the memories that some records point to, in one query."""
        named = [record[tie] for record in records for tie in MEMORY_TIES & record.keys()]
        ids = {UUID(id_) for id_ in [*named, *also] if is_id(id_)}
        rows = (
            Memory.objects.filter(id__in=ids) if ids else []
        )  # as of most memories: asking for none takes longer than one
        self._memories = {str(row.id): row for row in rows}

    def find(self, tie: str, name: Any, record: dict[str, Any]) -> Model | None:
        """Give the row that a record's tie names; None where it names none, or a token or user that is not here."""
        if not name:
            return None
        if not isinstance(name, str):
            raise MissingTarget(f"'{tie}' is {name!r}")
        match tie:
            case "group":
                return _found(self.groups.get(name), f"group '{name}'")
            case "thread":
                return _found(self.threads.get((record["group"], name)), f"thread '{name}'")
            case "author":
                return self._users.get(name)
            case "token":
                return self._tokens.get(name)
        return _found(self._memories.get(name), f"memory {name}, its {tie},")

    def memory(self, id_: str) -> Memory | None:
        """Give a memory that was looked up."""
        return self._memories.get(id_)


def _found(row: Model | None, what: str) -> Model:
    if row is None:
        raise MissingTarget(f"its {what} is neither in the file nor in the store")
    return row


def is_id(text: Any) -> bool:
    """Say whether a record's value is an id."""
    try:
        return isinstance(text, str) and bool(UUID(text))
    except ValueError:
        return False
