"""Stores of before 0.3.0 are refused: each app's first migration replaces all of its migrations of 0.3.0.

Django takes a replacing migration for applied if all that it replaces are, and for missing if none is. For a store with
other migrations it would create tables that exist, or find no way to go on: their files are gone.
"""

from collections.abc import Set
from functools import cache
from typing import Final

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from access.errors import Unavailable

FIRST: Final = "0001_release_0_3_0"


@cache
def replaced_migrations() -> frozenset[tuple[str, str]]:
    """App and name of each migration of 0.3.0 that a first migration replaces."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    firsts = [migration for (_, name), migration in loader.disk_migrations.items() if name == FIRST]
    return frozenset(replaced for first in firsts for replaced in first.replaces)


def refuse_early_store() -> None:
    """Raise Unavailable if the connected store is of before 0.3.0."""
    refuse_early("This store", MigrationRecorder(connection).applied_migrations().keys())


def pending_migrations() -> list[str]:
    """The migrations that the connected store lacks, in order; raises Unavailable if it is of before 0.3.0."""
    refuse_early_store()
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def refuse_early(what: str, applied: Set[tuple[str, str]]) -> None:
    """Raise Unavailable if a store with these migrations, which the sentence calls `what`, is of before 0.3.0."""
    begun = {app for app, _ in applied}
    missing = sorted((app, name) for app, name in replaced_migrations() - applied if app in begun)
    if missing:
        app, name = missing[0]
        raise Unavailable(
            f"{what} is of a version of Loci before 0.3.0: it lacks the migration {app}.{name}.",
            hint="Open it with Loci 0.3.0, export it there with 'loci export', and import the export into a new store.",
        )
