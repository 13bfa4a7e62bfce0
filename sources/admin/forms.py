"""What the pages that take a file have in common, and the form of an import: a file, and the rules for its lines."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from access.actor import WRITE, Actor
from access.admin.caller import actor_of
from access.admin.columns import Label
from access.admin.form_errors import try_form
from access.admin.page import LociAdmin
from access.groups import entered_groups
from memories.types import Scope, Type
from sources.importing import ENDINGS, IMPORTERS, NAMES
from sources.importing.importer import LineRules
from sources.uploads import SentUpload, may_import


class FileAdmin(LociAdmin):
    """A list of what came from files, with a page that takes one."""

    file_form: ClassVar[Any]  # a form that takes the actor
    add_title: ClassVar[Label]
    add_note: ClassVar[Label]
    add_button: ClassVar[Label]
    refused: ClassVar[Label]
    formats: ClassVar[Sequence[Any]] = ()

    def receive(self, request: HttpRequest, form: Any) -> str:
        """Take the file of a valid form; returns the address to go on to."""
        raise NotImplementedError

    def has_add_permission(self, request: HttpRequest) -> bool:
        """True for users who may write in any group."""
        return may_import(actor_of(request))

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form, or what became of its file."""
        if not self.has_add_permission(request):
            raise PermissionDenied(self.refused)
        sent = (request.POST, request.FILES) if request.method == "POST" else ()
        form: Any = self.file_form(*sent, actor=actor_of(request))
        if answer := try_form(form, lambda: HttpResponseRedirect(self.receive(request, form))):
            return answer
        context = {
            "title": self.add_title,
            "form": form,
            "note": self.add_note,
            "formats": self.formats,
            "button": self.add_button,
            "back": self.url("changelist"),
        }
        status = 422 if form.errors else 200
        return self.render(request, "admin/sources/add.html", context, status=status)


def writable_groups(actor: Actor) -> list[str]:
    """The slugs of the groups that the actor may write in."""
    return [group.slug for group in entered_groups(actor, WRITE)]


# How a file of each format begins, or where its program makes it.
_SAMPLES = {
    "export": "loci export loci.jsonl",
    "mcp-memory": '{"type": "entity", "name": "Ann", "entityType": "person", "observations": ["leads billing"]}',
    "mem0": '[{"id": "1", "memory": "The port is 8081.", "user_id": "ann"}]',
    "mcp-memory-service": '{"memories": [{"content": "The port is 8081.", "tags": ["port"]}]}',
    "basic-memory": "# Ledger\n- [decision] Amounts are cents\n- uses [[PostgreSQL]]",
    "claude-mem": "~/.claude-mem/claude-mem.db",
    "claude-code": "~/.claude/projects/*/memory/*.md",
    "obsidian": "vault.zip",
    "chatgpt": "chatgpt.com: Settings → Data controls → Export data",
    "claude-ai": "claude.ai: Settings → Privacy → Export data",
    "gemini": "takeout.google.com: My Activity → Gemini Apps, JSON",
    "locus": "ledger.locus",
    "markdown": "# Ports\nThe ledger listens on 8081.",
    "csv": "text,type,tags\nThe port is 8081.,semantic,port ledger",
    "lines": '{"text": "The port is 8081.", "timestamp": "2026-03-04T09:30:00", "tags": ["port"]}',
}


FORMATS = [(each, _SAMPLES.get(each.name, "")) for each in IMPORTERS]


class UploadForm(forms.Form):
    """A file and the rules for its lines."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("Choose it or drop it here. Its format is recognised."),
        allow_empty_file=True,  # receive_upload() rejects it with a reason
        widget=forms.FileInput(attrs={"accept": ",".join(ENDINGS), "class": "loci-file"}),
    )
    format = forms.ChoiceField(
        label=gettext_lazy("Format"),
        required=False,
        choices=[("", gettext_lazy("recognise it")), *((name, name) for name in NAMES)],
        help_text=gettext_lazy("The program that the file comes from."),
        widget=UnfoldAdminSelectWidget(),
    )
    group = forms.ChoiceField(
        label=gettext_lazy("Group"),
        required=False,
        help_text=gettext_lazy("The group of every line."),
        widget=UnfoldAdminSelectWidget(),
    )
    type = forms.ChoiceField(
        label=gettext_lazy("Type"),
        required=False,
        choices=[("", gettext_lazy("as the format says")), *Type.choices],
        help_text=gettext_lazy("The type of every line."),
        widget=UnfoldAdminSelectWidget(),
    )
    waiting = forms.ChoiceField(
        label=gettext_lazy("What waits for a person"),
        required=False,
        choices=[
            ("", gettext_lazy("facts from chats")),
            ("live", gettext_lazy("nothing")),
            ("pending", gettext_lazy("everything")),
        ],
        help_text=gettext_lazy("What waits is in the Review until a curator decides."),
        widget=UnfoldAdminSelectWidget(),
    )
    scope = forms.ChoiceField(
        label=gettext_lazy("Who sees it"),
        choices=Scope.choices,
        initial=Scope.GROUP,
        widget=UnfoldAdminSelectWidget(),
    )
    source = forms.CharField(
        label=gettext_lazy("Source"),
        required=False,
        max_length=200,
        help_text=gettext_lazy(
            "Defaults to the format, or the file's name. The same line of the same source is stored only once."
        ),
        widget=UnfoldAdminTextInputWidget(),
    )

    def __init__(self, *args: Any, actor: Actor, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        groups = writable_groups(actor)
        choices = [("", gettext("as given in each line")), *((slug, slug) for slug in groups)]
        self.fields["group"].choices = choices  # type: ignore[attr-defined]
        self.fields["group"].initial = groups[0] if len(groups) == 1 else ""

    def sent(self) -> SentUpload:
        """The uploaded file."""
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        return SentUpload(file.name or "", file.size or 0, file.chunks())

    def rules(self) -> LineRules:
        """The rules for its lines."""
        values = self.cleaned_data
        return LineRules(
            values["source"], values["group"], values["type"], values["scope"], waiting=values["waiting"]
        )
