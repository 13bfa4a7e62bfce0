"""Admin pages of scheduled jobs (pause, resume, run), backups and the doctor."""

import shlex
from collections import Counter
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from access.admin.buttons import Button, ButtonAdmin
from access.admin.caller import actor_of
from access.connect import command_line
from maintenance.backups import list_backups, make_backup
from maintenance.doctor import CheckStatus, examine, repair
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

# Findings that need attention come first.
_URGENCY = (CheckStatus.WRONG, CheckStatus.NOTICE, CheckStatus.OK, CheckStatus.SKIPPED)


@admin.register(JobLock)
class ScheduleAdmin(ButtonAdmin):
    """Scheduled jobs, backups and the doctor, for admins of all groups."""

    list_name = gettext_lazy("Schedule")
    named_by = "name"
    own_pages = {
        "backups": ("backups/", "show_backups"),
        "doctor": ("doctor/", "show_doctor"),
        "press": ("<str:name>/<str:action>-job/", "press"),
    }
    buttons: ClassVar[Any] = {
        "pause": Button(pause_job, "pause", gettext_noop("Pause"), gettext_noop("The job '{}' is paused until it is resumed.")),
        "resume": Button(resume_job, "play_arrow", gettext_noop("Resume"), gettext_noop("The job '{}' is resumed.")),
        "run": Button(request_run, "bolt", gettext_noop("Run now"), gettext_noop("A worker starts the job '{}' within a minute.")),
    }  # fmt: skip

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """List all jobs with their buttons."""
        jobs = list_schedule(actor_of(request))
        context = {
            "title": gettext("Schedule"),
            "rows": [self._row(job) for job in jobs],
            "has_run": any(job.last_run or job.failures for job in jobs),
        }
        return self.render(request, "admin/maintenance/joblock/schedule.html", context)

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
        counts = Counter(one.verdict for one in found.findings)
        context = {
            "title": gettext("Doctor"),
            "found": found,
            "findings": sorted(found.findings, key=lambda one: _URGENCY.index(one.verdict)),
            "counts": [(each.value, counts[each]) for each in _URGENCY if each in counts],
            "is_whole": is_whole or request.method == "POST",
            "has_repaired": request.method == "POST",
        }
        return self.render(request, "admin/maintenance/joblock/doctor.html", context)

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
            "actions": self.drawn(job.name, _job_actions(job)),
        }


def _job_actions(job: JobStatus) -> list[str]:
    """Names of the buttons that apply in the job's state."""
    if job.name == HEARTBEAT:
        return []
    if job.state == "paused":
        return ["resume"]
    return ["pause"] if job.state in ("running", "asked") else ["run", "pause"]
