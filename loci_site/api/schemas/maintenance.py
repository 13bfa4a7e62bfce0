"""Schemas for maintenance runs."""

from typing import Any, Literal

from pydantic import Field

from loci_site.api.schemas.curation import RunOut
from loci_site.api.schemas.document import Document
from loci_site.api.schemas.requests import Body


class RunIn(Body):
    """A run to start now, or with `dry_run` to try on a copy of the store."""

    kind: Literal["cycle", "cleanup"] = "cycle"
    group: str | None = Field(None, description="Only this group; default: all groups.")
    dry_run: bool = False
    max_share: float | None = Field(
        None, ge=0, le=1, description="Share of a group's live memories that may be retired."
    )


class UndoIn(Body):
    """Options for the undo of a run."""

    dry_run: bool = False
    with_later: bool = Field(False, description="First undo later runs that touched the same memories.")
    force: bool = Field(False, description="Also restore fields that have changed since the run.")


class ChangeOut(Document):
    """A row that a run changed; `fields` maps each name to [before, after]."""

    step: str
    table: str
    id: str
    text: str
    made: bool
    fields: dict[str, list[Any]]


class RunPageOut(Document):
    """A run with its steps and its first changes; `total` counts all changes."""

    run: RunOut
    steps: list[dict[str, Any]]
    changes: list[ChangeOut]
    total: int


class KeptOut(Document):
    """A row that the undo left unchanged, with the reason."""

    table: str
    row: int
    id: str
    why: str


class UndoneOut(Document):
    """What the undo restored, or would restore with dry_run."""

    run: str
    restored: int
    deleted: int
    kept: list[KeptOut]
    earlier: list[str]
    versions: list[str] = Field(
        description="Versions written since by edits of the run's memories: set back as well."
    )
    dry_run: bool
