"""Inputs of the forms for a memory, from the registry of its fields."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from access.actor import CURATE, Actor
from access.admin.columns import in_words
from access.admin.day_range import UtcMoment
from access.groups import entered_groups
from memories.draft.kinds import Kind, Moment, Number, OneOf, Tags
from memories.draft.registry import RecordField


class MemoryInput(UnfoldAdminTextInputWidget):  # type: ignore[misc]  # unfold has no types
    """An input for a memory's id; with its script one types words and chooses."""

    class Media:
        js = ("loci/picker.js",)

    def __init__(self) -> None:
        super().__init__(attrs={"data-pick": "memory"})


def group_choices(actor: Actor) -> list[tuple[str, str]]:
    """The groups that the actor may curate, for a menu."""
    return [
        ("", gettext("choose")),
        *((each.slug, each.slug) for each in entered_groups(actor) if actor.may(CURATE, each.key)),
    ]


def form_fields(fields: Iterable[RecordField]) -> dict[str, forms.Field]:
    """An input for each field, by name."""
    return {field.name: form_field(field) for field in fields}


def form_field(field: RecordField) -> forms.Field:
    """The input for a field's kind; the services check the value."""
    match field.kind:
        case OneOf(choices, unset):
            return forms.ChoiceField(
                required=not unset,
                choices=[("", in_words(unset)), *choices.choices] if unset else choices.choices,
                label=in_words(field.title),
                widget=UnfoldAdminSelectWidget(),
            )
        case Number(low, high, step) as number:
            made = forms.IntegerField if number.is_whole else forms.FloatField
            attributes = {"type": "number", "step": str(step), "min": str(low), "max": str(high)}
            return made(
                required=not field.is_optional,
                label=in_words(field.title),
                help_text=gettext("{low} to {high}.").format(low=low, high=high),
                widget=UnfoldAdminTextInputWidget(attrs=attributes),
            )
        case Moment():
            return UtcMoment(
                required=False,
                label=in_words(field.title),
                help_text="UTC.",
                widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
            )
    help_text = gettext("Separate with commas.") if isinstance(field.kind, Tags) else in_words(field.help)
    return forms.CharField(
        required=False, label=in_words(field.title), help_text=help_text, widget=UnfoldAdminTextInputWidget()
    )


def as_input(kind: Kind, value: Any) -> Any:
    """A value as its input shows it: times without seconds, tags separated by commas."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M}"
    return ", ".join(value) if isinstance(kind, Tags) else value


def from_input(kind: Kind, value: Any) -> Any:
    """The value of an input's cleaned data."""
    if not isinstance(kind, Tags):
        return value
    return tuple(tag.strip() for tag in value.split(",") if tag.strip())
