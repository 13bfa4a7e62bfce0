"""A whole write as one change, run again if the database ended it because it and another one waited for each other."""

import random
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import OperationalError, connection

from access.audit.collect import drop_rows_after, row_count
from storage.changes import changing

P = ParamSpec("P")
T = TypeVar("T")

# PostgreSQL's deadlock_detected and serialization_failure; SQLite has neither, since one transaction writes at a time.
LOST = frozenset({"40P01", "40001"})
PAUSES_S = (0.02, 0.1, 0.3, 1.0)  # each halved or doubled at random, so that two do not meet again


def one_change(write: Callable[P, T]) -> Callable[P, T]:
    """The function as one change, or as a part of the change that is open; run anew if its transaction lost to another.

    For whole writes, which read again what they decide by. Inside a larger transaction, that one's owner runs it anew.
    """

    @wraps(write)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        rows = row_count()
        with changing():
            for pause in PAUSES_S:
                try:
                    return write(*args, **kwargs)
                except OperationalError as error:
                    if connection.in_atomic_block or not is_lost(error):
                        raise
                    drop_rows_after(rows)
                time.sleep(pause * random.uniform(0.5, 2))  # noqa: S311 - no secret
            return write(*args, **kwargs)

    return run


def is_lost(error: OperationalError) -> bool:
    """True if the database ended the transaction in favour of another."""
    return getattr(error.__cause__, "sqlstate", None) in LOST
