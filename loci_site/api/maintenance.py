"""Routes for maintenance runs: start, preview, read, undo."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from access.actor import CURATE
from access.answers import Answer, Json
from access.groups import find_group
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas.answers import page_of, responses
from loci_site.api.schemas.requests import PageQuery, RunIn, UndoIn
from maintenance.cycle import RunPlan
from maintenance.cycle.job import start_alone
from maintenance.cycle.undo import UndoResult, find_run, preview_undo, undo_run
from maintenance.models import Run
from maintenance.runs.preview import PreviewedChange, RunOut, list_runs, preview_cycle, read_changes

WAIT_S = 20.0  # longest wait of a request; after that, a worker continues the run
MAX_CHANGES = 500  # in a response, apart from the texts

router = Router(tags=["maintenance"])


class RunPageOut(Answer):
    """A run with its steps and changes: all memories that it creates, then the first others; `total` counts all."""

    run: RunOut
    steps: tuple[Json, ...]
    changes: tuple[PreviewedChange, ...]
    total: int


@router.get("/maintenance/runs", response=responses(page_of(RunOut)))
def list_maintenance_runs(request: HttpRequest, filters: Query[PageQuery]) -> HttpResponse:
    """List maintenance runs, newest first: all for a superuser, else those of the caller's groups."""
    return answer(RunOut.page(list_runs(actor_of(request), **dict(filters))))


@router.post("/maintenance/runs", response=responses(RunPageOut))
def run_maintenance(request: HttpRequest, body: RunIn) -> HttpResponse:
    """Run the cycle or a cleanup; `dry_run` shows exactly what it would do.

    If the run takes longer than 20 s, the answer has the status `running` and a worker continues it.
    """
    actor = actor_of(request)
    group = find_group(actor, body.group, right=CURATE) if body.group else None
    plan = RunPlan(kind=body.kind, group=group, max_share=body.max_share)
    if not body.dry_run:
        return _answer_run(start_alone(actor, plan, seconds=WAIT_S))
    return answer(RunPageOut.json(preview_cycle(actor, plan, limit=MAX_CHANGES)))


@router.get("/maintenance/runs/{run_id}", response=responses(RunPageOut))
def read_run(request: HttpRequest, run_id: str) -> HttpResponse:
    """Read a run with its steps and its first changes."""
    return _answer_run(find_run(actor_of(request), run_id))


@router.post("/maintenance/runs/{run_id}/undo", response=responses(UndoResult))
def undo_maintenance_run(request: HttpRequest, run_id: str, body: UndoIn) -> HttpResponse:
    """Undo a run: restore every field that has not changed since, and list the others."""
    undo = preview_undo if body.dry_run else undo_run
    done = undo(actor_of(request), run_id, with_later=body.with_later, force=body.force)
    return answer(UndoResult.json(done))


def _answer_run(run: Run) -> HttpResponse:
    return answer(RunPageOut.json(read_changes(run, limit=MAX_CHANGES)))
