"""The form that edits a memory; the changed fields become an EditDraft for edit()."""

from datetime import datetime
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from access.admin.confirm import ReasonForm
from memories.admin.draft_form import number_input, split_tags, time_field
from memories.lifecycle.edit import EditDraft
from memories.models import Memory
from memories.types import Type


class EditForm(ReasonForm):
    """A memory's fields with their current values."""

    content = forms.CharField(strip=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}))
    type = forms.ChoiceField(choices=Type.choices, widget=UnfoldAdminSelectWidget())
    importance = forms.IntegerField(help_text="1 to 10.", widget=number_input("1", "1", "10"))
    tags = forms.CharField(
        required=False, help_text="Separate with commas.", widget=UnfoldAdminTextInputWidget()
    )
    valid_from = time_field("True from")
    expires_at = time_field("Expires")
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
            "valid_from": _as_input_value(memory.valid_from),
            "expires_at": _as_input_value(memory.expires_at),
            "version": memory.version,
        }

    def edit(self) -> EditDraft:
        """The changed fields. The inputs have no seconds, so an untouched time counts as unchanged and keeps its own."""
        data = self.cleaned_data
        # A browser sends line ends as CR LF; that does not change the text.
        data["content"] = data["content"].replace("\r\n", "\n")
        changed: dict[str, Any] = {
            name: data[name] for name in ("content", "type", "importance") if data[name] != self.initial[name]
        }
        for name in ("valid_from", "expires_at"):
            if _as_input_value(data[name]) != self.initial[name]:
                changed[name] = data[name]
        tags = split_tags(data["tags"])
        if list(tags) != self.memory.tags:
            changed["tags"] = tags
        return EditDraft(**changed, version=data["version"])


def _as_input_value(at: datetime | None) -> str | None:
    return None if at is None else f"{at:%Y-%m-%dT%H:%M}"
