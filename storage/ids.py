"""Identifiers that sort by the time they were made."""

import uuid

from uuid_utils.compat import uuid7


def new_id() -> uuid.UUID:
    """Give a UUID version 7 (RFC 9562): unique, and later ones sort after earlier ones."""
    return uuid7()
