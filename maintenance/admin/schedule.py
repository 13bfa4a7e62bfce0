"""Admin pages of scheduled jobs (pause, resume, run), backups and the doctor."""

import shlex
from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.page import LociAdmin
from access.connect import command_line
from access.errors import LociError, NotFound
from maintenance.backups import list_backups, make_backup
from maintenance.doctor import CheckStatus, Diagnosis, examine, repair
from maintenance.jobs import HEARTBEAT
from maintenance.models import JobLock
from maintenance.schedule import JobStatus, list_schedule, pause_job, request_run, resume_job
from maintenance.schedule.wording import (
    JOB_DESCRIPTIONS,
    format_duration,
    format_interval,
    format_next_run,
    format_state,
)

# For each button: the function, icon, label and success message.
ACTIONS: dict[str, tuple[Callable[[Actor, str], JobStatus], str, str, str]] = {
    "pause": (
        pause_job,
        "pause",
        gettext_noop("Pause"),
        gettext_noop("The job '{}' is paused until it is resumed."),
    ),
    "resume": (resume_job, "play_arrow", gettext_noop("Resume"), gettext_noop("The job '{}' is resumed.")),
    "run": (
        request_run,
        "bolt",
        gettext_noop("Run now"),
        gettext_noop("A worker starts the job '{}' within a minute."),
    ),
}
# Findings that need attention come first.
_URGENCY = (CheckStatus.WRONG, CheckStatus.NOTICE, CheckStatus.OK, CheckStatus.SKIPPED)


@admin.register(JobLock)
class ScheduleAdmin(LociAdmin):
    """Scheduled jobs, backups and the doctor, for admins of all groups."""

    list_name = gettext_lazy("Schedule")
    named_by = "name"
    own_pages = {
        "backups": ("backups/", "show_backups"),
        "doctor": ("doctor/", "show_doctor"),
        "job": ("<str:name>/<str:action>-job/", "change_job"),
    }

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """No rows: the page shows jobs, not their locks."""
        return rows.none()

    def has_module_permission(self, request: HttpRequest) -> bool:
        """True for admins of all groups."""
        actor = actor_of(request)
        return actor.is_admin_of_all

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """List all jobs with their buttons."""
        jobs = list_schedule(actor_of(request))
        context = {
            "title": gettext("Schedule"),
            **self._place(),
            "rows": [self._row(job) for job in jobs],
            "has_run": any(job.last_run or job.failures for job in jobs),
        }
        return self.render(request, "admin/maintenance/joblock/schedule.html", context)

    def change_job(self, request: HttpRequest, name: str, action: str) -> HttpResponse:
        """Apply a button's action to a job, and show the schedule again."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if action not in ACTIONS:
            raise NotFound(
                gettext("Jobs have no action '{action}'.").format(action=action),
                hint=gettext("Use one of {actions}.").format(actions=", ".join(ACTIONS)),
            )
        change, _, _, message = ACTIONS[action]
        try:
            change(actor_of(request), name)
            messages.success(request, gettext(message).format(name))
        except LociError as refusal:
            if refusal.status in (403, 404):
                raise
            messages.error(request, str(refusal))
        return HttpResponseRedirect(self.url("changelist"))

    def show_backups(self, request: HttpRequest) -> HttpResponse:
        """List the backups; on POST, make one."""
        actor = actor_of(request)
        if request.method == "POST":
            made = make_backup(actor)
            messages.success(request, gettext("Backed up and verified: {name}.").format(name=made.path.name))
            for warning in filter(None, [made.warning]):
                messages.warning(request, warning)
            return HttpResponseRedirect(request.path)
        backups = list_backups(actor)
        newest = backups[0].name if backups else "NAME"
        context = {
            "title": gettext("Backups"),
            **self._place(),
            "backups": backups,
            "looking": command_line(f"restore {newest} --dry-run"),
            "restoring": command_line(f"restore {newest}"),
            "copying": f"scp HOST:{shlex.quote(str(backups[0].path))} ." if backups else "",
        }
        return self.render(request, "admin/maintenance/joblock/backups.html", context)

    def show_doctor(self, request: HttpRequest) -> HttpResponse:
        """Findings of a quick or a full examination; on POST, repair first."""
        actor, is_whole = actor_of(request), "whole" in request.GET
        found = repair(actor) if request.method == "POST" else examine(actor, quick=not is_whole)
        context = {
            "title": gettext("Doctor"),
            **self._place(),
            "found": found,
            "findings": sorted(found.findings, key=lambda one: _URGENCY.index(one.verdict)),
            "counts": count_verdicts(found),
            "is_whole": is_whole or request.method == "POST",
            "has_repaired": request.method == "POST",
        }
        return self.render(request, "admin/maintenance/joblock/doctor.html", context)

    def _place(self) -> dict[str, str]:
        """The page heading's list name and address: these pages belong to maintenance, not to the schedule."""
        return {"list_name": gettext("Maintenance"), "list_url": reverse("admin:maintenance_run_changelist")}

    def _row(self, job: JobStatus) -> dict[str, Any]:
        state = format_state(job).removesuffix(f": {job.error}")
        return {
            "job": job,
            "word": job.state,
            "every": gettext("every {job}").format(job=format_interval(job))
            if job.every_s
            else gettext("not scheduled"),
            "meaning": gettext(JOB_DESCRIPTIONS[job.name]) if job.name in JOB_DESCRIPTIONS else "",
            "says": "" if state == job.state else state,
            "took": format_duration(job.took_s),
            "next": format_next_run(job),
            "actions": [self._action(job, name) for name in _job_actions(job)],
        }

    def _action(self, job: JobStatus, name: str) -> dict[str, str]:
        _, icon, label, _ = ACTIONS[name]
        return {"url": self.url("job", job.name, name), "icon": icon, "label": gettext(label)}


def _job_actions(job: JobStatus) -> list[str]:
    """Names of the buttons that apply in the job's state."""
    if job.name == HEARTBEAT:
        return []
    if job.state == "paused":
        return ["resume"]
    return ["pause"] if job.state in ("running", "asked") else ["run", "pause"]


def count_verdicts(diagnosis: Diagnosis) -> list[tuple[str, int]]:
    """Numbers of checks by outcome, the most urgent first; outcomes without a check are left out."""
    counts = [
        (verdict.value, sum(one.verdict is verdict for one in diagnosis.findings)) for verdict in _URGENCY
    ]
    return [(word, count) for word, count in counts if count]
