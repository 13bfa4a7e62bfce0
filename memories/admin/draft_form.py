"""The form for a new memory; its data becomes a Draft for store()."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from access.actor import CREATE_GROUP, WRITE, Actor
from access.admin.form_errors import vouched_kinds
from access.groups import entered_groups
from memories.admin.field_inputs import MemoryInput, as_input, form_fields, from_input
from memories.draft import STORED, Draft
from memories.draft.registry import FieldInput, offered_in

NEW_GROUP = "new_group"
FIELDS = offered_in(FieldInput.NEW_FORM, STORED)


class DraftForm(forms.Form):
    """A new memory; most inputs come from the registry of fields."""

    content = forms.CharField(
        label=gettext_lazy("Content"),
        # Newlines belong to the text; store() trims and cleans it.
        strip=False,
        help_text=gettext_lazy("One fact worth keeping, in words that are clear without their context."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 5}),
    )
    group = forms.ChoiceField(label=gettext_lazy("Group"), widget=UnfoldAdminSelectWidget())
    new_group = forms.CharField(
        required=False,
        max_length=80,
        label=gettext_lazy("Or a new group"),
        widget=UnfoldAdminTextInputWidget(),
    )
    supersedes = forms.UUIDField(
        label=gettext_lazy("Supersedes"),
        required=False,
        help_text=gettext_lazy(
            "The memory that this one replaces: type words of it and choose, or paste its id."
        ),
        widget=MemoryInput(),
    )
    # Others follow.
    field_order = (
        "content", "type", "group", NEW_GROUP, "scope", "tags", "importance", "confidence", "valid_from", "valid_to",
        "supersedes",
    )  # fmt: skip

    def __init__(self, actor: Actor, data: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        default = Draft("")
        start = {field.name: as_input(field.kind, getattr(default, field.name)) for field in FIELDS}
        super().__init__(data, initial=start | (initial or {}))
        self.fields.update(form_fields(FIELDS))
        self.order_fields(self.field_order)
        groups = [group.slug for group in entered_groups(actor) if actor.may(WRITE, group.key)]
        if actor.may(CREATE_GROUP):
            self.fields["group"].required = False
        else:
            del self.fields[NEW_GROUP]
        self.fields["group"].choices = [("", gettext("choose")), *((slug, slug) for slug in groups)]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Require a group, existing or new."""
        data: dict[str, Any] = super().clean() or {}
        if not data.get("group") and not data.get(NEW_GROUP) and "group" not in self.errors:
            self.add_error("group", gettext("Choose a group, or name a new one."))
        return data

    def draft(self) -> Draft:
        """The form's data as a Draft."""
        data = self.cleaned_data
        values = {field.name: from_input(field.kind, data[field.name]) for field in FIELDS}
        group = data.get(NEW_GROUP) or data["group"]
        return Draft(
            data["content"], **values, supersedes=data["supersedes"], group=group, allow=vouched_kinds(self)
        )
