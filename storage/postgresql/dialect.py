"""PostgreSQL's dialect."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any


class PostgresqlDialect:
    """Lists are arrays, timestamps have a zone."""

    ordered_join = "JOIN"
    everything = "TRUE"
    in_list = "= ANY(%s)"
    assigns_keys = False
    has_tag = "{column} @> jsonb_build_array(%s::text)"

    def list_param(self, values: Iterable[int]) -> list[int]:
        """Numbers as an array."""
        return [*values]

    def moment_param(self, moment: datetime) -> datetime:
        """The timestamp itself."""
        return moment

    def read_moment(self, stored: Any) -> datetime | None:
        """The timestamp itself: sessions are in UTC."""
        found: datetime | None = stored
        return found


DIALECT = PostgresqlDialect()
