"""Who acts, and through what: every function that reads or writes takes an Actor."""

import uuid
from dataclasses import dataclass, field
from enum import StrEnum

from access.models import Membership, Role

READ, WRITE, CURATE, ADMIN, CREATE_GROUP = "read", "write", "curate", "admin", "create-group"
ALL_SCOPES: frozenset[str] = frozenset({READ, WRITE, CURATE, ADMIN, CREATE_GROUP})
# What each right asks of a member's role in the group it is used in.
ROLE_FOR: dict[str, str] = {
    READ: Role.VIEWER,
    WRITE: Role.CONTRIBUTOR,
    CURATE: Role.CURATOR,
    ADMIN: Role.ADMIN,
}


class Via(StrEnum):
    """The face a person or agent came through."""

    MCP = "mcp"
    REST = "rest"
    ADMIN = "admin"
    COMMAND = "command"
    JOB = "job"


@dataclass(frozen=True)
class Actor:
    """A caller with its rights, worked out once per request.

    `roles` maps the keys of the groups it may enter to its role there. `all_groups` is True for a superuser (and
    for a token of one that is not bound to groups): it then has every right that `scopes` leaves it, everywhere.
    """

    name: str
    via: str
    scopes: frozenset[str] = field(default_factory=frozenset)
    user_id: int | None = None
    token_key: int | None = None
    token_id: uuid.UUID | None = None
    client: str = ""
    is_person: bool = False
    all_groups: bool = False
    roles: dict[int, str] = field(default_factory=dict)
    default_group: str = ""
    run: uuid.UUID | None = None

    def may(self, right: str, group_key: int | None = None) -> bool:
        """Say whether the actor has `right`, in the group where one is named."""
        if right not in self.scopes:
            return False
        if group_key is None or self.all_groups:
            return True
        role = self.roles.get(group_key)
        return role is not None and Membership.RANK[role] >= Membership.RANK[ROLE_FOR[right]]

    def may_enter(self, group_key: int) -> bool:
        """Say whether the actor may know of this group at all."""
        return self.all_groups or group_key in self.roles
