"""What is asked before a run begins."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminSelectWidget

from access.actor import CURATE, Actor
from access.groups import entered_groups
from maintenance.cycle import RunPlan

KINDS = (
    ("cycle", "The whole cycle: decay, compact, promote, expire, clean up, find duplicates and conflicts"),
    ("cleanup", "Cleanup alone"),
)
EVERY = ""


class CycleForm(forms.Form):
    """Which run, over what, and how much of a group it may retire at most."""

    field_order = ("kind", "group", "max_percent")

    kind = forms.ChoiceField(choices=KINDS, label="What", widget=UnfoldAdminSelectWidget)
    max_percent = forms.IntegerField(
        label="At most",
        required=False,
        min_value=1,
        max_value=100,
        widget=UnfoldAdminDecimalFieldWidget(attrs={"placeholder": "as set"}),
        help_text="Percent of a group's memories that it may retire; more than that stops it. "
        "Empty: what maintenance.max_share says.",
    )

    def __init__(self, data: Any = None, *, actor: Actor) -> None:
        super().__init__(data)
        self._groups = {
            str(group.id): group for group in entered_groups(actor) if actor.may(CURATE, group.key)
        }
        every = [(EVERY, "Every group")] if actor.all_groups and actor.may(CURATE) else []
        named = [(id_, group.title or group.slug) for id_, group in self._groups.items()]
        self.fields["group"] = forms.ChoiceField(
            label="Where", required=not every, choices=every + named, widget=UnfoldAdminSelectWidget
        )
        self.order_fields(self.field_order)
        self.has_choice = bool(every + named)  # whether there is something that the actor may run

    def plan(self) -> RunPlan:
        """Give what was chosen."""
        said = self.cleaned_data
        percent = said["max_percent"]
        return RunPlan(
            kind=said["kind"],
            group=self._groups.get(said["group"]),
            max_share=None if percent is None else percent / 100,
        )
