"""State of the search indexes: whose vectors they hold, and the change log that other processes follow."""

from django.db import models


class IndexState(models.Model):
    """A named value of the instance: `model` is the id of the model whose vectors are searched.

    `withdrawn` and `withdrawn KEY` are the stamps of withdrawn texts, of global ones and of a group's (withdrawn.sql).
    `default_scope` is the rule for scopes of a store that is older than the setting (memories/draft/default_scope.py).
    """

    name = models.CharField(max_length=40, primary_key=True)
    value = models.CharField(max_length=200)

    class Meta:
        db_table = "index_state"

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class IndexChange(models.Model):
    """One change of a piece, in order; other processes follow the log to update their in-memory indexes.

    Only database triggers write it. `op` is `+` added, `-` removed, `~` its memory's state, scope or group changed. A text
    that changes without its pieces is recorded as piece 0.
    """

    seq = models.BigAutoField(primary_key=True)
    piece = models.BigIntegerField()
    op = models.CharField(max_length=1)

    class Meta:
        db_table = "index_change"

    def __str__(self) -> str:
        return f"{self.seq} {self.op}{self.piece}"
