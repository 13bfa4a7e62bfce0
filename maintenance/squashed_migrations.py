"""Stores of before the migrations were squashed: adopted if they are at the last of the old ones, else refused."""

from typing import Final

from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from access.errors import Unavailable

LAST_UNSQUASHED: Final = "0.1.0"  # the version whose migrations were squashed
SQUASHED: Final = "0001_schema"
REPLACED: Final[dict[str, tuple[str, ...]]] = {
    "access": ("0001_initial", "0002_attempts", "0003_saved_filters"),
    "relations": ("0001_initial",),
    "memories": (
        "0001_initial",
        "0002_indexes",
        "0003_piece_model",
        "0004_word_forms",
        "0005_memory_listed",
        "0006_fewer_indexes",
    ),
    "sources": ("0001_uploads",),
    "maintenance": ("0001_initial", "0002_batches", "0003_schedule"),
}
REPLACED_NAMES: Final = frozenset((app, name) for app, names in REPLACED.items() for name in names)


def adopt_squashed() -> bool:
    """Record the squashed migrations in the connected store in place of those they replace; False if there are none.

    Raises:
        Unavailable: as refuse_early_store(); nothing is changed.
    """
    if not refuse_early_store():
        return False
    recorder = MigrationRecorder(connection)
    with transaction.atomic():
        if not refuse_early_store():  # another process did it while this one waited for the write lock
            return False
        for app in REPLACED:
            recorder.record_applied(app, SQUASHED)
        for app, name in REPLACED_NAMES:
            recorder.record_unapplied(app, name)
    return True


def refuse_early_store() -> bool:
    """Whether the connected store has the migrations that were squashed, all of them.

    Raises:
        Unavailable: it has only the first of them: it is of an earlier version than LAST_UNSQUASHED.
    """
    old = REPLACED_NAMES & MigrationRecorder(connection).applied_migrations().keys()
    if old and (missing := sorted(REPLACED_NAMES - old)):
        app, name = missing[0]
        raise Unavailable(
            f"This store was made by an early version of Loci: it lacks the migration {app}.{name}.",
            hint=f"Open it once with Loci {LAST_UNSQUASHED} ('loci up'), then with this version.",
        )
    return bool(old)
