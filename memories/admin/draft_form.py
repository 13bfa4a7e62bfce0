"""The form for a new memory; what it says becomes a Draft and goes through store()."""

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


def moment(label: str) -> forms.DateTimeField:
    """Give a field for a time."""
    return forms.DateTimeField(
        required=False,
        label=label,
        help_text="UTC.",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
    )


def number(step: str, low: str, high: str) -> UnfoldAdminTextInputWidget:
    """Give a widget for a number in a range."""
    return UnfoldAdminTextInputWidget(attrs={"type": "number", "step": step, "min": low, "max": high})


def split_tags(text: str) -> tuple[str, ...]:
    """Give the tags of a line, parted by commas."""
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())


class DraftForm(forms.Form):
    """What a person wants remembered."""

    content = forms.CharField(
        # Newlines are part of the text; store() trims and cleans it.
        strip=False,
        help_text="One thing worth keeping, so that it is understood without what stood around it.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 5}),
    )
    type = forms.ChoiceField(choices=Type.choices, initial=Type.SEMANTIC, widget=UnfoldAdminSelectWidget())
    group = forms.ChoiceField(widget=UnfoldAdminSelectWidget())
    new_group = forms.CharField(
        required=False, max_length=80, label="Or a new group", widget=UnfoldAdminTextInputWidget()
    )
    scope = forms.ChoiceField(
        required=False,
        choices=[("", "as is usual for the type"), *Scope.choices],
        widget=UnfoldAdminSelectWidget(),
    )
    tags = forms.CharField(required=False, help_text="Parted by commas.", widget=UnfoldAdminTextInputWidget())
    importance = forms.IntegerField(
        initial=DEFAULT_IMPORTANCE, help_text="1 to 10.", widget=number("1", "1", "10")
    )
    confidence = forms.FloatField(
        initial=DEFAULT_CONFIDENCE, help_text="0 to 1.", widget=number("0.05", "0", "1")
    )
    valid_from = moment("True from")
    valid_to = moment("True until")
    supersedes = forms.UUIDField(
        required=False,
        help_text="The id of the memory that this one replaces.",
        widget=UnfoldAdminTextInputWidget(),
    )

    def __init__(self, actor: Actor, data: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        rooms = [group.slug for group in entered_groups(actor) if actor.may(WRITE, group.key)]
        if actor.may(CREATE_GROUP):
            self.fields["group"].required = False
        else:
            del self.fields[NEW_GROUP]
        self.fields["group"].choices = [("", "choose"), *((slug, slug) for slug in rooms)]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Ask for one group: an old one or a new one."""
        said: dict[str, Any] = super().clean() or {}
        if not said.get("group") and not said.get(NEW_GROUP) and "group" not in self.errors:
            self.add_error("group", "Choose a group, or name a new one.")
        return said

    def draft(self) -> Draft:
        """Give what was said as a Draft."""
        said = self.cleaned_data
        tags = split_tags(said["tags"])
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
            **{name: said[name] for name in fields}, tags=tags, group=said.get(NEW_GROUP) or said["group"]
        )
