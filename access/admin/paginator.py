"""Pages of a list without counting a whole table."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

COUNTED = 10_000  # rows; a list is narrowed by filters and search long before its 200th page


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # not generic while the program runs
    """Counts at most COUNTED rows, so that a page costs the same in a store of a million.

    `is_cut` says, once counted, that there are more.
    """

    is_cut = False

    @cached_property
    def count(self) -> int:
        """The true number of rows up to COUNTED; COUNTED where there are more."""
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # the admin always gives a query
        counted = rows.order_by()[: COUNTED + 1].count()
        self.is_cut = counted > COUNTED
        return min(counted, COUNTED)
