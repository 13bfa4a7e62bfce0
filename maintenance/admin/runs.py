"""Admin pages of maintenance runs: their changes, undo, and starting a run after a preview."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    QueryDict,
)
from django.shortcuts import get_object_or_404
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminSelectWidget

from access.actor import CURATE, Actor
from access.admin.caller import actor_of
from access.admin.columns import column, field_column, in_words, join_list
from access.admin.page import LociAdmin
from access.audit.operations import BATCHES
from access.audit_search import find_visible_row
from access.errors import LociError
from access.groups import entered_groups
from maintenance.cycle import RunPlan
from maintenance.cycle.job import start_alone
from maintenance.cycle.recorder import within
from maintenance.cycle.undo import ENDED, find_later_runs, preview_undo, undo_run
from maintenance.models import Run, RunStatus
from maintenance.runs.preview import RunPreview, preview_cycle, read_changes
from maintenance.runs.wording import format_changes, format_counts, format_steps
from maintenance.schedule import job_statuses

_CHANGES_SHOWN = 25
_KEPT_SHOWN = 50
# How long a browser waits for a run; a worker continues after that.
_REQUEST_S = 20.0


_KINDS = (
    (
        "cycle",
        gettext_lazy(
            "The whole cycle: compact, decay, promote, expire, clean up, find duplicates and conflicts"
        ),
    ),
    ("cleanup", gettext_lazy("Cleanup only")),
)


class _CycleForm(forms.Form):
    """Kind of run, its group, and the share of a group's memories that it may retire."""

    field_order = ("kind", "group", "max_percent")

    kind = forms.ChoiceField(choices=_KINDS, label=gettext_lazy("What"), widget=UnfoldAdminSelectWidget)
    max_percent = forms.IntegerField(
        label=gettext_lazy("At most"),
        required=False,
        min_value=1,
        max_value=100,
        widget=UnfoldAdminDecimalFieldWidget(attrs={"placeholder": gettext_lazy("default")}),
        help_text=gettext_lazy(
            "Percent of a group's memories that the run may retire; it stops beyond that. "
            "Leave empty to use the setting maintenance.max_share."
        ),
    )

    def __init__(self, data: Any = None, *, actor: Actor) -> None:
        super().__init__(data)
        self._groups = {str(group.id): group for group in entered_groups(actor, CURATE)}
        every = [("", gettext("Every group"))] if actor.all_groups and actor.may(CURATE) else []
        named = [(id_, group.title or group.slug) for id_, group in self._groups.items()]
        self.fields["group"] = forms.ChoiceField(
            label=gettext("Where"), required=not every, choices=every + named, widget=UnfoldAdminSelectWidget
        )
        self.order_fields(self.field_order)
        self.has_choice = bool(every + named)  # whether the actor may run anything

    def plan(self) -> RunPlan:
        """The plan of the run, from the cleaned data."""
        values = self.cleaned_data
        percent = values["max_percent"]
        return RunPlan(
            kind=values["kind"],
            group=self._groups.get(values["group"]),
            max_share=None if percent is None else percent / 100,
        )


@admin.register(Run)
class RunAdmin(LociAdmin):
    """Maintenance runs in the user's groups; runs over all groups are for superusers."""

    list_name = gettext_lazy("Maintenance runs")
    list_display = ("did", "kind", "standing", "group", "actor", "started_at")
    list_select_related = ("group",)
    list_filter = ("status", "kind")
    ordering = ("-key",)
    empty_hint = gettext_lazy("Maintenance has not run yet. Each run is listed here with what it changed.")
    change_list_template = "admin/maintenance/run/list.html"
    own_pages = {
        "begin": ("begin/", "begin"),
        "batch": ("batch/<str:name>/", "show_batch"),
        "undo": ("<str:object_id>/undo/", "undo"),
    }

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Runs that the actor may see."""
        return rows if actor.all_groups else rows.filter(group__in=actor.roles)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """List the runs, with the next one, and a link to a new one for users who may start one."""
        form = _CycleForm(actor=actor_of(request))
        context = {
            "begin_url": self.url("begin") if form.has_choice else "",
            "next_run": next(job.next_run for job in job_statuses() if job.name == "cycle"),
        }
        shown: HttpResponse = super().changelist_view(request, context | (extra_context or {}))
        return shown

    def show_row(self, request: HttpRequest, run: Run) -> HttpResponse:
        """One run with its steps and, page by page, its changes."""
        context = {
            "title": gettext("Run: {kind}").format(kind=in_words(run.kind)),
            "run": run,
            "counts": format_counts(run.counts),
            "steps": format_steps(run.steps),
            **_page_of_changes(request, run),
            "undo_url": self.url("undo", run.id) if may_undo(actor_of(request), run) else "",
        }
        return self.render(request, "admin/maintenance/run/page.html", context)

    def show_batch(self, request: HttpRequest, name: str) -> HttpResponse:
        """What a step did in a group, for all who may see its log row; the run may be about other groups too."""
        entry = find_visible_row(actor_of(request), name)
        if entry is None or entry.operation not in BATCHES.values():
            raise Http404
        run = get_object_or_404(Run, id=entry.run)
        counts = {name: count for name, count in entry.payload.items() if isinstance(count, int)}
        is_seen = self.visible(Run.objects.filter(pk=run.pk), actor_of(request)).exists()
        context = {
            "title": gettext("Run: {kind}").format(kind=in_words(entry.operation)),
            "entry": entry,
            "run": run,
            "counts": format_counts(counts),
            **_page_of_changes(request, run, among=within(entry.payload)),
            "run_url": self.url("change", run.id) if is_seen else "",
        }
        return self.render(request, "admin/maintenance/run/batch.html", context)

    def undo(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Preview an undo on a copy of the store, then undo the run."""
        run: Run = self.get_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseRedirect(self.url("change", run.id))
        with_later = "with_later" in request.POST
        if request.POST.get("do") == "undo":
            return self._undone(request, run, with_later=with_later)
        later = find_later_runs(run)
        context: dict[str, Any] = {
            "title": gettext("Undo a run"),
            "run": run,
            "with_later": with_later,
            "later": later,
        }
        if with_later or not later:
            would = preview_undo(actor_of(request), run.id, with_later=with_later)
            context |= {"would": would, "kept": would.kept[:_KEPT_SHOWN], "unseen": would.kept[_KEPT_SHOWN:]}
        return self.render(request, "admin/maintenance/run/undo.html", context)

    def begin(self, request: HttpRequest) -> HttpResponse:
        """Choose a run, preview it, and start it."""
        actor = actor_of(request)
        form = _CycleForm(request.POST or None, actor=actor)
        context: dict[str, Any] = {
            "title": gettext("Run the cycle"),
            "form": form,
            "back": self.url("changelist"),
        }
        if form.is_valid():
            try:
                if request.POST.get("do") == "run":
                    return self._begun(request, actor, form)
                page, offset = _page_wanted(request.POST)
                preview = preview_cycle(actor, form.plan(), limit=_CHANGES_SHOWN, offset=offset)
                context |= {
                    "would": preview.run,
                    "counts": format_counts(preview.run["counts"]),
                    "steps": format_steps(preview.steps),
                    **_changes_shown(preview, page),
                }
            except LociError as refusal:
                if refusal.status in (403, 404):
                    raise
                form.add_error(None, str(refusal))
        return self.render(request, "admin/maintenance/run/begin.html", context)

    def _begun(self, request: HttpRequest, actor: Actor, form: _CycleForm) -> HttpResponse:
        run = start_alone(actor, form.plan(), seconds=_REQUEST_S)
        counts = format_counts(run.counts) or gettext("nothing to do")
        if run.status == RunStatus.RUNNING:
            line = gettext("Started: {counts} so far. A worker continues within a minute.")
            messages.info(request, line.format(counts=counts))
        elif run.status == RunStatus.DONE:
            messages.success(request, gettext("Done: {counts}.").format(counts=counts))
        else:
            line = gettext("{label}: {text}")
            messages.warning(request, line.format(label=in_words(run.status.capitalize()), text=run.error))
        return HttpResponseRedirect(self.url("change", run.id))

    def _undone(self, request: HttpRequest, run: Run, *, with_later: bool) -> HttpResponse:
        done = undo_run(actor_of(request), run.id, with_later=with_later)
        versions = join_list(done.versions)
        line = gettext(
            "Run undone: {restored} rows restored, {deleted} removed.{edited}{kept}{later}"
        ).format(
            restored=done.restored,
            deleted=done.deleted,
            edited=versions
            and gettext(" Edited since and restored too: {versions}.").format(versions=versions),
            kept=gettext(" {kept} rows were left as they are.").format(kept=len(done.kept))
            if done.kept
            else "",
            later=gettext(" {earlier} later runs were undone first.").format(earlier=len(done.earlier))
            if done.earlier
            else "",
        )
        messages.success(request, line)
        return HttpResponseRedirect(self.url("change", run.id))

    standing = field_column(
        gettext_lazy("status"),
        "status",
        labels={"done": "success", "failed": "danger", "stopped": "warning", "running": "info"},
    )

    @column(gettext_lazy("what it did"))
    def did(self, run: Run) -> str:
        """What the run did, in words."""
        return capfirst(format_counts(run.counts) or run.error or gettext("nothing to do"))


def _page_of_changes(request: HttpRequest, run: Run, **narrowed: Q) -> dict[str, Any]:
    """The context of changes_page.html: the page of a run's changes that the request asks for."""
    page, offset = _page_wanted(request.GET)
    return _changes_shown(read_changes(run, limit=_CHANGES_SHOWN, offset=offset, **narrowed), page)


def _page_wanted(sent: QueryDict) -> tuple[int, int]:
    """The number of the page of changes, and its offset."""
    number = sent.get("page", "1")
    is_number = number.isascii() and number.isdigit() and len(number) < 9
    page = max(1, int(number)) if is_number else 1
    return page, (page - 1) * _CHANGES_SHOWN


def _changes_shown(found: RunPreview, page: int) -> dict[str, Any]:
    """The context of a page of changes. The texts are on the first one, whatever their number."""
    end = found.texts + page * _CHANGES_SHOWN
    first = end - _CHANGES_SHOWN + 1 if page > 1 else 1
    return {
        "groups": format_changes(found.changes),
        "total": found.total,
        "first": first,
        "last": first + len(found.changes) - 1,
        "earlier": page - 1 if page > 1 else None,
        "later": page + 1 if end < found.total else None,
    }


def may_undo(actor: Actor, run: Run) -> bool:
    """True if undo_run() would try; it checks everything again."""
    allowed = actor.may(CURATE, run.group_id) if run.group_id else actor.all_groups and actor.may(CURATE)
    return allowed and run.status in ENDED and not run.dry_run and "expired" not in run.cursor
