"""What is sent and answered where somebody curates: decisions about two memories, the log, tombstones and runs."""

from typing import Any

from pydantic import Field

from loci_site.api.schemas.requests import VerbIn
from loci_site.api.schemas.responses import Document


class MergeIn(VerbIn):
    """Into which memory another one goes; `content` is the survivor's new text, empty where it keeps its own."""

    into: str = Field(description="Id of the memory that stays.")
    content: str = ""


class SupersedeIn(VerbIn):
    """Which memory takes another one's place."""

    by: str = Field(description="Id of a memory that counts.")


class RetractIn(VerbIn):
    """Why a memory is withdrawn, and what is right instead."""

    successor: str = Field("", description="A text, or the id of a memory that counts; empty: nothing.")


class LogRowOut(Document):
    """A row of the audit log; `payload` is null where a purge deleted it."""

    seq: int
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
    """What bars a withdrawn text from a group."""

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
    """A page of tombstones that stand."""

    items: list[TombstoneOut]
    next: str | None


class LiftedOut(Document):
    """The tombstones that were lifted."""

    lifted: list[TombstoneOut]


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
