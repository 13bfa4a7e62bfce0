"""The former values of rows, which database triggers keep for each change; see storage/journal.py."""

from django.db import models

from storage.journal import TABLE


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
