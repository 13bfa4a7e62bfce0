"""The audit log in the admin: read-only, with filters and the state of the hash chain on top."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Model, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext
from unfold.contrib.filters.admin import FieldTextFilter

from access.actor import Actor, Via
from access.admin.caller import actor_of
from access.admin.columns import column, field_column, in_words, interface_name, shorten
from access.admin.day_range import DayRangeFilter
from access.admin.page import LociAdmin
from access.audit import OWN, chain_labels
from access.audit.operations import BATCHES, Operation
from access.audit.retention import link_heads
from access.audit.verify import verify_log
from access.audit_search import find_visible_row, visible_log, without_links
from access.models import ApiToken, AuditEntry, AuditHead
from memories.admin.filters import ColumnFilter
from memories.browse.history import SHOWN_FIELDS, format_value, read_changes
from memories.lifecycle.verbs import VERBS
from memories.models import Memory
from memories.queries.visibility import as_q, listed_by

_SUBJECT_PREFIX = "token:"  # of the subject of a row about one token
_OPERATION_LABELS: dict[str, str] = {Operation.STORE: "success", Operation.REFUSE: "danger"}
_OPERATION_LABELS |= {verb.operation: verb.log_color for verb in VERBS.values() if verb.log_color}


class _OperationFilter(ColumnFilter):
    """Filter by operation; the vocabulary is fixed, so no table is read for the choices."""

    title = "operation"
    parameter_name = "operation"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(operation.value, in_words(operation.value)) for operation in Operation]


class ViaFilter(ColumnFilter):
    """Filter by the interface that was used."""

    title = "via"
    parameter_name = "via"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(via.value, interface_name(via.value)) for via in Via]


def _token_names(entries: Iterable[Any]) -> dict[str, str]:
    """The names of the tokens that the rows are about, by the rows' subject."""
    subjects = {entry.subject for entry in entries if entry.subject.startswith(_SUBJECT_PREFIX)}
    tokens = ApiToken.objects.filter(id__in={each.removeprefix(_SUBJECT_PREFIX) for each in subjects})
    line = gettext("token “{name}” of {user}")
    rows = tokens.values_list("id", "name", "user__username")
    return {f"{_SUBJECT_PREFIX}{id_}": line.format(name=name, user=user) for id_, name, user in rows}


@admin.register(AuditEntry)
class AuditEntryAdmin(LociAdmin):
    """The audit log, newest first. It cannot be changed, here or elsewhere."""

    named_by = "name"
    list_name = gettext_lazy("Audit log")
    list_display = ("at", "done", "actor", "via", "about", "row")
    list_display_links = ("at", "done")
    list_filter = (_OperationFilter, ViaFilter, ("actor", FieldTextFilter), ("at", DayRangeFilter))
    own_pages = {"verify": ("verify/", "verify_view")}
    ordering = ("-key",)
    list_before_template = "admin/access/auditentry/chain.html"
    empty_hint = gettext_lazy("Every write is logged here, with the person or agent and the interface.")

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        return visible_log(actor, rows)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The visible rows; the chain of heads only if its operation is asked for."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return without_links(rows, request.GET.get(_OperationFilter.parameter_name, ""))

    def prepare_rows(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        """Attach to each row the text of its memory, if the caller may see it, or the name of its token."""
        ids = {entry.memory_id for entry in rows if entry.memory_id}
        seen = Memory.objects.filter(as_q(listed_by(actor_of(request), None)), id__in=ids)
        texts = dict(seen.values_list("id", "content"))
        names = _token_names(rows) if actor_of(request).all_groups else {}
        labels = chain_labels()
        for entry in rows:
            entry.place = _row_place(entry, labels)
            entry.text = texts.get(entry.memory_id, "") or names.get(entry.subject, "")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model | None:
        """The row with this name; None if the caller may not see it or it does not exist."""
        return find_visible_row(actor_of(request), object_id)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list under the number of chains and rows."""
        heads = AuditHead.objects.filter(origin=OWN)
        heads = heads if actor_of(request).all_groups else heads.none()
        counts = heads.aggregate(chains=Count("pk"), rows=Sum("seq"))
        extra = {**counts, "verify_url": self.url("verify"), **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, extra)
        return answer

    def show_row(self, request: HttpRequest, entry: AuditEntry) -> HttpResponse:
        """Show one row with its payload, unless that was purged."""
        row = getattr(entry, "payload_row", None)
        text = json.dumps(row.payload, indent=2, ensure_ascii=False, sort_keys=True) if row else ""
        seen = Memory.objects.filter(as_q(listed_by(actor_of(request), None)))
        memory = seen.filter(id=entry.memory_id).first() if entry.memory_id is not None else None
        title = gettext("Audit row {entry}").format(entry=_row_place(entry, chain_labels()))
        values = row.payload if row else {}
        facts = [
            (in_words(name.replace("_", " ")), format_value(value))
            for name, value in (values | _new_fields(values)).items()
            if not isinstance(value, dict) and value not in (None, "", []) and name != "changes"
        ]
        context = {"title": title, "entry": entry, "payload": text, "memory": memory}
        shown = ("content", *SHOWN_FIELDS) if entry.memory_id else ()  # the rest is bookkeeping
        context |= {"changes": read_changes(values, shown), "facts": facts}
        context["batch_url"] = _batch_url(entry)
        return self.render(request, "admin/access/auditentry/page.html", context)

    def verify_view(self, request: HttpRequest) -> HttpResponse:
        """Verify every chain and show the result."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not actor_of(request).all_groups:
            raise PermissionDenied(
                gettext("Only superusers can verify the audit log, since it has the rows of every group.")
            )
        reports = verify_log()
        broken = [report for report in reports if not report.is_whole]
        labels = chain_labels()
        for report in broken:
            label = report.origin or labels.get(report.chain, report.chain)
            line = gettext("The chain {label} is broken at row {broken_at}: {why}.")
            messages.error(request, line.format(label=label, broken_at=report.broken_at, why=report.why))
        if not broken:
            link_heads(actor_of(request))
            gone = sum(report.purged_payloads for report in reports)
            purged = gettext("; {gone:,} payloads were purged").format(gone=gone) if gone else ""
            rows = sum(report.rows for report in reports)
            chains = ngettext("{count} chain", "{count} chains", len(reports)).format(count=len(reports))
            line = gettext("The log is intact: {rows:,} rows in {reports}{purged}.")
            messages.success(request, line.format(rows=rows, reports=chains, purged=purged))
        return HttpResponseRedirect(self.url("changelist"))

    done = field_column(gettext_lazy("operation"), "operation", labels=_OPERATION_LABELS)

    @column(gettext_lazy("row"))
    def row(self, entry: AuditEntry) -> str:
        """The row's chain and its number there."""
        place: str = getattr(entry, "place", entry.name)
        return place

    @column(gettext_lazy("about"))
    def about(self, entry: AuditEntry) -> SafeString:
        """The start of the memory, its id, or the row's other subject; of a run's step, a link to what it changed."""
        shown = shorten(getattr(entry, "text", ""), 80) or entry.memory_id or entry.subject or "—"
        if url := _batch_url(entry):
            return format_html('<a class="loci-link" href="{}">{}</a>', url, shown)
        return format_html('<span class="loci-short">{}</span>', shown)


def _new_fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a memory that a row stored, as far as people read them."""
    stored = {} if payload.get("before") else payload.get("after") or payload.get("memory") or {}
    return {
        name: stored[name] for name in ("content", *SHOWN_FIELDS) if stored.get(name) not in (None, "", [])
    }


def _batch_url(entry: AuditEntry) -> str:
    """The page of what a run's step changed; empty for a row about anything else."""
    is_batch = entry.operation in BATCHES.values() and entry.origin == OWN
    return reverse("admin:maintenance_run_batch", args=[entry.name]) if is_batch else ""


def _row_place(entry: AuditEntry, labels: Mapping[str, str]) -> str:
    """A row's chain and its number there, in the words of `loci audit show`."""
    return f"{labels.get(entry.chain, entry.chain)} {entry.seq}"
