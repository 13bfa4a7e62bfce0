"""Indexes that PostgreSQL cannot use or that contradict their tables."""

from django.db import DatabaseError, transaction

from storage.compiled_queries import fetch

# Approximate indexes are left out: one whose making was killed is made anew by the next maintenance run.
_INVALID = """
SELECT indexrelid::regclass::text FROM pg_index JOIN pg_am ON TRUE JOIN pg_class AS index ON index.oid = indexrelid
WHERE NOT indisvalid AND pg_am.oid = index.relam AND amname <> 'hnsw'
"""
# amcheck is for administrators, unless they grant its functions.
_AMCHECK = """
SELECT 1 FROM pg_proc
WHERE proname = 'bt_index_check' AND pg_function_is_visible(oid) AND has_function_privilege(oid, 'EXECUTE')
"""
_BTREES = """
SELECT index.oid::regclass::text FROM pg_class AS index JOIN pg_am ON pg_am.oid = index.relam
WHERE index.relkind = 'i' AND amname = 'btree' AND index.relnamespace = current_schema()::regnamespace
"""


def index_faults() -> list[str]:
    """Indexes that are not valid, and those that amcheck finds broken, where the role may ask that extension."""
    found = [f"the index {name} is not valid" for (name,) in fetch(_INVALID, [])]
    for (name,) in fetch(_BTREES, []) if fetch(_AMCHECK, []) else ():
        try:
            with transaction.atomic():  # an error ends the transaction
                fetch("SELECT bt_index_check(%s::regclass)", [name])
        except DatabaseError as error:
            found.append(f"{name}: {str(error).splitlines()[0]}")
    return found
