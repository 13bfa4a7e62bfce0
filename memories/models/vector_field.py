"""A column of vectors: bytes on SQLite, pgvector's own type on PostgreSQL, where triggers turn it into half precision."""

from typing import Any

import numpy as np
from django.db.models import BinaryField

_POSTGRESQL = "postgresql"


class VectorField(BinaryField):  # type: ignore[type-arg]  # the class takes none at run time
    """A vector as bytes (float32, little-endian), whatever the database stores."""

    def get_internal_type(self) -> str:
        return "BinaryField"

    def db_type(self, connection: Any) -> str | None:
        return "vector" if connection.vendor == _POSTGRESQL else super().db_type(connection)

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        return "%s::vector" if connection.vendor == _POSTGRESQL else "%s"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """The bytes, or the text that pgvector reads."""
        if value is None or connection.vendor != _POSTGRESQL:
            return value
        return str(np.frombuffer(value, dtype="<f4").tolist())

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        if not isinstance(value, str):
            return value
        return np.fromstring(value[1:-1], dtype="<f4", sep=",").tobytes()
