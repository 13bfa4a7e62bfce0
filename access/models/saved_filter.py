"""Named filters of the admin's lists, saved per person."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from storage.ids import new_id


class SavedFilter(models.Model):
    """One person's filter of one list: the names and values of the query string, as sorted pairs.

    It holds no rights and no rows: opening it queries the list again, with the rights of whoever opens it.
    """

    key = models.BigAutoField(primary_key=True)
    id = models.UUIDField(unique=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_filters")
    list_name = models.CharField(max_length=60)  # "memories.memory"
    name = models.CharField(max_length=60)
    asked = models.JSONField(default=list)  # [["type__exact", "semantic"], …]
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(name="saved_filter_once", fields=["user", "list_name", "name"])
        ]

    def __str__(self) -> str:
        return self.name
