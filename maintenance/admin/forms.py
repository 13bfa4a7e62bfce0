"""The form that starts a run."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminSelectWidget

from access.actor import CURATE, Actor
from access.groups import entered_groups
from maintenance.cycle import RunPlan

KINDS = (
    (
        "cycle",
        gettext_lazy(
            "The whole cycle: decay, compact, promote, expire, clean up, find duplicates and conflicts"
        ),
    ),
    ("cleanup", gettext_lazy("Cleanup only")),
)
EVERY = ""


class CycleForm(forms.Form):
    """Kind of run, its group, and the share of a group's memories that it may retire."""

    field_order = ("kind", "group", "max_percent")

    kind = forms.ChoiceField(choices=KINDS, label=gettext_lazy("What"), widget=UnfoldAdminSelectWidget)
    max_percent = forms.IntegerField(
        label=gettext_lazy("At most"),
        required=False,
        min_value=1,
        max_value=100,
        widget=UnfoldAdminDecimalFieldWidget(attrs={"placeholder": gettext_lazy("default")}),
        help_text=gettext_lazy(
            "Percent of a group's memories that the run may retire; it stops beyond that. "
            "Leave empty to use the setting maintenance.max_share."
        ),
    )

    def __init__(self, data: Any = None, *, actor: Actor) -> None:
        super().__init__(data)
        self._groups = {
            str(group.id): group for group in entered_groups(actor) if actor.may(CURATE, group.key)
        }
        every = [(EVERY, gettext("Every group"))] if actor.all_groups and actor.may(CURATE) else []
        named = [(id_, group.title or group.slug) for id_, group in self._groups.items()]
        self.fields["group"] = forms.ChoiceField(
            label=gettext("Where"), required=not every, choices=every + named, widget=UnfoldAdminSelectWidget
        )
        self.order_fields(self.field_order)
        self.has_choice = bool(every + named)  # whether the actor may run anything

    def plan(self) -> RunPlan:
        """The plan of the run, from the cleaned data."""
        values = self.cleaned_data
        percent = values["max_percent"]
        return RunPlan(
            kind=values["kind"],
            group=self._groups.get(values["group"]),
            max_share=None if percent is None else percent / 100,
        )
