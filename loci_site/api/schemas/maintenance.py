"""What is sent and answered about runs of maintenance, for the OpenAPI document."""

from typing import Any, Literal

from pydantic import Field

from loci_site.api.schemas.curation import RunOut
from loci_site.api.schemas.requests import Body
from loci_site.api.schemas.responses import Document


class RunIn(Body):
    """A run to be done now, or with `dry_run` to be tried on a copy of the store."""

    kind: Literal["cycle", "cleanup"] = "cycle"
    group: str | None = Field(None, description="Only this group; all groups where it is left out.")
    dry_run: bool = False
    max_share: float | None = Field(
        None, ge=0, le=1, description="Share of a group's live memories that may be retired."
    )


class UndoIn(Body):
    """How a run is to be taken back."""

    dry_run: bool = False
    with_later: bool = Field(False, description="Take back later runs over the same memories first.")
    force: bool = Field(False, description="Set back what was changed since, too.")


class ChangeOut(Document):
    """A row that a run changed: `fields` is name to [before, after]."""

    step: str
    table: str
    id: str
    text: str
    made: bool
    fields: dict[str, list[Any]]


class RunPageOut(Document):
    """A run with its steps and the first of its changes; `total` counts them all."""

    run: RunOut
    steps: list[dict[str, Any]]
    changes: list[ChangeOut]
    total: int


class KeptOut(Document):
    """A row that was left as it is."""

    table: str
    row: int
    id: str
    why: str


class UndoneOut(Document):
    """What was, or with a dry run would be, set back."""

    run: str
    restored: int
    deleted: int
    kept: list[KeptOut]
    earlier: list[str]
    dry_run: bool
