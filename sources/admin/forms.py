"""The upload form: a file, and the rules for its lines."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from access.actor import WRITE, Actor
from access.admin.columns import in_words, join_clauses
from access.groups import entered_groups
from memories.types import Scope, Type
from sources.importing import ENDINGS, IMPORTERS, NAMES
from sources.importing.importer import LineRules
from sources.uploads import SentUpload


def _accepted_formats() -> str:
    return join_clauses(in_words(importer.description) for importer in IMPORTERS)


class UploadForm(forms.Form):
    """A file and the rules for its lines."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=format_lazy(gettext_lazy("Accepted: {formats}."), formats=lazy(_accepted_formats, str)()),
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
        groups = [group.slug for group in entered_groups(actor) if actor.may(WRITE, group.key)]
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

    def file_format(self) -> str:
        """The format that the sender named, "" to recognise it."""
        return str(self.cleaned_data["format"])
