"""Columns of a list that are worked out; unfold's decorator with types."""

from collections.abc import Callable
from typing import Any, TypeVar

from unfold.decorators import display

Column = TypeVar("Column", bound=Callable[..., Any])


def column(
    heading: str,
    *,
    ordering: str | None = None,
    labels: dict[str, str] | None = None,
    empty: str | None = None,
    is_flag: bool = False,
) -> Callable[[Column], Column]:
    """Give a list's column a heading.

    `ordering` is the field it sorts by; `labels` shows the value as a label and maps values to success, info, warning
    or danger; `empty` stands for None; `is_flag` shows yes and no as marks.
    """
    wrap: Callable[[Column], Column] = display(
        description=heading, ordering=ordering, label=labels, empty_value=empty, boolean=is_flag or None
    )
    return wrap
