"""The audit log in the browser: read-only, filterable, with the state of the chain on top."""

import json
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from unfold.contrib.filters.admin import FieldTextFilter

from access.actor import Actor, Via
from access.admin.caller import actor_of
from access.admin.columns import column
from access.admin.day_range import DayRangeFilter
from access.admin.page import LociAdmin, LociChangeList
from access.audit import OWN, verify_chain
from access.audit.operations import Operation
from access.models import ApiToken, AuditEntry, AuditHead, Group
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by

OF_ONE = "token:"  # what the subject of a row about one token begins with
OPERATION_LABELS = {
    "store": "success",
    "refuse": "danger",
    "reject": "danger",
    "retract": "danger",
    "purge": "danger",
    "forget": "warning",
    "dispute": "warning",
}


def visible_log(actor: Actor, rows: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """Narrow the log to what was done in the groups that the actor may enter; a superuser sees all of it."""
    if actor.all_groups:
        return rows
    return rows.filter(group__in=list(Group.objects.filter(key__in=actor.roles).values_list("id", flat=True)))


class OperationFilter(admin.SimpleListFilter):
    """What was done; the words are known, so no table is read for them."""

    title = "operation"
    parameter_name = "operation"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """List the operations."""
        return [(operation.value, operation.value) for operation in Operation]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to one operation."""
        return queryset.filter(operation=self.value()) if self.value() else queryset


class ViaFilter(admin.SimpleListFilter):
    """The face it came through."""

    title = "via"
    parameter_name = "via"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """List the faces."""
        return [(via.value, via.value) for via in Via]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow to one face."""
        return queryset.filter(via=self.value()) if self.value() else queryset


class LogChangeList(LociChangeList):
    """A page of the log with the memories that its rows speak of, found in one query."""

    def get_results(self, request: HttpRequest) -> None:
        """Put beside each row the memory, where the caller may see it."""
        super().get_results(request)
        entries: list[Any] = list(self.result_list)
        ids = {entry.memory_id for entry in entries if entry.memory_id}
        rows = Memory.objects.filter(as_q(listed_by(actor_of(request), None)), id__in=ids)
        texts = dict(rows.values_list("id", "content"))
        names = _token_names(entries) if actor_of(request).all_groups else {}
        for entry in entries:
            entry.text = texts.get(entry.memory_id, "") or names.get(entry.subject, "")
        self.result_list = entries


def _token_names(entries: list[Any]) -> dict[str, str]:
    """Give what tokens that rows speak of are called, by the rows' subject."""
    ids = {entry.subject.removeprefix(OF_ONE) for entry in entries if entry.subject.startswith(OF_ONE)}
    rows = ApiToken.objects.filter(id__in=ids).values_list("id", "name", "user__username")
    return {f"{OF_ONE}{id_}": f"token “{name}” of {user}" for id_, name, user in rows}


@admin.register(AuditEntry)
class AuditEntryAdmin(LociAdmin):
    """What was done, newest first. Nobody changes it, here or elsewhere."""

    named_by = "key"
    list_name = "Audit log"
    list_display = ("at", "done", "actor", "via", "about", "seq")
    list_display_links = ("at", "done")
    list_filter = (OperationFilter, ViaFilter, ("actor", FieldTextFilter), ("at", DayRangeFilter))
    ordering = ("-key",)
    list_before_template = "admin/access/auditentry/chain.html"
    empty_hint = "Every write is logged here, with who did it and through what."

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """Give the rows the actor may see."""
        return visible_log(actor, rows)

    def get_urls(self) -> list[URLPattern]:
        """Add the check of the chain."""
        verify = self.admin_site.admin_view(self.verify_view)
        return [path("verify/", verify, name="access_auditentry_verify"), *super().get_urls()]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[LociChangeList]:
        """Show what the rows are about."""
        return LogChangeList

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list under the chain's head."""
        head = AuditHead.objects.filter(pk=OWN).first() if actor_of(request).all_groups else None
        extra = {"head": head, "verify_url": self.url("verify"), **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, extra)
        return answer

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show one row with what it says, where that was not purged."""
        entry: AuditEntry = self.get_or_404(request, object_id)
        said = getattr(entry, "payload_row", None)
        text = json.dumps(said.payload, indent=2, ensure_ascii=False, sort_keys=True) if said else ""
        memory = find_seen(actor_of(request), entry)
        context = {"title": f"Log row {entry.seq}", "entry": entry, "payload": text, "memory": memory}
        return self.render(request, "admin/access/auditentry/page.html", context)

    def verify_view(self, request: HttpRequest) -> HttpResponse:
        """Walk the whole chain and say whether it is whole."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not actor_of(request).all_groups:
            raise PermissionDenied(
                "You may not verify the log: that takes a superuser, since it has every group's rows."
            )
        report = verify_chain()
        if report.is_whole:
            purged = (
                f"; what {report.purged_payloads} of them said was purged" if report.purged_payloads else ""
            )
            messages.success(request, f"The chain is whole: {report.rows:,} rows{purged}.")
        else:
            messages.error(request, f"The chain is broken at row {report.broken_at}: {report.why}.")
        return HttpResponseRedirect(self.url("changelist"))

    @column("operation", ordering="operation", labels=OPERATION_LABELS)
    def done(self, entry: AuditEntry) -> str:
        """Give the operation in one word."""
        return entry.operation

    @column("about")
    def about(self, entry: AuditEntry) -> SafeString:
        """Give the start of the memory, or its id, or what else the row is about."""
        text = Truncator(getattr(entry, "text", "")).chars(80)
        return format_html(
            '<span class="loci-short">{}</span>', text or entry.memory_id or entry.subject or "—"
        )


def find_seen(actor: Actor, entry: AuditEntry) -> Memory | None:
    """Give the memory a row speaks of, where it is still there and the actor may see it."""
    if entry.memory_id is None:
        return None
    return Memory.objects.filter(as_q(listed_by(actor, None)), id=entry.memory_id).first()
