"""Routes for maintenance runs: start, preview, read, undo."""

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from access.actor import CURATE
from access.groups import find_group
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import maintenance
from loci_site.api.schemas import responses as out
from loci_site.api.schemas.curation import RunPage
from loci_site.api.schemas.requests import PageQuery
from maintenance.cycle import RunPlan
from maintenance.cycle.job import start_alone
from maintenance.cycle.undo import find_run, preview_undo, undo_run
from maintenance.models import Run
from maintenance.runs.listing import list_runs, run_json
from maintenance.runs.preview import preview_cycle, read_changes

WAIT_S = 20.0  # longest wait of a request; after that, a worker continues the run
MAX_CHANGES = 500  # in a response

router = Router(tags=["maintenance"])


@router.get("/maintenance/runs", response={**out.ERRORS, 200: RunPage})
def list_maintenance_runs(request: HttpRequest, filters: Query[PageQuery]) -> HttpResponse:
    """List maintenance runs, newest first: all for a superuser, else those of the caller's groups."""
    page = list_runs(actor_of(request), cursor=filters.cursor, limit=filters.limit)
    return answer({"items": [run_json(row) for row in page.rows], "next": page.next})


@router.post("/maintenance/runs", response={**out.ERRORS, 200: maintenance.RunPageOut})
def run_maintenance(request: HttpRequest, body: maintenance.RunIn) -> HttpResponse:
    """Run the cycle or a cleanup; `dry_run` shows exactly what it would do.

    If the run takes longer than 20 s, the answer has the status `running` and a worker continues it.
    """
    actor = actor_of(request)
    group = find_group(actor, body.group, right=CURATE) if body.group else None
    plan = RunPlan(kind=body.kind, group=group, max_share=body.max_share)
    if not body.dry_run:
        return answer(render_run(start_alone(actor, plan, seconds=WAIT_S)))
    preview = preview_cycle(actor, plan)
    return answer(
        {
            "run": preview.run,
            "steps": preview.steps,
            "changes": [asdict(change) for change in preview.changes[:MAX_CHANGES]],
            "total": preview.total,
        }
    )


@router.get("/maintenance/runs/{run_id}", response={**out.ERRORS, 200: maintenance.RunPageOut})
def read_run(request: HttpRequest, run_id: str) -> HttpResponse:
    """Read a run with its steps and its first changes."""
    return answer(render_run(find_run(actor_of(request), run_id)))


@router.post("/maintenance/runs/{run_id}/undo", response={**out.ERRORS, 200: maintenance.UndoneOut})
def undo_maintenance_run(request: HttpRequest, run_id: str, body: maintenance.UndoIn) -> HttpResponse:
    """Undo a run: restore every field that nobody changed since, and list the others."""
    undo = preview_undo if body.dry_run else undo_run
    done = undo(actor_of(request), run_id, with_later=body.with_later, force=body.force)
    ids = {name: [str(id_) for id_ in getattr(done, name)] for name in ("earlier", "versions")}
    return answer({**asdict(done), "run": str(done.run), **ids})


def render_run(run: Run) -> dict[str, Any]:
    """A run with its steps and its first changes as JSON."""
    changes, total = read_changes(run, limit=MAX_CHANGES)
    return {
        "run": run_json(run),
        "steps": run.steps,
        "changes": [asdict(change) for change in changes],
        "total": total,
    }
