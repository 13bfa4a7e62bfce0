"""Identifiers that sort by creation time."""

import uuid

from uuid_utils.compat import uuid7


def new_id() -> uuid.UUID:
    """A unique UUID version 7 (RFC 9562); later ones sort after earlier ones."""
    return uuid7()
