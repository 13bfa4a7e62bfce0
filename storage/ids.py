"""Identifiers that sort by creation time."""

from typing import Final

from uuid_utils.compat import uuid7

new_id: Final = uuid7  # a unique UUID version 7 (RFC 9562); later ones sort after earlier ones
