"""Admin pages of imports: upload a file, check it, and import it after confirmation."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column, field_column, in_words, join_list
from access.errors import LociError
from sources.admin import artifacts, watching  # noqa: F401 - register their pages
from sources.admin.forms import FORMATS, FileAdmin, UploadForm
from sources.models import Upload, UploadState
from sources.uploads import (
    TO_DO,
    begin_import,
    begin_undo,
    discard_upload,
    own_uploads,
    receive_upload,
)

_STATE_LABELS = {
    "done": "success",
    "failed": "danger",
    "checked": "warning",
    "check": "info",
    "import": "info",
    "undo": "info",
}
_HEADINGS = {
    UploadState.CHECK: gettext_lazy("Checking the file"),
    UploadState.CHECKED: gettext_lazy("What would be imported"),
    UploadState.IMPORT: gettext_lazy("Importing"),
    UploadState.DONE: gettext_lazy("Imported"),
    UploadState.FAILED: gettext_lazy("Not imported"),
    UploadState.DISCARDED: gettext_lazy("Discarded before import"),
    UploadState.UNDO: gettext_lazy("Taking the import back"),
    UploadState.UNDONE: gettext_lazy("Taken back"),
}
_ACTIONS = {"import": begin_import, "discard": discard_upload, "undo": begin_undo}


@admin.register(Upload)
class UploadAdmin(FileAdmin):
    """The user's imports, and the form for a new one."""

    list_name = gettext_lazy("Imports")
    add_label = gettext_lazy("Import a file")
    file_form = UploadForm
    formats = FORMATS
    add_title = gettext_lazy("Import memories")
    add_note = gettext_lazy(
        "You first see which lines would be stored and which skipped. Nothing is written until you confirm."
    )
    add_button = gettext_lazy("Check the file")
    refused = gettext_lazy(
        "You may not import: you need the role contributor in a group. Ask an admin of one."
    )
    list_display = ("name", "standing", "counted", "not_taken", "created_at")
    list_display_links = ("name",)
    list_filter = ("state",)
    ordering = ("-key",)
    empty_hint = gettext_lazy(
        "Import memories from another program, or a file of texts. You see a preview before anything is stored."
    )

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The actor's own uploads."""
        return own_uploads(actor)

    def receive(self, request: HttpRequest, form: UploadForm) -> str:
        """Check the file, then show what would be imported."""
        upload = receive_upload(
            actor_of(request), form.sent(), form.rules(), file_format=form.cleaned_data["format"]
        )
        return self.url("change", upload.id)

    def show_row(self, request: HttpRequest, upload: Upload) -> HttpResponse:
        """The progress and result of an import; on POST, apply a button's action."""
        if request.method == "POST":
            act = _ACTIONS.get(request.POST.get("do", ""))
            if act is None:
                raise Http404
            try:
                act(actor_of(request), upload.id)
            except LociError as refusal:
                messages.error(request, str(refusal))
            return HttpResponseRedirect(self.url("change", upload.id))
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "POST"])
        return self.render(request, "admin/sources/upload/page.html", self._page_context(upload))

    def _page_context(self, upload: Upload) -> dict[str, Any]:
        return {
            "title": gettext("Import of {name}").format(name=upload.name),
            "upload": upload,
            "heading": _HEADINGS[UploadState(upload.state)],
            "is_busy": upload.state in TO_DO,
            "unit": "line" if upload.line_count else "record",
            "taken": sum(count for _, count in upload.report),
            "more_faults": upload.fault_count - len(upload.faults),
        }

    standing = field_column(gettext_lazy("state"), "state", labels=_STATE_LABELS)

    @column(gettext_lazy("counts"), empty="—")
    def counted(self, upload: Upload) -> str | None:
        """The upload's counts on one line."""
        return join_list(f"{count:,} {in_words(word)}" for word, count in upload.report) or None

    @column(gettext_lazy("skipped"), ordering="fault_count", empty="—")
    def not_taken(self, upload: Upload) -> str | None:
        """Number of rejected lines."""
        return f"{upload.fault_count:,}" if upload.fault_count else None
