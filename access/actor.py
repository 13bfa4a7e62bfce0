"""The caller of an operation and its rights: every function that reads or writes takes an Actor."""

import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from django.db.models import F, Q
from django.db.models.functions import Substr
from django.db.models.lookups import Exact

from access import SCOPES
from access.errors import NotPermitted
from access.models import Membership, PersonWrites, Role
from guard import Door

READ, WRITE, CURATE, ADMIN, CREATE_GROUP = "read", "write", "curate", "admin", "create-group"
HOOK = "hook"  # a token with it may call the hooks, which read, and write where its owner's role allows
CAPTURE = "capture"  # a token with it may keep conversations in the private group of its owner
ALL_SCOPES: frozenset[str] = frozenset(SCOPES)
# The lowest role in a group that includes each right.
ROLE_FOR: dict[str, str] = {
    READ: Role.VIEWER,
    WRITE: Role.CONTRIBUTOR,
    CURATE: Role.CURATOR,
    ADMIN: Role.ADMIN,
    HOOK: Role.VIEWER,
    CAPTURE: Role.VIEWER,
}


class Via(StrEnum):
    """The interface that a call came through."""

    MCP = "mcp"
    REST = "rest"
    ADMIN = "admin"
    APP = "app"  # one's own account, conversations, login
    COMMAND = "command"
    JOB = "job"
    HOOK = "hook"


# People type in the browser; programs, commands too, say what they like.
DOORS: Final[dict[str, Door]] = {Via.ADMIN: Door.PERSON, Via.APP: Door.PERSON, Via.JOB: Door.JOB}


@dataclass(frozen=True)
class Checkout:
    """The caller's repository, as reported by the caller's machine.

    `unreachable` are the commits, of those that memories name, that its head does not contain.
    """

    origin: str = ""
    branch: str = ""
    head: str = ""
    unreachable: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Actor:
    """A caller with its rights, resolved once per request.

    `roles` maps the keys of the groups that the actor may enter to its role there. `all_groups` is True for a superuser
    and for a superuser's token that is not bound to groups: every right in `scopes` then applies in every group.
    `include_global` False: global memories of other groups are hidden from it.
    `checkout` is None if it is not known which repository the caller works in. `origin` is that of the browser extension whose token this is.
    `is_prompt`: the texts that it stores are what a person typed to an agent; only the prompt hook says so.
    `held_back` says why everything that the actor stores waits for a person, whatever a group's policy; empty if it does not.
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
    include_global: bool = True
    default_group: str = ""
    run: uuid.UUID | None = None
    held_back: str = ""
    is_prompt: bool = False
    origin: str = ""
    checkout: Checkout | None = field(default=None, compare=False)
    written: PersonWrites | None = field(
        default=None, compare=False, repr=False
    )  # see access.limits.throttle
    needs_latest: bool = field(
        default=True, compare=False
    )  # reads must see every write; else a replica may answer

    def may(self, right: str, group_key: int | None = None) -> bool:
        """Whether the actor has `right`, in the given group if there is one."""
        if right not in self.scopes:
            return False
        if group_key is None or self.all_groups:
            return True
        role = self.roles.get(group_key)
        return role is not None and Membership.RANK[role] >= Membership.RANK[ROLE_FOR[right]]

    def keys_where(self, right: str) -> list[int] | None:
        """The keys of the groups where the actor has the right; None for all."""
        if self.all_groups and self.may(right):
            return None
        return [key for key in self.roles if self.may(right, key)]

    def may_somewhere(self, right: str) -> bool:
        """Whether the actor has the right in some group; True for a superuser without any group."""
        return self.all_groups or any(self.may(right, key) for key in self.roles)

    def decides(self, group_key: int) -> bool:
        """Whether the actor is a person who may curate the group: what it writes there waits for no one else."""
        return self.is_person and self.may(CURATE, group_key)

    @property
    def door(self) -> Door:
        """Where a text of this caller comes in, unless it is from outside."""
        return Door.PROMPT if self.is_prompt else DOORS.get(self.via, Door.AGENT)

    @property
    def person(self) -> str:
        """Who is behind all tokens and browsers of a user; reads and writes are counted and queued under it."""
        return self.name if self.user_id is None else f"user:{self.user_id}"

    @property
    def is_admin_of_all(self) -> bool:
        """Whether the actor may do what concerns the whole store: backups, schedules, exports with the log."""
        return self.all_groups and self.may(ADMIN)

    def may_enter(self, group_key: int) -> bool:
        """Whether the actor may know that this group exists."""
        return self.all_groups or group_key in self.roles


def named(login: str, column: str) -> Q:
    """Condition: the column has the name of a person or of one of their tokens, "ann" or "ann/laptop", in exactly these letters."""
    start = f"{login}/"
    return Q(**{column: login}) | Q(
        Exact(Substr(F(column), 1, len(start)), start)
    )  # LIKE ignores case on SQLite


def require_admin_of_all(actor: Actor, deed: str, *, hint: str = "Ask a superuser.") -> None:
    """Raise NotPermitted unless the actor administers all groups; `deed` ends "Only an admin of all groups may …"."""
    if not actor.is_admin_of_all:
        raise NotPermitted(f"Only an admin of all groups may {deed}.", hint=hint)
