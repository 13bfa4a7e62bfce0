"""A piece: a part of a memory that fits the encoder's window and has a vector; and the state of the indexes of pieces."""

from django.db import models

from memories.models.memory import Memory
from memories.models.vector_field import VectorField


class Piece(models.Model):
    """Characters `start` to `end` of a memory's content with their vector (float32[width], unit length, little-endian).

    `embedding` is None while the vector is owed. `model` names the model and recipe behind it; vectors of two models
    are never compared. `key` is the row's key in the vector index.
    """

    key = models.BigAutoField(primary_key=True)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="pieces")
    ordinal = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    tokens = models.PositiveIntegerField()
    embedding = VectorField(null=True)
    model = models.CharField(max_length=120, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(name="piece_once", fields=["memory", "ordinal", "model"])]
        indexes = [
            # Finds pieces of other models than the index's without reading the vectors.
            models.Index(name="piece_model", fields=["model", "key"]),
            models.Index(name="piece_owed", fields=["key"], condition=models.Q(embedding__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id}#{self.ordinal}"


class Unprobed(models.Model):
    """A memory stored without a comparison with the withdrawn texts of its group: it waits as a candidate.

    `trust` is what it gets if it restates none of them; empty if it waits for a curator in any case.
    """

    memory = models.OneToOneField(Memory, primary_key=True, on_delete=models.CASCADE, related_name="unprobed")
    trust = models.CharField(max_length=12, blank=True, default="")

    def __str__(self) -> str:
        return f"unprobed {self.memory_id}"


class IndexState(models.Model):
    """A named value of the instance: `model` is the id of the model whose vectors are searched, `width` how many numbers they have.

    `withdrawn` and `withdrawn KEY` are the stamps of withdrawn texts, of global ones and of a group's (withdrawn.sql).
    `default_scope` is the rule for scopes of a store that is older than the setting (memories/draft/__init__.py).
    """

    name = models.CharField(max_length=40, primary_key=True)
    value = models.CharField(max_length=200)

    class Meta:
        db_table = "index_state"

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class IndexChange(models.Model):
    """One change of a piece, in order; other processes follow the log to update their in-memory indexes.

    Only database triggers write it. `op` is `+` added, `-` removed, `~` its memory's state, scope or group changed.
    """

    seq = models.BigAutoField(primary_key=True)
    piece = models.BigIntegerField()
    op = models.CharField(max_length=1)

    class Meta:
        db_table = "index_change"

    def __str__(self) -> str:
        return f"{self.seq} {self.op}{self.piece}"
