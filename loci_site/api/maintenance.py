"""Runs of maintenance: doing one, trying one, looking at one, taking one back."""

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

WAIT_S = 20.0  # a request waits no longer; a worker goes on with the run
SHOWN = 500  # changes in an answer

router = Router(tags=["maintenance"])


@router.get("/maintenance/runs", response={**out.ERRORS, 200: RunPage})
def list_maintenance_runs(request: HttpRequest, wanted: Query[PageQuery]) -> HttpResponse:
    """List maintenance's runs, newest first: all for a superuser, else those of one's groups."""
    page = list_runs(actor_of(request), cursor=wanted.cursor, limit=wanted.limit)
    return answer({"items": [run_json(row) for row in page.rows], "next": page.next})


@router.post("/maintenance/runs", response={**out.ERRORS, 200: maintenance.RunPageOut})
def run_maintenance(request: HttpRequest, body: maintenance.RunIn) -> HttpResponse:
    """Run the cycle or a cleanup, or say with `dry_run` exactly what it would do.

    A run that takes longer than a request may is answered as `running`; a worker goes on with it.
    """
    actor = actor_of(request)
    group = find_group(actor, body.group, right=CURATE) if body.group else None
    plan = RunPlan(kind=body.kind, group=group, max_share=body.max_share)
    if not body.dry_run:
        return answer(_run_page(start_alone(actor, plan, seconds=WAIT_S)))
    preview = preview_cycle(actor, plan)
    return answer(
        {
            "run": preview.run,
            "steps": preview.steps,
            "changes": [asdict(change) for change in preview.changes[:SHOWN]],
            "total": preview.total,
        }
    )


@router.get("/maintenance/runs/{run_id}", response={**out.ERRORS, 200: maintenance.RunPageOut})
def read_run(request: HttpRequest, run_id: str) -> HttpResponse:
    """Read a run with its steps and the first of its changes."""
    return answer(_run_page(find_run(actor_of(request), run_id)))


@router.post("/maintenance/runs/{run_id}/undo", response={**out.ERRORS, 200: maintenance.UndoneOut})
def undo_maintenance_run(request: HttpRequest, run_id: str, body: maintenance.UndoIn) -> HttpResponse:
    """Take a run back: each field gets its value from before, where nobody changed it since; the rest is listed."""
    work = preview_undo if body.dry_run else undo_run
    done = work(actor_of(request), run_id, with_later=body.with_later, force=body.force)
    return answer({**asdict(done), "run": str(done.run), "earlier": [str(id_) for id_ in done.earlier]})


def _run_page(run: Run) -> dict[str, Any]:
    changes, total = read_changes(run, limit=SHOWN)
    return {
        "run": run_json(run),
        "steps": run.steps,
        "changes": [asdict(change) for change in changes],
        "total": total,
    }
