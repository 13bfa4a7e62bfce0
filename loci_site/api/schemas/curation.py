"""Schemas for curation: decisions about two memories, the log, tombstones and runs."""

from typing import Any

from pydantic import Field, StrictBool

from loci_site.api.schemas.document import Document
from loci_site.api.schemas.requests import Body, VerbIn


class MergeIn(VerbIn):
    """The memory that remains after a merge; `content` is its new text, empty to keep its own."""

    into: str = Field(description="Id of the memory that remains.")
    content: str = ""


class SupersedeIn(VerbIn):
    """The successor of a memory."""

    by: str = Field(description="Id of a current memory.")


class MoveIn(VerbIn):
    """The group that a memory is moved to."""

    to: str = Field(description="Name of the group.")


class PartMoveIn(VerbIn):
    """The group that gets a part of another group's memories, and which; without types, tags and sources all."""

    to: str = Field(description="Name of the group.")
    types: list[str] = Field(default=[], description="Of one of these types.")
    tags: list[str] = Field(default=[], description="With all of these tags.")
    sources: list[str] = Field(default=[], description="From one of these sources.")


class PartMoveUndoIn(Body):
    """The move to take back."""

    run: str = Field(description="`run` of the move's answer.")
    dry_run: StrictBool = False


class StayingOut(Document):
    """A memory that stays, and why."""

    id: str
    why: str


class PartMovedOut(Document):
    """A move of a part of a group: how many memories, with how many rows in all, and what stays."""

    source: str = Field(alias="from")
    to: str
    moved: int
    rows: int
    staying: list[StayingOut]
    notes: list[str]
    run: str | None
    undo: bool
    dry_run: bool


class RetractIn(VerbIn):
    """Why a memory is withdrawn, and the correct statement."""

    successor: str = Field("", description="A text, or the id of a current memory; empty: none.")


class LogRowOut(Document):
    """A row of the audit log; `payload` is null if a purge deleted it."""

    chain: str = Field(
        description="The group's id, `instance` for rows about no group, `heads`, or `legacy` for rows written before "
        "each group had its own chain."
    )
    seq: int = Field(description="The row's number in its chain.")
    at: str
    operation: str
    memory: str | None
    subject: str
    actor: str
    via: str
    client: str
    run: str | None
    hash: str
    payload: dict[str, Any] | None


class LogPage(Document):
    """A page of the log."""

    items: list[LogRowOut]
    next: str | None


class TombstoneOut(Document):
    """A tombstone, which keeps a withdrawn text out of a group."""

    id: str
    memory: str
    group: str
    kind: str
    reason: str
    author: str
    created_at: str
    lifted_at: str | None
    lifted_by: str


class TombstonePage(Document):
    """A page of tombstones in force."""

    items: list[TombstoneOut]
    next: str | None


class LiftedOut(Document):
    """The tombstones that were lifted."""

    lifted: list[TombstoneOut]


class ProposalOut(Document):
    """A change that waits for a curator; `verb` and `arguments` say what it would do to `memory`."""

    id: str
    verb: str
    memory: str | None
    subject: str
    group: str
    arguments: dict[str, Any]
    reason: str
    why: str
    actor: str
    via: str
    client: str
    created_at: str
    expires_at: str
    status: str = Field(description="waiting, approved, rejected, stale or expired")
    closed_at: str | None
    closed_by: str


class ProposalPage(Document):
    """A page of waiting proposals."""

    items: list[ProposalOut]
    next: str | None


class DecidedOut(Document):
    """A decided proposal, and the consequences; `memory` is the current version, null if it is about none."""

    proposal: ProposalOut
    consequences: list[str]
    memory: str | None
    dry_run: bool


class RunOut(Document):
    """One execution of maintenance."""

    id: str
    kind: str
    status: str
    group: str | None
    actor: str
    dry_run: bool
    counts: dict[str, Any]
    started_at: str
    finished_at: str | None
    error: str


class RunPage(Document):
    """A page of maintenance's runs."""

    items: list[RunOut]
    next: str | None
