"""The list of maintenance runs, page by page."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet

from access.actor import READ, Actor
from access.answers import Answer, ShownAs
from access.errors import NotPermitted
from maintenance.models import Run
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of


def visible_runs(actor: Actor) -> QuerySet[Run]:
    """All runs for a superuser, else those of the actor's groups. Raises NotPermitted if the actor may not read."""
    if not actor.may(READ):
        raise NotPermitted("You may not read here.", hint="Use a token with the scope 'read'.")
    rows = Run.objects.select_related("group")
    return rows if actor.all_groups else rows.filter(group__in=list(actor.roles))


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
