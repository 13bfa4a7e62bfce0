"""A piece: a part of a memory that fits the encoder's window and has a vector of its own."""

from django.db import models

from memories.models.memory import Memory
from memories.models.vector_field import VectorField


class Piece(models.Model):
    """Characters `start` to `end` of a memory's content with their vector (float32[384], unit length, little-endian).

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
