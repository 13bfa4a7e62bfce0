"""Runs of maintenance in the browser; read-only."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from access.actor import Actor
from access.admin.columns import column
from access.admin.page import RoomAdmin
from maintenance.models import Run


@admin.register(Run)
class RunAdmin(RoomAdmin):
    """What maintenance did, in the groups one may enter; runs over all groups are for superusers."""

    list_name = "Maintenance runs"
    list_display = ("started_at", "kind", "standing", "group", "actor", "counted", "is_dry", "finished_at")
    list_display_links = ("started_at", "kind")
    list_select_related = ("group",)
    list_filter = ("status", "dry_run")
    ordering = ("-key",)
    empty_hint = "Maintenance has not run yet. Each run is listed here with what it changed."

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Give the runs the actor may see."""
        return rows if actor.all_groups else rows.filter(group__in=actor.roles)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show one run with its steps."""
        run: Run = self.get_or_404(request, object_id)
        steps = [json.dumps(step, ensure_ascii=False, default=str) for step in run.steps]
        context = {"title": f"Run: {run.kind}", "run": run, "steps": steps, "changes": run.changes.count()}
        return self.render(request, "admin/maintenance/run/page.html", context)

    @column(
        "status",
        ordering="status",
        labels={"done": "success", "failed": "danger", "stopped": "warning", "running": "info"},
    )
    def standing(self, run: Run) -> str:
        """Give the status in one word."""
        return run.status

    @column("counts")
    def counted(self, run: Run) -> str:
        """Give what it counted, in one line."""
        return ", ".join(f"{name} {count}" for name, count in run.counts.items()) or "—"

    @column("dry run", ordering="dry_run", is_flag=True)
    def is_dry(self, run: Run) -> bool:
        """Say whether it only looked."""
        return run.dry_run
