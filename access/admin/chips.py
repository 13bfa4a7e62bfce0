"""Filters of a list that one click sets or removes."""

import re
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from access.admin.columns import in_words


@dataclass(frozen=True)
class FilterChip:
    """A filter above a list; its link sets it, or removes it if it is active."""

    label: str
    url: str
    is_active: bool


def filter_chips(cl: Any) -> list[FilterChip]:
    """The list's quick filters, then every other active one, such as those chosen under *Filters*."""
    active = {name: value for name, value in cl.params.items() if value}
    quick = [quick_chip(cl, active, *each) for each in cl.model_admin.quick_filters]
    shown = {(name, value) for _, name, value in cl.model_admin.quick_filters}
    others = [
        FilterChip(
            gettext("{name}: {value}").format(name=spec.title, value=chosen_label(cl, spec, active[name])),
            cl.get_query_string(remove=[name]),
            True,
        )
        for spec in cl.filter_specs
        for name in spec.expected_parameters()
        if name in active and (name, active[name]) not in shown
    ]
    return [*quick, *others]


def quick_chip(cl: Any, active: dict[str, str], label: str, name: str, value: str) -> FilterChip:
    """A chip that sets the parameter, or removes it if it has this value."""
    is_active = active.get(name) == value
    # A page number of the longer list would lead past the end of the shorter one.
    url = (
        cl.get_query_string(remove=[name, "p"])
        if is_active
        else cl.get_query_string({name: value}, remove=["p"])
    )
    return FilterChip(in_words(label), url, is_active)


def chosen_label(cl: Any, spec: Any, value: str) -> str:
    """The value of an active filter as its choices name it."""
    for choice in spec.choices(cl):
        if choice.get("selected") and choice.get("display"):
            return re.split("[:：]", str(choice["display"]))[
                0
            ]  # "live: current" explains itself in the drawer
    return value
