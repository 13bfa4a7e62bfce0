"""The list of maintenance runs, page by page."""

from typing import Any

from access.actor import READ, Actor
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


def run_json(run: Run) -> dict[str, Any]:
    """A run as JSON values."""
    return {
        "id": str(run.id),
        "kind": run.kind,
        "status": run.status,
        "group": run.group.slug if run.group else None,
        "actor": run.actor,
        "dry_run": run.dry_run,
        "counts": run.counts,
        "started_at": run.started_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "error": run.error,
    }
