"""The form that changes a memory; what differs becomes an Edit and goes through edit()."""

from datetime import datetime
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from access.admin.confirm import ReasonForm
from memories.admin.draft_form import moment, number, split_tags
from memories.lifecycle.edit import EditDraft
from memories.models import Memory
from memories.types import Type


class EditForm(ReasonForm):
    """A memory as it reads now, to be changed."""

    content = forms.CharField(strip=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}))
    type = forms.ChoiceField(choices=Type.choices, widget=UnfoldAdminSelectWidget())
    importance = forms.IntegerField(help_text="1 to 10.", widget=number("1", "1", "10"))
    tags = forms.CharField(required=False, help_text="Parted by commas.", widget=UnfoldAdminTextInputWidget())
    valid_from = moment("True from")
    expires_at = moment("Expires")
    version = forms.IntegerField(widget=forms.HiddenInput())
    field_order = ("content", "type", "importance", "tags", "valid_from", "expires_at", "reason", "version")

    def __init__(self, memory: Memory, data: Any = None) -> None:
        super().__init__(data)
        self.memory = memory
        self.initial = {
            "content": memory.content,
            "type": memory.type,
            "importance": memory.importance,
            "tags": ", ".join(memory.tags),
            "valid_from": _shown(memory.valid_from),
            "expires_at": _shown(memory.expires_at),
            "version": memory.version,
        }

    def edit(self) -> EditDraft:
        """Give what was changed. A form shows minutes, so a time that was not touched keeps its seconds."""
        said = self.cleaned_data
        # A browser sends line ends as CR LF; that is no change of the text.
        said["content"] = said["content"].replace("\r\n", "\n")
        named: dict[str, Any] = {
            name: said[name] for name in ("content", "type", "importance") if said[name] != self.initial[name]
        }
        for name in ("valid_from", "expires_at"):
            if _shown(said[name]) != self.initial[name]:
                named[name] = said[name]
        tags = split_tags(said["tags"])
        if list(tags) != self.memory.tags:
            named["tags"] = tags
        return EditDraft(**named, version=said["version"])


def _shown(at: datetime | None) -> str | None:
    return None if at is None else f"{at:%Y-%m-%dT%H:%M}"
