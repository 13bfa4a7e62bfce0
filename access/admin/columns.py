"""Computed columns of a list: a typed version of unfold's decorator."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.utils.functional import Promise
from unfold.decorators import display

Label = str | Promise  # a text, or one that is translated where it is shown

Column = TypeVar("Column", bound=Callable[..., Any])


def column(
    heading: Label,
    *,
    ordering: str | None = None,
    labels: dict[str, str] | None = None,
    empty: Label | None = None,
    is_flag: bool = False,
) -> Callable[[Column], Column]:
    """A decorator that sets the heading of a list's column.

    `ordering` is the field to sort by; `labels` shows the value as a label and maps values to success, info, warning or
    danger; `empty` replaces None; `is_flag` shows booleans as icons.
    """
    wrap: Callable[[Column], Column] = display(
        description=heading, ordering=ordering, label=labels, empty_value=empty, boolean=is_flag or None
    )
    return wrap
