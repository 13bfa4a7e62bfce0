"""The form for a new memory; its data becomes a Draft for store()."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from access.actor import CREATE_GROUP, WRITE, Actor
from access.groups import entered_groups
from memories.draft import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, Draft
from memories.types import Scope, Type

NEW_GROUP = "new_group"


def time_field(label: str) -> forms.DateTimeField:
    """An optional field for a time in UTC."""
    return forms.DateTimeField(
        required=False,
        label=label,
        help_text="UTC.",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
    )


def number_input(step: str, low: str, high: str) -> UnfoldAdminTextInputWidget:
    """An input for a number in a range."""
    return UnfoldAdminTextInputWidget(attrs={"type": "number", "step": step, "min": low, "max": high})


def split_tags(text: str) -> tuple[str, ...]:
    """The tags of a comma-separated line."""
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())


class DraftForm(forms.Form):
    """A new memory."""

    content = forms.CharField(
        # Newlines belong to the text; store() trims and cleans it.
        strip=False,
        help_text="One fact worth keeping, in words that are clear without their context.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 5}),
    )
    type = forms.ChoiceField(choices=Type.choices, initial=Type.SEMANTIC, widget=UnfoldAdminSelectWidget())
    group = forms.ChoiceField(widget=UnfoldAdminSelectWidget())
    new_group = forms.CharField(
        required=False, max_length=80, label="Or a new group", widget=UnfoldAdminTextInputWidget()
    )
    scope = forms.ChoiceField(
        required=False,
        choices=[("", "default for the type"), *Scope.choices],
        widget=UnfoldAdminSelectWidget(),
    )
    tags = forms.CharField(
        required=False, help_text="Separate with commas.", widget=UnfoldAdminTextInputWidget()
    )
    importance = forms.IntegerField(
        initial=DEFAULT_IMPORTANCE, help_text="1 to 10.", widget=number_input("1", "1", "10")
    )
    confidence = forms.FloatField(
        initial=DEFAULT_CONFIDENCE, help_text="0 to 1.", widget=number_input("0.05", "0", "1")
    )
    valid_from = time_field("True from")
    valid_to = time_field("True until")
    supersedes = forms.UUIDField(
        required=False,
        help_text="Id of the memory that this one replaces.",
        widget=UnfoldAdminTextInputWidget(),
    )

    def __init__(self, actor: Actor, data: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        groups = [group.slug for group in entered_groups(actor) if actor.may(WRITE, group.key)]
        if actor.may(CREATE_GROUP):
            self.fields["group"].required = False
        else:
            del self.fields[NEW_GROUP]
        self.fields["group"].choices = [("", "choose"), *((slug, slug) for slug in groups)]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Require a group, existing or new."""
        data: dict[str, Any] = super().clean() or {}
        if not data.get("group") and not data.get(NEW_GROUP) and "group" not in self.errors:
            self.add_error("group", "Choose a group, or name a new one.")
        return data

    def draft(self) -> Draft:
        """The form's data as a Draft."""
        data = self.cleaned_data
        tags = split_tags(data["tags"])
        fields = (
            "content",
            "type",
            "scope",
            "importance",
            "confidence",
            "valid_from",
            "valid_to",
            "supersedes",
        )
        return Draft(
            **{name: data[name] for name in fields}, tags=tags, group=data.get(NEW_GROUP) or data["group"]
        )
