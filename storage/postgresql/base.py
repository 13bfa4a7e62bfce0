"""Loci's database engine for PostgreSQL: Django's own backend, which also reports a COMMIT that failed."""

from typing import Any

from django.db.backends.postgresql import base

from storage.faults import report_failed_commit


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL."""

    display_name = "PostgreSQL with pgvector"

    def _commit(self) -> Any:
        with report_failed_commit():
            return super()._commit()  # type: ignore[misc]  # the stubs leave it out
