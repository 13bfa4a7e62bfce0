"""The list of maintenance runs, page by page."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from access.actor import READ, Actor
from access.answers import Answer, ShownAs
from access.errors import NotPermitted
from maintenance.models import Run
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of


def list_runs(actor: Actor, *, cursor: str = "", limit: int = DEFAULT_LIMIT) -> Page[Run]:
    """A page of runs, newest first: all of them for a superuser, else those of the actor's groups.

    Raises:
        NotPermitted: the actor may not read.
        InvalidInput: the cursor or the limit is invalid.
    """
    if not actor.may(READ):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")
    rows = Run.objects.select_related("group")
    if not actor.all_groups:
        rows = rows.filter(group__in=list(actor.roles))
    return page_of(rows, cursor=cursor, limit=limit)


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
