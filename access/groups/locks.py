"""One writer at a time in each group, where the database lets many write at once."""

from collections.abc import Iterable

from storage.dialect import hold_until_commit


def hold_groups(keys: Iterable[int]) -> None:
    """Hold the groups with these keys until the transaction ends; read what decides a write only afterwards."""
    hold_until_commit(f"group {key}" for key in keys)
