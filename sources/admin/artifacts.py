"""Admin pages of files as evidence: the list, a file with its chunks and what they prove, and sending a file."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from access.actor import CURATE, WRITE, Actor
from access.admin.caller import actor_of
from access.admin.columns import column, field_column, join_list
from access.errors import LociError
from memories.admin.filters import GroupFilter
from sources.admin.forms import FileAdmin, writable_groups
from sources.artifacts.ingest import IngestReport, ingest_content
from sources.artifacts.reading.sent import read_sent
from sources.artifacts.render import visible_text
from sources.artifacts.upkeep import decide_chunk, in_readable_groups, remove_artifact
from sources.models import Artifact, Chunk, ChunkProof, ChunkState

_SHOWN_CHUNKS = 500
_STATE_LABELS = {"live": "success", "retired": "warning"}


class _ArtifactForm(forms.Form):
    """A file, or a zip of a folder, and where it belongs."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("A text, Markdown, code, PDF or Word file, or a zip of a folder."),
        widget=forms.FileInput(attrs={"class": "loci-file"}),
    )
    group = forms.ChoiceField(label=gettext_lazy("Group"), widget=UnfoldAdminSelectWidget())
    source = forms.CharField(label=gettext_lazy("Source"),
        required=False, max_length=200, widget=UnfoldAdminTextInputWidget(),
        help_text=gettext_lazy("The name of its folder or repository. The same path in it is replaced."),
    )  # fmt: skip
    path = forms.CharField(label=gettext_lazy("Path"),
        required=False, max_length=500, widget=UnfoldAdminTextInputWidget(),
        help_text=gettext_lazy("Its path there; default: its name."),
    )  # fmt: skip

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["group"].choices = [(slug, slug) for slug in writable_groups(actor)]  # type: ignore[attr-defined]

    def ingest(self, actor: Actor) -> IngestReport:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        files = read_sent(file, self.cleaned_data["path"] or file.name or "file.txt")
        return ingest_content(
            actor, files, group=self.cleaned_data["group"], source=self.cleaned_data["source"]
        )


class _HeldChunksFilter(admin.SimpleListFilter):
    title = gettext_lazy("held back by the guard")
    parameter_name = "held"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", gettext_lazy("with chunks held back"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() != "yes":
            return queryset
        return queryset.filter(Exists(Chunk.objects.filter(artifact=OuterRef("pk"), state=ChunkState.HELD)))


@admin.register(Artifact)
class ArtifactAdmin(FileAdmin):
    """The files of the groups that the caller may read."""

    list_name = gettext_lazy("Files")
    add_label = add_title = gettext_lazy("Send a file")
    file_form = _ArtifactForm
    add_note = gettext_lazy(
        "The file becomes evidence, not memories: recall finds it only when asked for files. Secrets are masked."
    )
    add_button = gettext_lazy("Send the file")
    refused = gettext_lazy("You may not write in any group. Ask an admin of one.")
    list_display = ("path", "group", "source", "standing", "chunk_count", "proved", "updated_at")
    list_display_links = ("path",)
    list_select_related = ("group",)
    list_filter = (GroupFilter, "state", "kind", _HeldChunksFilter)
    search_fields = ("path",)
    ordering = ("-key",)
    empty_hint = gettext_lazy(
        "Read a folder with 'loci ingest PATH', or send a file here. Recall finds files only when asked for evidence."
    )

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The files of readable groups."""
        proofs = (
            ChunkProof.objects.filter(chunk__artifact=OuterRef("pk")).order_by().values("chunk__artifact")
        )
        counts = proofs.annotate(count=Count("memory", distinct=True)).values("count")
        shown: QuerySet[Any] = rows.filter(in_readable_groups(actor)).annotate(proof_count=Subquery(counts))
        return shown

    def receive(self, request: HttpRequest, form: _ArtifactForm) -> str:
        """Store the file and report what was stored."""
        messages.success(request, form.ingest(actor_of(request)).as_text())
        return self.url("changelist")

    def show_row(self, request: HttpRequest, row: Artifact) -> HttpResponse:
        """A file with its chunks; on POST, delete it, or release or hold one of its chunks."""
        actor = actor_of(request)
        if request.method == "POST":
            if request.POST.get("do") in ("release", "hold"):
                return self.decide(request, row)
            if request.POST.get("do") != "remove":
                raise Http404
            try:
                count = remove_artifact(actor, str(row.id))
            except LociError as refusal:
                messages.error(request, str(refusal))
                return HttpResponseRedirect(self.url("change", row.id))
            messages.success(
                request,
                gettext("'{path}' is deleted, with {count} chunks.").format(path=row.path, count=count),
            )
            return HttpResponseRedirect(self.url("changelist"))
        context = {"title": row.path, "artifact": row, **_chunk_context(actor, row)}
        context["may_remove"] = actor.may(WRITE, row.group_id)
        return self.render(request, "admin/sources/artifact/page.html", context)

    def decide(self, request: HttpRequest, row: Artifact) -> HttpResponse:
        """Release or hold the chunk that the form names, and show the file again."""
        is_release = request.POST.get("do") == "release"
        try:
            chunk = decide_chunk(actor_of(request), request.POST.get("chunk", ""), is_release=is_release)
        except LociError as refusal:
            messages.error(request, str(refusal))
        else:
            done = (
                gettext("{locator} can be found as evidence.")
                if chunk.state == ChunkState.LIVE
                else gettext("{locator} is held back from every answer.")
            )
            messages.success(request, done.format(locator=chunk.locator))
        return HttpResponseRedirect(self.url("change", row.id))

    standing = field_column(gettext_lazy("state"), "state", labels=_STATE_LABELS)

    @column(gettext_lazy("proves"), empty="—")
    def proved(self, row: Artifact) -> int | None:
        """The number of memories that the file's chunks prove."""
        return getattr(row, "proof_count", None) or None


def _chunk_context(actor: Actor, row: Artifact) -> dict[str, Any]:
    """The chunks of a file's page: the live ones in order, then those that are held or retired."""
    rows = row.chunks.defer("embedding", "forms").select_related("group").prefetch_related("proofs__memory")
    chunks: list[Any] = list(rows.order_by("state", "start_line", "key")[: _SHOWN_CHUNKS + 1])
    for chunk in chunks:
        chunk.shown = visible_text(actor, chunk)
        chunk.found = join_list(f"{kind} {count}" for kind, count in chunk.findings.items())
    return {
        "chunks": chunks[:_SHOWN_CHUNKS],
        "more": len(chunks) > _SHOWN_CHUNKS,
        "findings": join_list(f"{kind} {count}" for kind, count in row.findings.items()),
        "curates": actor.may(CURATE, row.group_id),
    }
