"""The form that edits a memory; the changed fields become an EditDraft for edit()."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget

from access.admin.confirm import ReasonForm
from access.admin.form_errors import vouched_kinds
from memories.admin.field_inputs import as_input, form_fields, from_input
from memories.draft import EDITED, EditDraft
from memories.draft.registry import FieldInput, offered_in
from memories.models import Memory

FIELDS = offered_in(FieldInput.EDIT_FORM, EDITED)


class EditForm(ReasonForm):
    """A memory's fields with their current values; most inputs come from the registry of fields."""

    content = forms.CharField(
        label=gettext_lazy("Content"), strip=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 6})
    )
    version = forms.IntegerField(widget=forms.HiddenInput())
    # Others follow.
    field_order = ("content", "type", "importance", "tags", "valid_from", "expires_at", "reason", "version")

    def __init__(self, memory: Memory, data: Any = None) -> None:
        super().__init__(data)
        self.fields.update(form_fields(FIELDS))
        self.order_fields(self.field_order)
        self.initial = {
            "content": memory.content,
            "version": memory.version,
            **{field.name: as_input(field.kind, getattr(memory, field.name)) for field in FIELDS},
        }

    def edit(self) -> EditDraft:
        """The changed fields. The inputs have no seconds, so an untouched time counts as unchanged and keeps its own."""
        data = self.cleaned_data
        # A browser sends line ends as CR LF; that does not change the text.
        values = {"content": data["content"].replace("\r\n", "\n")}
        changed = {name: value for name, value in values.items() if value != self.initial[name]}
        for field in FIELDS:
            value = from_input(field.kind, data[field.name])
            if as_input(field.kind, value) != self.initial[field.name]:
                changed[field.name] = value
        return EditDraft(**changed, version=data["version"], allow=vouched_kinds(self))
