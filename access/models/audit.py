"""The audit log: append-only rows, each chained to the previous one by a hash, with their payloads in a table of their own."""

from typing import Any

from django.db import models

from storage.journal import TABLE

LEGACY = "legacy"  # in row names, the one chain of stores from before each group had its own; its rows have chain ""


class AuditEntry(models.Model):
    """One logged operation. It has no foreign keys, because it outlives the objects that it names.

    `origin` is empty for this store's own chains; the chains of an imported store keep its origin. `chain` is the id of a
    group, or one of the names in access.audit; `seq` counts the rows of one chain.
    """

    key = models.BigAutoField(primary_key=True)
    origin = models.CharField(max_length=36, blank=True, default="")
    chain = models.CharField(max_length=36, blank=True, default="")
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    operation = models.CharField(max_length=12)
    memory_id = models.UUIDField(null=True)
    group = models.UUIDField(null=True)  # the group's id; its log stays readable after the memory is gone
    subject = models.CharField(max_length=200, blank=True, default="")  # any other object: "group:ledger"
    actor = models.CharField(max_length=300)  # user (150) / token (120)
    via = models.CharField(max_length=12)
    token = models.UUIDField(null=True)
    client = models.CharField(max_length=120, blank=True, default="")
    run = models.UUIDField(null=True)
    change = models.BigIntegerField(
        null=True
    )  # what the row is a part of; not hashed, and null in a foreign chain
    digest = models.CharField(max_length=64)  # SHA-256 of salt + payload
    hash = models.CharField(max_length=64)  # SHA-256 of the previous hash and this row

    class Meta:
        db_table = "memory_log"
        ordering = ["key"]
        constraints = [models.UniqueConstraint(name="memory_log_seq_once", fields=["origin", "chain", "seq"])]
        indexes = [
            models.Index(name="memory_log_memory", fields=["memory_id", "key"]),
            models.Index(name="memory_log_group", fields=["group", "key"]),
            models.Index(name="memory_log_at", fields=["at"]),
            models.Index(name="memory_log_run", fields=["run"], condition=models.Q(run__isnull=False)),
            models.Index(
                name="memory_log_change", fields=["change"], condition=models.Q(change__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.operation} {self.memory_id or self.subject}"

    @property
    def name(self) -> str:
        """The row's name in this store, such as "instance.17": its chain and its number in it."""
        return f"{self.chain or LEGACY}.{self.seq}"

    @property
    def payload(self) -> dict[str, Any]:
        """What the row logged; empty if a purge destroyed it. Select payload_row with the rows."""
        found: dict[str, Any] = self.payload_row.payload if hasattr(self, "payload_row") else {}
        return found


class AuditPayload(models.Model):
    """The content of a log row, with its salt; purge deletes it and the chain stays intact."""

    entry = models.OneToOneField(
        AuditEntry, primary_key=True, on_delete=models.CASCADE, related_name="payload_row"
    )
    salt = models.CharField(max_length=32)
    payload = models.JSONField()

    class Meta:
        db_table = "memory_log_payload"

    def __str__(self) -> str:
        return f"payload of {self.entry_id}"


class AuditHead(models.Model):
    """The end of a chain; locked while a row is appended, which serialises appends.

    `linked` is the number of the row that the chain of heads last linked, and `linked_in` the number of the row there
    that links it; both 0 if none does.
    """

    key = models.BigAutoField(primary_key=True)
    origin = models.CharField(max_length=36, blank=True, default="")
    chain = models.CharField(max_length=36, blank=True, default="")
    seq = models.BigIntegerField()
    hash = models.CharField(max_length=64)
    linked = models.BigIntegerField(default=0)
    linked_in = models.BigIntegerField(default=0)

    class Meta:
        db_table = "memory_log_head"
        constraints = [models.UniqueConstraint(name="memory_log_head_once", fields=["origin", "chain"])]

    def __str__(self) -> str:
        return f"{self.origin or 'own'} {self.chain or LEGACY} at {self.seq}"


class RowChange(models.Model):
    """What a change did to one row.

    `op` is i (inserted), u (updated), d (deleted), or b: one update of many rows, whose keys `vals` has under "pk" and whose
    values it has in lists. `kept` is the table. `undone_by` is the change that took it back.
    """

    key = models.BigAutoField(primary_key=True)
    change = models.BigIntegerField()
    op = models.CharField(max_length=1)
    kept = models.CharField(max_length=40)
    row = models.BigIntegerField()
    vals = models.JSONField(null=True)
    undone_by = models.BigIntegerField(null=True)

    class Meta:
        db_table = TABLE
        ordering = ["key"]
        indexes = [
            models.Index(name="row_change_change", fields=["change", "key"]),
            models.Index(name="row_change_row", fields=["kept", "row", "key"]),
        ]

    def __str__(self) -> str:
        return f"{self.op} {self.kept} {self.row} in {self.change}"
