"""The list of maintenance runs, page by page."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from access.actor import Actor
from access.answers import Answer, ShownAs
from maintenance.cycle.undo import visible_runs
from maintenance.models import Run
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of


def list_runs(actor: Actor, *, cursor: str = "", limit: int = DEFAULT_LIMIT) -> Page[Run]:
    """A page of the runs that the actor may see, newest first.

    Raises:
        NotPermitted: the actor may not read.
        InvalidInput: the cursor or the limit is invalid.
    """
    return page_of(visible_runs(actor), cursor=cursor, limit=limit)


class RunOut(Answer):
    """One execution of maintenance."""

    id: UUID
    kind: str
    status: str
    group: Annotated[str | None, ShownAs("group.slug")]
    actor: str
    dry_run: bool
    counts: dict[str, Any]
    started_at: datetime
    finished_at: datetime | None
    error: str
